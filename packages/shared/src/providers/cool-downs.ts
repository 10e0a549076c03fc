/**
 * The providers and models that nobody calls for a while. Every process of the cell knows them.
 *
 *   cooling down ── its time is over ──► done
 *        └─ the provider asked for more than the maximum ──► probed: one call at a time, until one succeeds
 *
 * Redis holds the truth: a hash of `<provider>`, `<provider>/<model>` or `<provider>/<model> <service tier>` to a moment.
 * Where probes follow, the hash also has the moment that the provider asked for. Changes are published, so that the other
 * processes learn of them at once. Each process also reads the hash on a timer, in case a message was lost.
 */
import type { Redis } from 'ioredis';
import { DURATION_MS } from '../contract/common.js';
import type { Clock } from '../redis/clock.js';
import type { ControlNames } from '../redis/key-names.js';
import { loadScript } from '../redis/script.js';

/** No cool-down is longer, because no `max_cooldown_ms` is. */
export const LONGEST_COOL_DOWN_MS = DURATION_MS.max;
/** After a probe has been sent, nobody else calls for this long. */
const PROBE_MS = 10_000;

export interface CoolDown {
  /** Nobody calls before this moment. */
  until: number;
  /** The moment that the provider asked for. It is later than `until` when the provider asked for more than the maximum. */
  asked: number;
}

/** The subject of a cool-down: a provider, one of its models, or a service tier of a model. */
export interface CoolDownSubject {
  provider: string;
  model?: string;
  tier?: string | undefined;
}

export interface ListedCoolDown extends CoolDown {
  /** Null for all models of the provider. */
  model: string | null;
  /** Null for all tiers. */
  tier: string | null;
}

interface CoolDownKeys {
  key: string;
}

const extendScript = loadScript<null, CoolDownKeys, { subject: string; untilThen: number; asked: number }>(
  import.meta.url,
  'cool-down',
);
const probeScript = loadScript<0 | 1, CoolDownKeys, { subject: string; now: number; nextProbe: number }>(
  import.meta.url,
  'probe-cool-down',
);
const liftScript = loadScript<number, CoolDownKeys, { subjects: readonly string[] }>(
  import.meta.url,
  'lift-cool-downs',
);
const forgetScript = loadScript<null, CoolDownKeys, { now: number; subjects: readonly string[] }>(
  import.meta.url,
  'forget-cool-downs',
  { LONGEST_COOL_DOWN_MS },
);

export class CoolDowns {
  #known = new Map<string, CoolDown>();
  /** The changes that were heard while `refresh` waited. The answer to `refresh` may be older. */
  readonly #news = new Map<string, CoolDown>();
  /** The subjects that this process probes. */
  readonly #probed = new Set<string>();

  constructor(
    private readonly redis: Redis,
    private readonly names: ControlNames,
    private readonly clock: Clock,
  ) {}

  /** `subscriber` is a connection in subscriber mode. Its owner closes it. */
  async watch(subscriber: Redis): Promise<void> {
    subscriber.on('message', (channel, message) => {
      if (channel !== this.names.coolDowns) return;
      const [subject, stored] = JSON.parse(message) as [string, string];
      this.#hear(subject, parse(stored));
    });
    // Messages were lost with the connection before.
    subscriber.on('ready', () => void this.refresh().catch(() => {}));
    await subscriber.subscribe(this.names.coolDowns);
    await this.refresh();
  }

  async refresh(): Promise<void> {
    this.#news.clear();
    const stored = Object.entries(await this.redis.hgetall(this.names.coolDowns));
    const now = this.clock.now();
    const known = stored.map(([subject, text]): [string, CoolDown] => [subject, parse(text)]);
    const over = known.filter(([, each]) => isOver(each, now)).map(([subject]) => subject);
    if (over.length > 0)
      await forgetScript(this.redis, { key: this.names.coolDowns }, { now, subjects: over });
    this.#known = new Map([...known.filter(([, each]) => !isOver(each, now)), ...this.#news]);
  }

