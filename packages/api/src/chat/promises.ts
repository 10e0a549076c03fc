/**
 * `retry-after` is a promise: a caller who was refused for want of a provider's room, and comes back in the time it was told, is
 * not refused for that again, while the line is not far too long (congestion.ts). Its request waits until its deadline. A promise
 * is kept once. Every api process hears of it, because the caller may come back to any of them. A request without a promise
 * before it asks nobody.
 */
import type { ErrorInfo } from '@sluice/shared/errors';
import { type ChatJob, providerOf } from '@sluice/shared/queue/job';
import type { Reason } from '@sluice/shared/reasons';
import type { Clock } from '@sluice/shared/redis/clock';
import type { ControlNames } from '@sluice/shared/redis/key-names';
import type { Redis } from 'ioredis';

/** A caller may come this much too early, because clocks differ. */
const EARLY_MS = 250;
/** And this much later than it was told. */
const LATE_MS = 60_000;
/** As many requests as may wait for a provider, unless its setting says otherwise. */
const MOST_OF_CALLER = 1_000;
const MOST_CALLERS = 10_000;

const KEPT_REASONS: ReadonlySet<Reason | undefined> = new Set<Reason>([
  'provider_rate_used_up',
  'provider_rate_limited',
  'provider_cooling_down',
  'waited_too_long',
  'backlog_full',
]);

/** What one process tells the others: a promise was made or kept. */
type News = [process: string, what: 'made' | 'kept', caller: string, due: number];

export class Promises {
  /** Caller → when it may come back, the earliest first. */
  readonly #due = new Map<string, number[]>();

  constructor(
    private readonly redis: Pick<Redis, 'publish'>,
    private readonly names: Pick<ControlNames, 'promises'>,
    private readonly clock: Clock,
    private readonly process: string,
  ) {}

  async watch(subscriber: Redis): Promise<void> {
    subscriber.on('message', (channel, message) => {
      if (channel !== this.names.promises) return;
      const [process, what, caller, due] = JSON.parse(message) as News;
      if (process === this.process) return;
      if (what === 'made') this.#add(caller, due);
      else this.#remove(caller, due);
    });
    await subscriber.subscribe(this.names.promises);
  }

  /** A request has failed. If its caller was told to come back, that is a promise. */
  refused(job: ChatJob, error: ErrorInfo): void {
    if (error.retryAfterMs === undefined || !KEPT_REASONS.has(error.reason) || job.batch || job.inBackground)
      return;
    const due = Math.ceil(this.clock.now() + error.retryAfterMs);
    if (this.#add(callerOf(job), due)) this.#tell('made', callerOf(job), due);
  }

  get isEmpty(): boolean {
    return this.#due.size === 0;
  }

  /** Whether the request was promised to go ahead. */
  isKept(job: ChatJob): boolean {
    const caller = callerOf(job);
    const dues = this.#due.get(caller);
    if (!dues) return false;
    const now = this.clock.now();
    while (dues[0] !== undefined && dues[0] < now - LATE_MS) dues.shift();
    const [due] = dues;
    if (due === undefined) this.#due.delete(caller);
    if (due === undefined || due - EARLY_MS > now) return false;
    this.#remove(caller, due);
    this.#tell('kept', caller, due);
    return true;
  }

  #add(caller: string, due: number): boolean {
    const dues = this.#due.get(caller) ?? [];
    if (dues.length >= MOST_OF_CALLER) return false;
    const later = dues.findIndex((each) => each > due);
    dues.splice(later < 0 ? dues.length : later, 0, due);
    this.#due.set(caller, dues);
    const [oldest = ''] = this.#due.size > MOST_CALLERS ? this.#due.keys() : [];
    if (oldest !== '') this.#due.delete(oldest);
    return true;
  }

  #remove(caller: string, due: number): void {
    const dues = this.#due.get(caller);
    const place = dues?.indexOf(due) ?? -1;
    if (place >= 0) dues?.splice(place, 1);
    if (dues?.length === 0) this.#due.delete(caller);
  }

  /** A promise that the others do not hear of is kept by this process alone. */
  #tell(what: News[1], caller: string, due: number): void {
    const news: News = [this.process, what, caller, due];
    this.redis.publish(this.names.promises, JSON.stringify(news)).catch(() => {});
  }
}

/** Anybody may make up names of models, but not of routes and providers. */
function callerOf(job: ChatJob): string {
  const { workspace, keyId, route } = job;
  return `${workspace} ${keyId ?? ''} ${route ?? ` ${providerOf(job)}`}`;
}
