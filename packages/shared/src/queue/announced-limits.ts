/**
 * The limits that providers announce with their answers, and those that are found by their refusals (found-rates.ts). Where the
 * operator has set none, they hold as if they were set (rates.ts). Only those are kept of which much is used, so that requests
 * far below them cost nothing. Workers write them into one hash. Every process reads it when there is something new, and each
 * second, or less often while idle.
 */
import type { Redis } from 'ioredis';
import type { FoundReason } from '../contract/status.js';
import type { Clock } from '../redis/clock.js';
import type { ControlNames } from '../redis/key-names.js';

/** What is not announced again within this time holds no longer. */
const KEPT_MS = 600_000;
const RENEWED_MS = 60_000;
const MINUTE_MS = 60_000;
const SECOND_MS = 1_000;
/** Providers and callers choose the names of models. */
export const MOST = 1_000;

/** Requests, all tokens, input and output tokens. */
export type BucketType = 'r' | 't' | 'i' | 'o';

export interface AnnouncedRate {
  /** How much may be used in the window. */
  limit: number;
  windowMs: number;
  /** Calls come from this moment on, in Redis time, because nobody has counted those before. */
  from?: number;
  /** Set where it was found by refusals, and is not announced. */
  found?: FoundRate;
}
export type AnnouncedRates = Partial<Record<BucketType, AnnouncedRate>>;

/** What lua/learn-rate.lua keeps. */
export interface FoundRate {
  /** Per minute. 0: it is not known yet, and calls are only counted. */
  limit: number;
  changed: number;
  refused: number;
  why: FoundReason;
  /** When it was found. Absent: before this was kept. */
  since?: number;
  at: number;
}

/** Calls under a limit of less than a minute are spaced out. */
export function isShortWindow(windowMs: number): boolean {
  return windowMs < MINUTE_MS;
}

/** The provider, the key of its pool or '', and the model. */
export type RateSubject = readonly [provider: string, key: string, model: string];

interface Kept {
  rates: AnnouncedRates;
  /** When it was announced, in Redis time. */
  at: number;
}

export class AnnouncedLimits {
  #said = new Map<string, Kept>();
  /** By the fields of the hash. */
  #found = new Map<string, FoundRate>();
  /** Both together. Every request asks for its own. */
  #rates = new Map<string, AnnouncedRates>();
  #providers = new Set<string>();
  /** When the others were told last. */
  #toldAt = 0;

  constructor(
    private readonly redis: Redis,
    private readonly names: ControlNames,
    private readonly clock: Clock,
  ) {}

  /** `subscriber` is a connection in subscriber mode. Its owner closes it. */
  async watch(subscriber: Redis): Promise<void> {
    subscriber.on('message', (channel) => {
      if (channel === this.names.announcedLimits) this.refresh().catch(() => {});
    });
    await subscriber.subscribe(this.names.announcedLimits);
  }

  async refresh(): Promise<void> {
    const stored = Object.entries(await this.redis.hgetall(this.names.announcedLimits));
    const now = this.clock.now();
    const known = stored.map(([name, text]) => [name, JSON.parse(text) as Kept | FoundRate] as const);
    const isOver = ({ at }: Pick<Kept, 'at'>) => at < now - KEPT_MS || at > now + KEPT_MS;
    const over = known.filter(([, kept]) => isOver(kept)).map(([name]) => name);
    if (over.length > 0) await this.redis.hdel(this.names.announcedLimits, ...over);
    const lasting = known.filter(([, kept]) => !isOver(kept));
    this.#said = new Map(lasting.filter((each): each is [string, Kept] => 'rates' in each[1]));
    this.#found = new Map(lasting.filter((each): each is [string, FoundRate] => 'limit' in each[1]));
    this.#merge();
  }

  of(...subject: RateSubject): AnnouncedRates | undefined {
    return this.#rates.size === 0 ? undefined : this.#rates.get(nameOf(subject));
  }

