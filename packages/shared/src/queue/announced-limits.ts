/**
 * The limits that providers announce with their answers. Where the operator has set none, they hold as if they were set
 * (rates.ts). Only those are kept of which much is used, so that requests far below them cost nothing. Workers write them into
 * one hash, and every process reads it each second.
 */
import type { Redis } from 'ioredis';
import type { Clock } from '../redis/clock.js';
import type { ControlNames } from '../redis/key-names.js';

/** What is not announced again within this time holds no longer. */
const KEPT_MS = 600_000;
const RENEWED_MS = 60_000;
/** Providers and callers choose the names of models. */
const MOST = 1_000;

/** Requests, all tokens, input and output tokens. */
export type BucketType = 'r' | 't' | 'i' | 'o';

export interface AnnouncedRate {
  /** How much may be used in the window. */
  limit: number;
  windowMs: number;
}
export type AnnouncedRates = Partial<Record<BucketType, AnnouncedRate>>;

/** Calls under a limit of less than a minute are spaced out. */
export function isShortWindow(windowMs: number): boolean {
  return windowMs < 60_000;
}

/** The provider, the key of its pool or '', and the model. */
export type RateSubject = readonly [provider: string, key: string, model: string];

interface Kept {
  rates: AnnouncedRates;
  /** When it was announced, in Redis time. */
  at: number;
}

export class AnnouncedLimits {
  #known = new Map<string, Kept>();
  /** The providers of these. Every request asks for its own. */
  #providers = new Set<string>();

  constructor(
    private readonly redis: Redis,
    private readonly names: ControlNames,
    private readonly clock: Clock,
  ) {}

  async refresh(): Promise<void> {
    const stored = Object.entries(await this.redis.hgetall(this.names.announcedLimits));
    const now = this.clock.now();
    const known = stored.map(([subject, text]): [string, Kept] => [subject, JSON.parse(text) as Kept]);
    const isOver = ({ at }: Kept) => at < now - KEPT_MS || at > now + KEPT_MS;
    const over = known.filter(([, kept]) => isOver(kept)).map(([subject]) => subject);
    if (over.length > 0) await this.redis.hdel(this.names.announcedLimits, ...over);
    this.#known = new Map(known.filter(([, kept]) => !isOver(kept)));
    this.#providers = new Set([...this.#known.keys()].map(providerOf));
  }

  of(...subject: RateSubject): AnnouncedRates | undefined {
    return this.#known.size === 0 ? undefined : this.#known.get(nameOf(subject))?.rates;
  }

  /** Whether a limit of the provider is known, for any key and model. */
  has(provider: string): boolean {
    return this.#providers.has(provider);
  }

  list(provider: string): { key: string; model: string; rates: AnnouncedRates }[] {
    return [...this.#known].flatMap(([name, { rates }]) => {
      const [, own = '', key = '', model = ''] = /^(\S*) (\S*) (.*)$/s.exec(name) ?? [];
      return own === provider ? [{ key, model, rates }] : [];
    });
  }

  /** Takes effect in this process at once, and in the others within a second or two. */
  async note(subject: RateSubject, rates: AnnouncedRates): Promise<void> {
    const name = nameOf(subject);
    const before = this.#known.get(name);
    const now = this.clock.now();
    const merged = { ...before?.rates, ...rates };
    const isNews = JSON.stringify(merged) !== JSON.stringify(before?.rates);
    if ((before && !isNews && now - before.at < RENEWED_MS) || (!before && this.#known.size >= MOST)) return;
    const kept: Kept = { rates: merged, at: Math.round(now) };
    this.#known.set(name, kept);
    this.#providers.add(subject[0]);
    await this.redis.hset(this.names.announcedLimits, name, JSON.stringify(kept));
  }
}

function nameOf(subject: RateSubject): string {
  return subject.join(' ');
}

/** No name of a provider has a space. */
function providerOf(name: string): string {
  return name.slice(0, name.indexOf(' '));
}
