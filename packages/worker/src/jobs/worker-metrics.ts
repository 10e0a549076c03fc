/** The metrics of a worker. Spend and tokens are counted when a request is settled, so that they agree with the ledger. */

import { entriesOf, movesOf } from '@sluice/shared/contract/chain';
import { DEFAULT_PRIORITY, PRIORITIES, type Priority } from '@sluice/shared/contract/priority';
import type { Metrics } from '@sluice/shared/metrics/create';
import type { KnownWorkspaces } from '@sluice/shared/metrics/directory-watch';
import { type ModelLabels, OTHER, routeLabel } from '@sluice/shared/metrics/labels';
import type { WorkspaceLabels } from '@sluice/shared/metrics/workspace-labels';
import {
  type AttemptOutcome,
  BLOCKED_OUTCOMES,
  type BlockedOutcome,
  CALL_OUTCOMES,
  FALLBACK_OUTCOMES,
  isRateLimit,
} from '@sluice/shared/outcomes';
import type { Attempt, ChainEntry, ChatJob } from '@sluice/shared/queue/job';
import {
  isAsReported,
  isMissed,
  type LogEntry,
  type LoggedPlan,
  NO_WAY,
  PLANNED_WAYS,
} from '@sluice/shared/queue/request-log';
import type { Verdict } from '../answer-check/schema-checker.js';
import { compareReported, REPORT_RESULTS } from '../calls/reported-cost.js';

const PICODOLLARS_PER_USD = 1e12;
/** Every workspace could use every direct model id. No more series than this are created in advance. */
const MAX_DIRECT_SERIES = 2_000;
/** Callers choose the values of tags, so their number is limited. */
const MAX_TAG_VALUES = 100;
const BATCH_LINE_OUTCOMES = ['handed_over', 'merged', 'left'] as const;
const BATCH_STEP_RESULTS = ['ok', 'failed', 'refused'] as const;
const TOKEN_TYPES = ['input', 'cached_input', 'cache_write', 'output'] as const;
export class WorkerMetrics {
  readonly #queueWait;
  readonly #requests;
  readonly #duration;
  readonly #firstToken;
  readonly #tokens;
  readonly #keptTogether;
  readonly #cost;
  readonly #unknownBills;
  readonly #estimated;
  readonly #unpriced;
  readonly #reported;
  readonly #beyondLimit;
  readonly #deadlines;
  readonly #putOff;
  readonly #saved;
  readonly #fallbacks;
  readonly #rateLimited;
  readonly #recovered;
  readonly #quarantined;
  readonly #late;
  readonly #answerChecks;
  readonly #tagCost;
  /** Tag → the values that have a series. */
  readonly #tagValues: Map<string, Set<string>>;
  readonly #tokenFetches;
  readonly #batchLines;
  readonly #batchSteps;

  constructor(
    metrics: Metrics,
    private readonly models: ModelLabels,
    providers: Iterable<string>,
    private readonly directModels: readonly { provider: string; model: string }[],
    metricTags: readonly string[],
    private readonly workspaces: WorkspaceLabels,
  ) {
    this.#tagCost = metrics.counter('tagCost');
    this.#tagValues = new Map(metricTags.map((tag) => [tag, new Set()]));
    this.#queueWait = metrics.quickHistogram('queueWait');
    this.#requests = metrics.quickCounter('providerRequests');
    this.#duration = metrics.quickHistogram('providerDuration');
    this.#firstToken = metrics.histogram('firstToken');
    this.#tokens = metrics.quickCounter('tokens');
    this.#keptTogether = metrics.counter('keptTogether');
    this.#cost = metrics.quickCounter('cost');
    this.#unknownBills = metrics.counter('unknownBills');
    this.#estimated = metrics.counter('estimatedCost');
    this.#unpriced = metrics.counter('unpriced');
    this.#reported = metrics.counter('reportedCosts');
    this.#beyondLimit = metrics.counter('usageBeyondLimit');
    this.#deadlines = metrics.counter('deadlines');
    for (const via of PLANNED_WAYS) this.#deadlines.inc({ via, result: 'in_time' }, 0);
    for (const result of ['missed', 'failed']) this.#deadlines.inc({ via: NO_WAY, result }, 0);
    this.#putOff = metrics.counter('putOff');
    this.#saved = metrics.counter('saved');
    this.#fallbacks = metrics.counter('fallbacks');
    this.#rateLimited = metrics.counter('rateLimited');
    this.#recovered = metrics.counter('jobsRecovered');
    this.#quarantined = metrics.counter('jobsQuarantined');
    this.#late = metrics.counter('lateResults');
    this.#answerChecks = metrics.counter('answerChecks');
    this.#tokenFetches = metrics.counter('tokenFetches');
    this.#batchLines = metrics.counter('providerBatchLines');
    this.#batchSteps = metrics.counter('providerBatchSteps');
    for (const provider of providers) this.know(provider);
  }