  #hear(subject: string, coolDown: CoolDown): void {
    this.#known.set(subject, coolDown);
    this.#news.set(subject, coolDown);
  }

  /** Milliseconds until the model may be called again. 0 when it may be called or probed now. */
  remaining(provider: string, model: string, tier?: string): number {
    if (this.#known.size === 0) return 0;
    const until = Math.max(...this.#of(provider, model, tier).map(([, each]) => each.until), 0);
    return Math.max(0, until - this.clock.now());
  }

  /** When the time is over that the provider asked for. */
  endOf(provider: string, model: string, tier?: string): number {
    return Math.max(...this.#of(provider, model, tier).map(([, each]) => each.asked), 0);
  }

  /** Whether nothing cools down at all. */
  get areOver(): boolean {
    return this.#known.size === 0;
  }

  /** Whether this call may be made, either because nothing cools down or as a probe. */
  async mayCall(provider: string, model: string, tier?: string): Promise<boolean> {
    const now = this.clock.now();
    for (const [subject, { asked }] of this.#of(provider, model, tier)) {
      if (asked <= now) continue;
      const args = { subject, now, nextProbe: now + PROBE_MS };
      const mine = await probeScript(this.redis, { key: this.names.coolDowns }, args);
      if (!mine) return false;
      this.#probed.add(subject);
    }
    return true;
  }

  /** A call has succeeded. The cool-downs that it probed are over. Undefined when there are none. */
  succeeded(provider: string, model: string, tier?: string): Promise<unknown> | undefined {
    if (this.#probed.size === 0) return undefined;
    const subjects = subjectsOf(provider, model, tier).filter((subject) => this.#probed.delete(subject));
    if (subjects.length === 0) return undefined;
    return liftScript(this.redis, { key: this.names.coolDowns }, { subjects });
  }

  /** Whether the provider or any of its models is cooling down now, in all tiers. */
  isCooling(provider: string): boolean {
    const now = this.clock.now();
    return this.list(provider).some(({ tier, until }) => tier === null && until > now);
  }

  list(provider: string): ListedCoolDown[] {
    const now = this.clock.now();
    const prefix = subjectOf(provider, '');
    return [...this.#known].flatMap(([subject, coolDown]) => {
      if (coolDown.asked <= now) return [];
      if (subject === provider) return { model: null, tier: null, ...coolDown };
      if (!subject.startsWith(prefix)) return [];
      const [model = '', tier = null] = subject.slice(prefix.length).split(' ');
      return { model, tier, ...coolDown };
    });
  }

  /** Takes effect in this process at once, and in the others as soon as Redis has told them. */
  async start(who: CoolDownSubject, ms: number, maxMs = ms): Promise<void> {
    const subject = nameOf(who);
    const now = this.clock.now();
    const known = this.#known.get(subject);
    const until = Math.max(Math.ceil(now + Math.min(ms, maxMs)), known?.until ?? 0);
    const asked = Math.max(Math.ceil(now + ms), known?.asked ?? 0);
    this.#hear(subject, { until, asked });
    this.#probed.delete(subject);
    await extendScript(this.redis, { key: this.names.coolDowns }, { subject, untilThen: until, asked });
  }

  /** Ends cool-downs at an operator's request. Without a model it ends all of the provider's. Returns their number. */
  async lift(provider: string, model?: string): Promise<number> {
    const stored = Object.keys(await this.redis.hgetall(this.names.coolDowns));
    const subjects = stored.filter((subject) =>
      model === undefined
        ? subject === provider || subject.startsWith(subjectOf(provider, ''))
        : subject.split(' ')[0] === subjectOf(provider, model),
    );
    if (subjects.length === 0) return 0;
    return liftScript(this.redis, { key: this.names.coolDowns }, { subjects });
  }

  /** The cool-downs that a call of this model meets. */
  #of(provider: string, model: string, tier: string | undefined): [subject: string, CoolDown][] {
    return subjectsOf(provider, model, tier).flatMap((subject) => {
      const coolDown = this.#known.get(subject);
      return coolDown ? [[subject, coolDown] as [string, CoolDown]] : [];
    });
  }
}

/** A moment that is too far ahead is from a clock that was. */
function isOver({ until, asked }: CoolDown, now: number): boolean {
  return asked <= now || until > now + LONGEST_COOL_DOWN_MS;
}

function parse(stored: string): CoolDown {
  const [until = 0, asked = until] = String(stored).split(' ').map(Number);
  return { until, asked };
}

function subjectOf(provider: string, model: string): string {
  return `${provider}/${model}`;
}

/** The cool-downs of a call's provider, model and tier concern it. Those of another tier do not. */
function subjectsOf(provider: string, model: string, tier: string | undefined): string[] {
  const ofModel = subjectOf(provider, model);
  return tier === undefined ? [provider, ofModel] : [provider, ofModel, `${ofModel} ${tier}`];
}

function nameOf({ provider, model, tier }: CoolDownSubject): string {
  const narrowest = model === undefined ? undefined : subjectsOf(provider, model, tier).at(-1);
  return narrowest ?? provider;
}
