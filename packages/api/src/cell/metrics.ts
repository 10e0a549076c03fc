/** The counters of an api process. Gauges that are read from Redis at a scrape are in shared-gauges.ts. */

import { movesOf } from '@sluice/shared/contract/chain';
import { ERROR_STATUS } from '@sluice/shared/errors';
import type { Metrics } from '@sluice/shared/metrics/create';
import type { KnownWorkspaces } from '@sluice/shared/metrics/directory-watch';
import { NO_PROVIDER, OTHER, routeLabel } from '@sluice/shared/metrics/labels';
import { BLOCKED_OUTCOMES, type BlockedOutcome, isRateLimit } from '@sluice/shared/outcomes';
import type { ChatJob, ReplyHead } from '@sluice/shared/queue/job';
import { NO_WAY } from '@sluice/shared/queue/request-log';

export const CHAT_PATH = '/v1/chat/completions';
export const EMBEDDINGS_PATH = '/v1/embeddings';
const PATHS = [CHAT_PATH, EMBEDDINGS_PATH, '/v1/models', '/v1/models/{id}', '/routes', OTHER];
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

export class ApiMetrics {
  readonly #requests;
  readonly #duration;
  #inFlight = 0;
  readonly #overhead;
  readonly #replays;
  readonly #cancelled;
  readonly #readded;
  readonly #ghosts;
  readonly #rateLimited;
  readonly #deadlines;
  readonly #fallbacks;
  readonly #batchLines;
  readonly #webhooks;
  readonly #wrongKeys;
  readonly #dropped;
  readonly #signIns;

  constructor(metrics: Metrics, providers: Iterable<string>) {
    this.#requests = metrics.quickCounter('httpRequests');
    this.#duration = metrics.quickHistogram('httpDuration');
    const inFlight = metrics.gauge('httpInFlight');
    metrics.onScrape(async () => {
      inFlight.set(this.#inFlight);
    });
    this.#overhead = metrics.quickHistogram('overhead');
    this.#replays = metrics.counter('idempotentReplays');
    this.#cancelled = metrics.counter('cancelled');
    this.#readded = metrics.counter('jobsLost');
    this.#ghosts = metrics.counter('ghosts');
    this.#rateLimited = metrics.counter('rateLimited');
    this.#deadlines = metrics.counter('deadlines');
    this.#deadlines.inc({ via: NO_WAY, result: 'missed' }, 0);
    this.#fallbacks = metrics.counter('fallbacks');
    this.#wrongKeys = metrics.counter('wrongKeys');
    this.#batchLines = metrics.counter('batchLines');
    for (const outcome of ['answered', 'failed', 'not_now']) this.#batchLines.inc({ outcome }, 0);
    this.#webhooks = metrics.counter('webhooks');
    for (const outcome of ['delivered', 'failed', 'given_up', 'dropped']) this.#webhooks.inc({ outcome }, 0);
    this.#dropped = metrics.counter('connectionsDropped');
    this.#signIns = metrics.counter('signIns');
    for (const way of ['token', 'link', 'oidc'])
      for (const outcome of ['done', 'refused']) this.#signIns.inc({ way, outcome }, 0);
    for (const listener of ['public', 'admin']) this.#wrongKeys.inc({ listener }, 0);

    for (const path of PATHS) this.#duration.zero(path);
    const codes = Object.entries({ ok: 200, cancelled: 499, ...ERROR_STATUS });
    for (const [code, status] of codes) this.#requests.inc(0, CHAT_PATH, 'POST', String(status), code);
    for (const state of ['waiting', 'running']) this.#cancelled.inc({ state }, 0);
    this.#rateLimited.inc({ provider: NO_PROVIDER, reason: 'workspace' }, 0);
    for (const provider of providers) this.know(provider);
  }

  /** Creates the series of a provider at zero. */
  know(provider: string): void {
    this.#readded.inc({ provider }, 0);
    this.#ghosts.inc({ provider }, 0);
    for (const reason of BLOCKED_OUTCOMES.filter(isRateLimit)) this.#rateLimited.inc({ provider, reason }, 0);
  }

  update(directory: KnownWorkspaces): void {
    for (const { routes } of directory)
      for (const [route, { chain }] of routes)
        for (const [{ provider: from }, { provider: to }] of movesOf(chain))
          for (const reason of BLOCKED_OUTCOMES) this.#fallbacks.inc({ route, from, to, reason }, 0);
  }

  /** An api process has ended a request with a deadline that nobody had answered. */
  missedDeadline(): void {
    this.#deadlines.inc({ via: NO_WAY, result: 'missed' });
  }

  began(): void {
    this.#inFlight++;
  }

  ended(path: string, method: string, status: number, code: string, seconds: number): void {
    this.#inFlight--;
    this.#duration.observe(seconds, path);
    this.#requests.inc(1, path, METHODS.has(method) ? method : OTHER, String(status), code);
  }

  /** Counts only replies after one call, because the reply does not have the times of earlier calls. */
  replied({ served, attempts, queueMs, callMs }: ReplyHead, totalMs: number): void {
    if (!served || attempts !== 1 || callMs === undefined) return;
    this.#overhead.observe(Math.max(0, totalMs - queueMs - callMs) / 1000);
  }

  batchLine(outcome: 'answered' | 'failed' | 'not_now'): void {
    this.#batchLines.inc({ outcome });
  }

  webhook(outcome: 'delivered' | 'failed' | 'given_up' | 'dropped'): void {
    this.#webhooks.inc({ outcome });
  }

  replayed(): void {
    this.#replays.inc();
  }

  cancelled(state: 'waiting' | 'running'): void {
    this.#cancelled.inc({ state });
  }

  readded(provider: string): void {
    this.#readded.inc({ provider });
  }

  ghost(provider: string): void {
    this.#ghosts.inc({ provider });
  }

  droppedConnection(): void {
    this.#dropped.inc();
  }

  signIn(way: string, outcome: string): void {
    this.#signIns.inc({ way, outcome });
  }

  wrongKey(listener: string): void {
    this.#wrongKeys.inc({ listener });
  }

  refusedByWorkspace(): void {
    this.#rateLimited.inc({ provider: NO_PROVIDER, reason: 'workspace' });
  }

  /** The entry was not called; `to` is the one that is tried next, if there is one. */
  passedOver({ route, chain, entry }: ChatJob, reason: BlockedOutcome): void {
    const from = chain[entry]?.provider ?? NO_PROVIDER;
    if (isRateLimit(reason)) this.#rateLimited.inc({ provider: from, reason });
    const to = chain[entry + 1]?.provider;
    if (to !== undefined) this.#fallbacks.inc({ route: routeLabel(route), from, to, reason });
  }
}