  /** Creates the series of a provider at zero. */
  know(provider: string): void {
    for (const priority of PRIORITIES) this.#queueWait.zero(provider, priority);
    for (const reason of ['upstream', ...BLOCKED_OUTCOMES.filter(isRateLimit)])
      this.#rateLimited.inc({ provider, reason }, 0);
    for (const result of ['ok', 'failed']) this.#tokenFetches.inc({ provider, result }, 0);
    for (const result of ['fits', 'unfit', 'unchecked']) this.#answerChecks.inc({ provider, result }, 0);
    for (const result of REPORT_RESULTS) this.#reported.inc({ provider, model: OTHER, result }, 0);
    for (const outcome of BATCH_LINE_OUTCOMES) this.#batchLines.inc({ provider, outcome }, 0);
    for (const result of BATCH_STEP_RESULTS) this.#batchSteps.inc({ provider, result }, 0);
    for (const tier of ['standard', 'flex']) this.#putOff.inc({ provider, tier }, 0);
    for (const counter of [this.#recovered, this.#quarantined, this.#late]) counter.inc({ provider }, 0);
    this.#knowModel(provider, OTHER);
  }

  #knowModel(provider: string, model: string): void {
    for (const outcome of CALL_OUTCOMES) this.#requests.inc(0, provider, model, outcome);
    for (const type of TOKEN_TYPES) this.#tokens.inc(0, provider, model, type);
    for (const result of ['hit', 'miss']) this.#keptTogether.inc({ provider, model, result }, 0);
    this.#unpriced.inc({ provider, model }, 0);
    this.#beyondLimit.inc({ provider, model }, 0);
    this.#unknownBills.inc({ provider, model }, 0);
  }

  #zeroCost(labels: { workspace: string; route: string; provider: string; model: string }): void {
    this.#cost.inc(0, labels.workspace, labels.route, labels.provider, labels.model);
    this.#estimated.inc(labels, 0);
  }

  /** Creates the series of everything that is configured at zero. */
  update(directory: KnownWorkspaces): void {
    this.models.update(directory);
    const direct = this.directModels.slice(0, MAX_DIRECT_SERIES / Math.max(1, directory.length));
    for (const { id: workspace, routes } of this.workspaces.labelled(directory)) {
      this.#saved.inc({ workspace }, 0);
      for (const { provider, model } of direct)
        this.#zeroCost({ workspace, route: routeLabel(null), provider, model });
      for (const [route, { chain }] of routes) {
        for (const { provider, model } of entriesOf(chain)) {
          this.#zeroCost({ workspace, route, provider, model });
          this.#knowModel(provider, model);
        }
        for (const [{ provider: from }, { provider: to }] of movesOf(chain))
          for (const reason of FALLBACK_OUTCOMES) this.#fallbacks.inc({ route, from, to, reason }, 0);
      }
    }
  }

  waited(provider: string, priority: Priority | undefined, ms: number): void {
    this.#queueWait.observe(ms / 1000, provider, priority ?? DEFAULT_PRIORITY);
  }

  /** Counts a job that a dead worker had begun. */
  recovered({ provider, model }: ChainEntry, quarantined: boolean, isResumed = false): void {
    this.#recovered.inc({ provider });
    if (quarantined) this.#quarantined.inc({ provider });
    if (isResumed) return;
    this.#requests.inc(1, provider, this.models.of(provider, model), 'unknown');
  }

  /** `ms` is undefined when nothing was sent, and `firstTokenMs` when no answer in pieces has begun. */
  called(entry: ChainEntry, outcome: AttemptOutcome, ms: number | undefined, firstTokenMs?: number): void {
    const { provider } = entry;
    const model = this.models.of(provider, entry.model);
    if (outcome === 'rate_limited') this.#rateLimited.inc({ provider, reason: 'upstream' });
    this.#requests.inc(1, provider, model, outcome);
    if (ms !== undefined) this.#duration.observe(ms / 1000, provider, model);
    if (firstTokenMs !== undefined) this.#firstToken.observe({ provider, model }, firstTokenMs / 1000);
  }

