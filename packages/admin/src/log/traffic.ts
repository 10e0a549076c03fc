/** Sums up the latest requests from the index of the log. The sums belong to one question: `add` fills them, and they are read. */
import type { PresentedDurations, ReasonCount } from '@sluice/shared/admin-api';
import { ERROR_STATUS } from '@sluice/shared/errors';
import { ALL_REASONS, type Reason, reasonKind, reasonText } from '@sluice/shared/reasons';
import { hash, type IndexedRequest } from './log-index.js';

/** Durations are counted in steps of 3 %, from 1 ms to about 17 min. A quantile is exact to one step. */
const STEPS = 480;
const GROWTH = Math.log(1.03);

const REASON_OF = new Map<number, Reason>(ALL_REASONS.map((reason) => [hash(reason), reason]));
/** Why requests were not served: policy, caller, left or failed. */
const kindOf = (request: IndexedRequest) => reasonKind(REASON_OF.get(request.reason) ?? '');

const CODES = new Map([...Object.keys(ERROR_STATUS), 'cancelled'].map((code) => [hash(code), code]));

function stepOf(ms: number): number {
  return ms <= 1 ? 0 : Math.min(Math.ceil(Math.log(ms) / GROWTH), STEPS - 1);
}

/** The steps of common durations, because a logarithm takes longer than everything else here. */
const STEP_OF = Uint16Array.from({ length: 4_096 }, (_, ms) => stepOf(ms));

/** The step of a row's duration, for PostgreSQL. */
export const STEP_SQL = `CASE WHEN duration_ms <= 1 THEN 0
  ELSE least(ceil(ln(duration_ms::float8) / ${GROWTH}), ${STEPS - 1}) END`;

export class Durations {
  readonly #counts = new Uint32Array(STEPS);
  #total = 0;

  add(ms: number, times = 1): void {
    const at = STEP_OF[ms] ?? stepOf(ms);
    this.#counts[at] = (this.#counts[at] ?? 0) + times;
    this.#total += times;
  }

  /** Milliseconds. Null when there are no durations. */
  quantile(share: number): number | null {
    if (this.#total === 0) return null;
    let left = Math.max(1, Math.ceil(share * this.#total));
    const step = this.#counts.findIndex((count) => {
      left -= count;
      return left <= 0;
    });
    return Math.round(Math.exp(step * GROWTH));
  }

  present(): PresentedDurations {
    return { p50: this.quantile(0.5), p95: this.quantile(0.95), p99: this.quantile(0.99) };
  }
}

class RequestSums {
  requests = 0;
  failed = 0;
  refused = 0;
  cancelled = 0;
  readonly durations = new Durations();

  add(request: IndexedRequest, entries: number): void {
    const { served, tookMs, count } = request;
    this.requests += count;
    if (served) {
      this.durations.add(tookMs, entries);
      return;
    }
    const kind = kindOf(request);
    if (kind === 'failed') this.failed += count;
    else if (kind === 'left') this.cancelled += count;
    else this.refused += count;
  }
}

interface RouteCount {
  requests: number;
  failed: number;
  refused: number;
  fallbacks: number;
  durations: Durations;
  /** Hash of provider and model → requests. */
  served: Map<number, number>;
}

const MAX_MEASURED = 1_000;
const NOT_MEASURED = new Durations();

/** Makes one number of two hashes. It fits into a double. */
const pair = (a: number, b: number) => a * 2 ** 20 + (b >>> 12);

export class Traffic {
  readonly all = new RequestSums();
  readonly buckets: RequestSums[];
  fallbacks = 0;
  readonly #codes = new Map<number, number>();
  readonly #reasons = new Map<number, number>();
  readonly #routes = new Map<number, RouteCount>();

  constructor(
    private readonly since: number,
    private readonly bucketMs: number,
    buckets: number,
  ) {
    this.buckets = Array.from({ length: buckets }, () => new RequestSums());
  }

  /** `entries` of the log that are alike have `count` requests in all. */
  add(request: IndexedRequest, entries = 1): void {
    const { served, count } = request;
    const bucket = this.buckets[Math.floor((request.ms - this.since) / this.bucketMs)];
    this.all.add(request, entries);
    bucket?.add(request, entries);
    if (request.fallback) this.fallbacks += entries;
    if (!served) {
      this.#codes.set(request.code, (this.#codes.get(request.code) ?? 0) + count);
      this.#reasons.set(request.reason, (this.#reasons.get(request.reason) ?? 0) + count);
    }
    this.#addToRoute(request, entries);
  }

  #addToRoute(request: IndexedRequest, entries: number): void {
    const { workspace, route, provider, called, served, fallback, tookMs, count } = request;
    const key = pair(workspace, route);
    const counts = this.#routes.get(key) ?? {
      ...{ requests: 0, failed: 0, refused: 0, fallbacks: 0 },
      // Each takes two kilobytes. Of very many routes the last ones have none.
      durations: this.#routes.size < MAX_MEASURED ? new Durations() : NOT_MEASURED,
      served: new Map(),
    };
    this.#routes.set(key, counts);
    counts.requests += count;
    if (fallback) counts.fallbacks += entries;
    if (served) {
      if (counts.durations !== NOT_MEASURED) counts.durations.add(tookMs, entries);
      const by = pair(provider, called);
      counts.served.set(by, (counts.served.get(by) ?? 0) + entries);
      return;
    }
    const kind = kindOf(request);
    if (kind === 'failed') counts.failed += count;
    else if (kind !== 'left') counts.refused += count;
  }

  /** Requests that failed, by code, most first. */
  get codes(): { code: string; requests: number }[] {
    return [...this.#codes]
      .map(([code, requests]) => ({ code: CODES.get(code) ?? 'other', requests }))
      .sort((a, b) => b.requests - a.requests);
  }

  /** Why requests were not served, most first. */
  get reasons(): ReasonCount[] {
    return [...this.#reasons]
      .map(([found, requests]) => {
        const reason = REASON_OF.get(found) ?? ('other' as const);
        return { reason, text: reasonText(reason), kind: reasonKind(reason), requests };
      })
      .sort((a, b) => b.requests - a.requests);
  }

  /** The figures of a route. Null: those of the workspace's direct model ids. */
  route(
    workspace: string,
    route: string | null,
  ): Omit<RouteCount, 'served'> & {
    servedBy(provider: string, model: string): number;
  } {
    const count = this.#routes.get(pair(hash(workspace), hash(route ?? '')));
    const { requests = 0, failed = 0, refused = 0, fallbacks = 0, durations = NOT_MEASURED } = count ?? {};
    const servedBy = (provider: string, model: string) =>
      count?.served.get(pair(hash(provider), hash(model))) ?? 0;
    return { requests, failed, refused, fallbacks, durations, servedBy };
  }
}
