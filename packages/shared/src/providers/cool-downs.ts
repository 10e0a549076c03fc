/**
 * Which providers and models are to be left alone, and until when, known to every process of the cell.
 *
 * Redis holds the truth (a hash of `<provider>` or `<provider>/<model>` to a moment). A change is published, so that
 * the others learn of it within a millisecond or so, and read again on a timer, in case the message was lost.
 */
import type { Redis } from 'ioredis';
import type { Clock } from '../redis/clock.js';
import type { KeyNames } from '../redis/key-names.js';
import { ALSO_WHEN_FULL, createScript } from '../redis/script.js';

// A later, shorter cool-down must not cut an earlier, longer one short.
const extend = createScript<number>(
  'sluiceCoolDown',
  `${ALSO_WHEN_FULL}
local untilNow = tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or '0')
local untilThen = math.max(untilNow, tonumber(ARGV[2]))
redis.call('HSET', KEYS[1], ARGV[1], string.format('%d', untilThen))
redis.call('PUBLISH', KEYS[1], cjson.encode({ARGV[1], untilThen}))
return untilThen
`,
);

/** Arguments: the moment, then the subjects. One that has been prolonged meanwhile stays. */
const forget = createScript<null>(
  'sluiceForgetCoolDowns',
  `
for i = 2, #ARGV do
  local untilThen = redis.call('HGET', KEYS[1], ARGV[i])
  if untilThen and tonumber(untilThen) <= tonumber(ARGV[1]) then redis.call('HDEL', KEYS[1], ARGV[i]) end
end
`,
);

export class CoolDowns {
  #until = new Map<string, number>();
  /** What was heard while `refresh` waited for its answer, which may be older. */
  readonly #news = new Map<string, number>();

  constructor(
    private readonly redis: Redis,
    private readonly names: KeyNames,
    private readonly clock: Clock,
  ) {}

  /** `subscriber` is a connection of its own, in subscriber mode; its owner closes it. */
  async watch(subscriber: Redis): Promise<void> {
    subscriber.on('message', (channel, message) => {
      if (channel !== this.names.coolDowns) return;
      const [subject, until] = JSON.parse(message) as [string, number];
      this.#hear(subject, until);
    });
    await subscriber.subscribe(this.names.coolDowns);
    await this.refresh();
  }

  async refresh(): Promise<void> {
    this.#news.clear();
    const stored = Object.entries(await this.redis.hgetall(this.names.coolDowns));
    const now = this.clock.now();
    const over = stored.filter(([, until]) => Number(until) <= now).map(([subject]) => subject);
    if (over.length > 0) await forget(this.redis, [this.names.coolDowns], [now, ...over]);
    const current = stored.filter(([, until]) => Number(until) > now);
    this.#until = new Map([
      ...current.map(([subject, until]): [string, number] => [subject, Number(until)]),
      ...this.#news,
    ]);
  }

  #hear(subject: string, until: number): void {
    this.#until.set(subject, until);
    this.#news.set(subject, until);
  }

  /** Milliseconds until this model of this provider may be called again; 0 when it may be called now. */
  remaining(provider: string, model: string): number {
    if (this.#until.size === 0) return 0;
    const until = Math.max(this.#until.get(provider) ?? 0, this.#until.get(subjectOf(provider, model)) ?? 0);
    return Math.max(0, until - this.clock.now());
  }

  /** Whether the provider, or any of its models, is left alone now. */
  isCooling(provider: string): boolean {
    const now = this.clock.now();
    return [...this.#until].some(
      ([subject, until]) => until > now && (subject === provider || subject.startsWith(`${provider}/`)),
    );
  }

  /** Of a provider: the model that is left alone, or null for all of its models, and until when. */
  list(provider: string): { model: string | null; until: number }[] {
    const now = this.clock.now();
    return [...this.#until].flatMap(([subject, until]) => {
      if (until <= now) return [];
      if (subject === provider) return { model: null, until };
      const prefix = subjectOf(provider, '');
      return subject.startsWith(prefix) ? { model: subject.slice(prefix.length), until } : [];
    });
  }

  /** Takes effect in this process at once, in the others as soon as Redis has passed it on. */
  async start(provider: string, model: string | undefined, ms: number): Promise<void> {
    const subject = model === undefined ? provider : subjectOf(provider, model);
    const until = Math.ceil(this.clock.now() + ms);
    this.#hear(subject, Math.max(until, this.#until.get(subject) ?? 0));
    await extend(this.redis, [this.names.coolDowns], [subject, until]);
  }
}

function subjectOf(provider: string, model: string): string {
  return `${provider}/${model}`;
}