  passedOver(provider: string, outcome: BlockedOutcome): void {
    if (isRateLimit(outcome)) this.#rateLimited.inc({ provider, reason: outcome });
  }

  movedOn({ route }: ChatJob, { provider, outcome }: Attempt, to: ChainEntry): void {
    this.#fallbacks.inc({ route: routeLabel(route), from: provider, to: to.provider, reason: outcome });
  }

  settled(entry: LogEntry): void {
    const { workspace, route, served, attempts, tags } = entry;
    for (const { provider, model: called, estimate, allowedOutput } of attempts) {
      if (estimate === undefined && allowedOutput === undefined) continue;
      const model = this.models.of(provider, called);
      if (allowedOutput !== undefined) this.#beyondLimit.inc({ provider, model });
      if (estimate === undefined) continue;
      this.#unknownBills.inc({ provider, model });
      const labels = { ...this.workspaces.of(workspace, route), provider, model };
      this.#estimated.inc(labels, estimate / PICODOLLARS_PER_USD);
    }
    if (entry.plan) this.#planned(entry, entry.plan);
    if (!served) return;
    const { provider, usage, cost, price } = served;
    const model = this.models.of(provider, served.model);
    const labels = this.workspaces.of(workspace, route);
    this.#cost.inc(cost / PICODOLLARS_PER_USD, labels.workspace, labels.route, provider, model);
    if (tags) this.#countTags(labels.workspace, tags, cost / PICODOLLARS_PER_USD);
    const { reported, listed } = attempts.at(-1) ?? {};
    const isBooked = reported !== undefined && isAsReported(entry);
    if (reported !== undefined) {
      const report = { reported, isBooked, ...(listed === undefined ? {} : { listed }) };
      this.#reported.inc({ provider, model, result: compareReported(report) });
    }
    if (!price && !isBooked) this.#unpriced.inc({ provider, model });
    const count = (type: (typeof TOKEN_TYPES)[number], tokens: number) =>
      tokens > 0 && this.#tokens.inc(tokens, provider, model, type);
    count('input', usage.input);
    count('cached_input', usage.cachedInput);
    count('cache_write', usage.cacheWrite + usage.cacheWrite1h);
    count('output', usage.output);
  }

  #planned(entry: LogEntry, { via, standardCost = 0 }: LoggedPlan): void {
    const { served, workspace, route } = entry;
    const result = isMissed(entry) ? 'missed' : served ? 'in_time' : 'failed';
    this.#deadlines.inc({ via: via ?? NO_WAY, result });
    // A price may have risen meanwhile. A counter does not fall.
    const saved = Math.max(0, standardCost - (served?.cost ?? 0)) / PICODOLLARS_PER_USD;
    if (served) this.#saved.inc({ workspace: this.workspaces.of(workspace, route).workspace }, saved);
  }

  /** A request with a deadline waits again. */
  putOff(provider: string, tier = 'standard'): void {
    this.#putOff.inc({ provider, tier });
  }

  /** A request whose prompt begins like others was served. */
  keptTogether({ served }: LogEntry): void {
    if (!served) return;
    const { provider, usage } = served;
    const model = this.models.of(provider, served.model);
    this.#keptTogether.inc({ provider, model, result: usage.cachedInput > 0 ? 'hit' : 'miss' });
  }

  #countTags(workspace: string, tags: Record<string, string>, usd: number): void {
    for (const [tag, known] of this.#tagValues) {
      const value = tags[tag];
      if (value === undefined) continue;
      if (known.size < MAX_TAG_VALUES) known.add(value);
      this.#tagCost.inc({ workspace, tag, value: known.has(value) ? value : OTHER }, usd);
    }
  }

  checked(provider: string, result: Verdict): void {
    this.#answerChecks.inc({ provider, result });
  }

  fetchedToken(provider: string, worked: boolean): void {
    this.#tokenFetches.inc({ provider, result: worked ? 'ok' : 'failed' });
  }

  batchLines(provider: string, outcome: (typeof BATCH_LINE_OUTCOMES)[number], lines: number): void {
    this.#batchLines.inc({ provider, outcome }, lines);
  }

  batchStep(provider: string, result: (typeof BATCH_STEP_RESULTS)[number]): void {
    this.#batchSteps.inc({ provider, result });
  }

  refusedLate(provider: string): void {
    this.#late.inc({ provider });
  }
}
