/** What a workspace's requests have taken lately, for quotes: sums by the ledger, and single answers by the log. */
import { dayOf } from '@sluice/shared/calendar';
import type { LogEntry } from '@sluice/shared/queue/request-log';
import { ledgerRow } from '@sluice/shared/queue/settle';
import type { Clock } from '@sluice/shared/redis/clock';
import type { ShardNames } from '@sluice/shared/redis/key-names';
import { ENOUGH_ANSWERS, type PastUse } from '@sluice/shared/registry/line-estimate';
import type { Redis } from 'ioredis';

const DAY_MS = 86_400_000;
const DAYS = 7;
const COLUMNS = ['requests', 'input', 'cached_input', 'cache_write', 'output'];
/** The newest entries of the log that are read, so many at once. */
const ENTRIES = 2_000;
const AT_ONCE = 250;
/** Many quotes in a row read the log once. */
const LOOKED_FOR_MS = 5_000;
const LONG = 0.99;

interface Newest {
  /** Provider → how long its calls took, in ms. */
  latencies: Map<string, number[]>;
  /** Row of the ledger → the tokens of answers. */
  outputs: Map<string, number[]>;
}

export class PastUses {
  #looked: { at: number; newest: Promise<Newest> } | undefined;

  constructor(
    private readonly redis: Redis,
    private readonly names: ShardNames,
    private readonly clock: Clock,
  ) {}

  /** What one route of a workspace has taken of a model in the last days. */
  async of(workspace: string, route: string | null, provider: string, model: string): Promise<PastUse> {
    const row = ledgerRow(workspace, route, provider, model);
    const fields = COLUMNS.map((column) => `${row}:${column}`);
    const now = this.clock.now();
    const days = Array.from({ length: DAYS }, (_, i) => this.names.ledger(dayOf(now - i * DAY_MS)));
    const read = await Promise.all(days.map((day) => this.redis.hmget(day, ...fields)));
    const sum = (column: number) => read.reduce((all, day) => all + Number(day[column] ?? 0), 0);
    const answers = (await this.#newest()).outputs.get(row) ?? [];
    return {
      requests: sum(0),
      input: sum(1),
      cachedInput: sum(2),
      cacheWrite: sum(3),
      output: sum(4),
      longAnswer:
        answers.length < ENOUGH_ANSWERS
          ? undefined
          : answers.sort((a, b) => a - b)[Math.floor(LONG * answers.length)],
    };
  }

  /** How long the newest calls to a provider took on average, in ms. Undefined: none was made lately. */
  async latencyMs(provider: string): Promise<number | undefined> {
    const found = (await this.#newest()).latencies.get(provider);
    return found && found.reduce((sum, ms) => sum + ms, 0) / found.length;
  }

  #newest(): Promise<Newest> {
    const now = performance.now();
    if (!this.#looked || now - this.#looked.at > LOOKED_FOR_MS) {
      const newest = this.#read();
      this.#looked = { at: now, newest };
      newest.catch(() => {
        this.#looked = undefined;
      });
    }
    return this.#looked.newest;
  }

  async #read(): Promise<Newest> {
    const newest: Newest = { latencies: new Map(), outputs: new Map() };
    let before = '+';
    for (let read = 0; read < ENTRIES; read += AT_ONCE) {
      const entries = await this.redis.xrevrange(this.names.requestLog, before, '-', 'COUNT', AT_ONCE);
      for (const [, [, text = '{}']] of entries) {
        const { served, workspace, route } = JSON.parse(text) as LogEntry;
        if (!served) continue;
        const { provider, model, latencyMs, usage } = served;
        // A line in a provider's own batch takes 0 ms.
        if (latencyMs > 0) addTo(newest.latencies, provider, latencyMs);
        addTo(newest.outputs, ledgerRow(workspace, route, provider, model), usage.output);
      }
      if (entries.length < AT_ONCE) break;
      before = `(${entries.at(-1)?.[0]}`;
    }
    return newest;
  }
}

function addTo(lists: Map<string, number[]>, key: string, value: number): void {
  const known = lists.get(key);
  if (known) known.push(value);
  else lists.set(key, [value]);
}
