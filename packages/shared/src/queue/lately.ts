/**
 * How long calls have taken lately, by provider, model and tier, how often a tier was refused, and how long the answers of a
 * route were. It is read from the request log, so that all processes know the same, and only while somebody asks. What it
 * remembers is bounded.
 */
import type { Redis } from 'ioredis';
import type { ShardNames } from '../redis/key-names.js';
import type { ChainEntry } from './job.js';
import type { LogEntry } from './request-log.js';
import { ledgerRow } from './settle.js';

const READ_EVERY_MS = 15_000;
const MOST_READ = 2_000;
/** The newest calls of a model count. */
const MOST_CALLS = 128;
const MOST_MODELS = 500;

/** The provider's own batch API, in the place of a tier. */
export const BATCH = 'batch';

interface Calls {
  /** Of the calls that were answered. */
  ms: number[];
  /** Whether the latest calls were refused for want of capacity. */
  refused: boolean[];
  /** When the latest of them began. */
  beganAt: number;
}

type Entry = Pick<ChainEntry, 'provider' | 'model'>;

export class Lately {
  /** Those that were met last are at the end. */
  readonly #calls = new Map<string, Calls>();
  readonly #waits = new Map<string, Calls>();
  /** Row of the ledger → the tokens of answers. */
  readonly #answers = new Map<string, number[]>();
  #last = '-';
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly redis: Redis,
    private readonly names: Pick<ShardNames, 'requestLog'>,
  ) {}

  /** Takes up the newest entries of the log, unless that was done a moment ago. */
  async refresh(everyMs = READ_EVERY_MS): Promise<void> {
    const now = performance.now();
    if (now - this.#readAt < everyMs) return;
    this.#readAt = now;
    const found = await this.redis.xrevrange(this.names.requestLog, '+', this.#last, 'COUNT', MOST_READ);
    const [newest] = found[0] ?? [];
    for (const [, [, text = '']] of found.reverse()) this.record(JSON.parse(text) as LogEntry);
    if (newest !== undefined) this.#last = `(${newest}`;
  }

  record(entry: LogEntry): void {
    const { attempts, queueMs, served, acceptedAt, settledAt } = entry;
    for (const { provider, model, tier, outcome, ms, via } of attempts) {
      if (via && outcome === 'ok')
        add(callsOf(this.#calls, `${provider} ${model} ${BATCH}`).ms, settledAt - acceptedAt);
      if (ms === undefined || ms === 0) continue;
      const calls = callsOf(this.#calls, `${provider} ${model} ${tier ?? ''}`);
      if (outcome === 'ok') add(calls.ms, ms);
      if (outcome === 'ok' || outcome === 'rate_limited' || outcome === 'overloaded')
        add(calls.refused, outcome !== 'ok');
    }
    if (!served) return;
    const waits = callsOf(this.#waits, served.provider);
    add(waits.ms, queueMs);
    waits.beganAt = Math.max(waits.beganAt, acceptedAt + (attempts.at(-1)?.startMs ?? 0));
    const row = ledgerRow(entry.workspace, entry.route, served.provider, served.model);
    add(
      newestOf(this.#answers, row, () => []),
      served.usage.output,
    );
  }

  /** The time within which this share of the calls was answered. Undefined: nobody has called it lately. */
  callMs({ provider, model }: Entry, tier: string | undefined, share: number): number | undefined {
    return quantile(this.#calls.get(`${provider} ${model} ${tier ?? ''}`)?.ms, share);
  }

  /** What a call took on average. Undefined: nobody has called it lately. */
  meanMs({ provider, model }: Entry): number | undefined {
    const ms = this.#calls.get(`${provider} ${model} `)?.ms ?? [];
    return ms.length === 0 ? undefined : ms.reduce((sum, each) => sum + each, 0) / ms.length;
  }

  /** The tokens of the newest answers of a row of the ledger. */
  answersOf(row: string): readonly number[] {
    return this.#answers.get(row) ?? [];
  }

  waitMs(provider: string, share: number): number {
    return quantile(this.#waits.get(provider)?.ms, share) ?? 0;
  }

  /** When the latest answered call of the provider began, at any model. 0: nobody has called it lately. */
  answeredAt(provider: string): number {
    return this.#waits.get(provider)?.beganAt ?? 0;
  }

  /** Which share of the latest calls was refused. */
  refusedShare({ provider, model }: Entry, tier: string): number {
    const refused = this.#calls.get(`${provider} ${model} ${tier}`)?.refused ?? [];
    return refused.length === 0 ? 0 : refused.filter(Boolean).length / refused.length;
  }
}

function callsOf(all: Map<string, Calls>, name: string): Calls {
  return newestOf(all, name, () => ({ ms: [], refused: [], beganAt: 0 }));
}

/** Those that were met longest ago are forgotten first. */
function newestOf<T>(all: Map<string, T>, name: string, create: () => T): T {
  const found = all.get(name) ?? create();
  all.delete(name);
  all.set(name, found);
  if (all.size > MOST_MODELS) all.delete(all.keys().next().value ?? '');
  return found;
}

function add<T>(values: T[], value: T): void {
  values.push(value);
  if (values.length > MOST_CALLS) values.shift();
}

export function quantile(values: readonly number[] | undefined, share: number): number | undefined {
  if (!values || values.length === 0) return undefined;
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}