  /**
   * Until when callers wait for a limit that was found a moment ago, and are not refused. Nobody knew of it, so its minute may be
   * used up. 0: there is no such limit.
   */
  waitedForUntil(provider: string, model: string): number {
    if (this.#found.size === 0) return 0;
    const rates = this.of(provider, '', model) ?? {};
    const ends = Object.values(rates).map(({ found }) => (found?.since ? found.since + MINUTE_MS : 0));
    return Math.max(0, ...ends);
  }

  /** Whether a limit of the provider is known, for any key and model. */
  has(provider: string): boolean {
    return this.#providers.has(provider);
  }

  list(provider: string): { key: string; model: string; rates: AnnouncedRates }[] {
    return [...this.#rates].flatMap(([name, rates]) => {
      const [own, key, model] = subjectOf(name);
      return own === provider ? [{ key, model, rates }] : [];
    });
  }

  /** Those that were found by refusals. */
  found(): { subject: RateSubject; type: BucketType; rate: FoundRate }[] {
    return [...this.#found].map(([field, rate]) => ({
      subject: subjectOf(field.slice(FOUND.length + 2)),
      type: field.charAt(FOUND.length) as BucketType,
      rate,
    }));
  }

  /**
   * Takes effect in this process at once, and in the others when they have heard of it or read it again. `used`: which part of
   * each is used, as the provider says.
   */
  async note(
    subject: RateSubject,
    rates: AnnouncedRates,
    used: Partial<Record<BucketType, number>> = {},
  ): Promise<void> {
    const name = nameOf(subject);
    const before = this.#said.get(name);
    const now = this.clock.now();
    const merged: AnnouncedRates = { ...before?.rates };
    for (const [type, rate] of Object.entries(rates) as [BucketType, AnnouncedRate][])
      merged[type] = { ...rate, from: merged[type]?.from ?? Math.round(now + uncountedMs(rate, used[type])) };
    const isNews = JSON.stringify(merged) !== JSON.stringify(before?.rates);
    if ((before && !isNews && now - before.at < RENEWED_MS) || (!before && this.#said.size >= MOST)) return;
    const kept: Kept = { rates: merged, at: Math.round(now) };
    this.#said.set(name, kept);
    this.#merge();
    await this.redis.hset(this.names.announcedLimits, name, JSON.stringify(kept));
    // A provider may change its limit with every answer.
    const isDue = Math.abs(now - this.#toldAt) >= SECOND_MS;
    if (before && !(isNews && isDue)) return;
    this.#toldAt = now;
    await this.redis.publish(this.names.announcedLimits, '');
  }

  /** What a script has just written. */
  take(subject: RateSubject, type: BucketType, rate: FoundRate): void {
    this.#found.set(foundField(subject, type), rate);
    this.#merge();
  }

  /** Of two limits of a type, the lower one holds. One that is not known yet is there to be counted. */
  #merge(): void {
    const rates = new Map<string, AnnouncedRates>(
      [...this.#said].map(([name, said]) => [name, { ...said.rates }]),
    );
    for (const { subject, type, rate: found } of this.found()) {
      const name = nameOf(subject);
      const all = rates.get(name) ?? {};
      const said = all[type];
      const isLower = !said || (found.limit > 0 && found.limit < (said.limit * MINUTE_MS) / said.windowMs);
      if (isLower) all[type] = { limit: found.limit, windowMs: MINUTE_MS, found };
      rates.set(name, all);
    }
    this.#rates = rates;
    this.#providers = new Set([...rates.keys()].map((name) => subjectOf(name)[0]));
  }
}

/** How long the calls count that nobody has counted here, in a window of less than a minute. */
function uncountedMs({ windowMs }: AnnouncedRate, used = 1): number {
  return isShortWindow(windowMs) ? Math.max(SECOND_MS, windowMs * used) : 0;
}

/** No name of a provider begins like this. */
const FOUND = '~';

/** The field of a limit that is found. */
export function foundField(subject: RateSubject, type: BucketType): string {
  return `${FOUND}${type} ${nameOf(subject)}`;
}

function nameOf(subject: RateSubject): string {
  return subject.join(' ');
}

/** No name of a provider or a key has a space. */
function subjectOf(name: string): RateSubject {
  const [, provider = '', key = '', model = ''] = /^(\S*) (\S*) (.*)$/s.exec(name) ?? [];
  return [provider, key, model];
}
