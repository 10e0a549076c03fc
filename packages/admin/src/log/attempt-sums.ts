/** Sums up the attempts of the latest requests: how fast each entry was over time, how often it failed, and why it was passed over. */
import type { AttemptReport } from '@sluice/shared/admin-api';
import type { AttemptOutcome } from '@sluice/shared/outcomes';
import type { Attempt } from '@sluice/shared/queue/job';
import type { LogEntry } from '@sluice/shared/queue/request-log';
import { Durations } from './traffic.js';

/** How many entries are told apart. More would be a chain that changed all the time. */
const MAX_ENTRIES = 100;

class CallSums {
  calls = 0;
  failed = 0;
  readonly durations = new Durations();

  add({ outcome, ms = 0 }: Attempt): void {
    this.calls++;
    if (outcome === 'ok') this.durations.add(Math.round(ms));
    else if (outcome !== 'cancelled') this.failed++;
  }
}

class EntrySums {
  readonly all = new CallSums();
  readonly buckets: CallSums[];
  readonly outcomes = new Map<AttemptOutcome, number>();
  passedOver = 0;

  constructor(
    readonly provider: string,
    readonly model: string | null,
    buckets: number,
  ) {
    this.buckets = Array.from({ length: buckets }, () => new CallSums());
  }
}

export class AttemptSums {
  requests = 0;
  readonly #entries = new Map<string, EntrySums>();

  constructor(
    private readonly since: number,
    private readonly bucketMs: number,
    private readonly buckets: number,
    private readonly by: 'entry' | 'provider',
  ) {}

  add(entry: LogEntry): void {
    this.requests += entry.count ?? 1;
    const at = Math.floor((entry.settledAt - this.since) / this.bucketMs);
    for (const attempt of entry.attempts) {
      const sums = this.#of(attempt);
      if (!sums) continue;
      sums.outcomes.set(attempt.outcome, (sums.outcomes.get(attempt.outcome) ?? 0) + 1);
      // The provider was called, or a worker died while it may have been.
      if (attempt.ms !== undefined || attempt.outcome === 'unknown') {
        sums.all.add(attempt);
        sums.buckets[at]?.add(attempt);
      } else sums.passedOver++;
    }
  }

  /** The most called first. */
  present(): AttemptReport['entries'] {
    return [...this.#entries.values()]
      .sort((a, b) => b.all.calls - a.all.calls)
      .map(({ provider, model, all, buckets, outcomes, passedOver }) => ({
        provider,
        model,
        calls: all.calls,
        failed: all.failed,
        passed_over: passedOver,
        outcomes: [...outcomes]
          .map(([outcome, attempts]) => ({ outcome, attempts }))
          .sort((a, b) => b.attempts - a.attempts),
        duration_ms: all.durations.present(),
        buckets: buckets.map(({ calls, failed, durations }) => ({
          calls,
          failed,
          p95: durations.quantile(0.95),
        })),
      }));
  }

  #of({ provider, model }: Attempt): EntrySums | undefined {
    const key = this.by === 'provider' ? provider : `${provider}/${model}`;
    const known = this.#entries.get(key);
    if (known || this.#entries.size >= MAX_ENTRIES) return known;
    const made = new EntrySums(provider, this.by === 'provider' ? null : model, this.buckets);
    this.#entries.set(key, made);
    return made;
  }
}
