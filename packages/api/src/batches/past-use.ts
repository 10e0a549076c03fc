/** What a workspace's requests have taken lately, for quotes: tokens by the ledger, and how long calls take by the log. */
import { dayOf } from '@sluice/shared/calendar';
import type { LogEntry } from '@sluice/shared/queue/request-log';
import { ledgerRow } from '@sluice/shared/queue/settle';
import type { Clock } from '@sluice/shared/redis/clock';
import type { KeyNames } from '@sluice/shared/redis/key-names';
import type { PastUse } from '@sluice/shared/registry/line-estimate';
import type { Redis } from 'ioredis';

const DAY_MS = 86_400_000;
const DAYS = 7;
const COLUMNS = ['requests', 'input', 'cached_input', 'cache_write', 'output'];
/** The newest entries of the log that are read. */
const ENTRIES = 500;
/** Many quotes in a row read the log once. */
const LOOKED_FOR_MS = 5_000;

export class PastUses {
  #latencies: { at: number; found: Promise<Map<string, number>> } | undefined;

  constructor(
    private readonly redis: Redis,
    private readonly names: KeyNames,
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
    return {
      requests: sum(0),
      input: sum(1),
      cachedInput: sum(2),
      cacheWrite: sum(3),
      output: sum(4),
    };
  }

  /** How long the newest calls to a provider took on average, in ms. Undefined: none was made lately. */
  async latencyMs(provider: string): Promise<number | undefined> {
    const now = performance.now();
    if (!this.#latencies || now - this.#latencies.at > LOOKED_FOR_MS)
      this.#latencies = { at: now, found: this.#readLatencies() };
    return (await this.#latencies.found).get(provider);
  }

  async #readLatencies(): Promise<Map<string, number>> {
    const entries = await this.redis.xrevrange(this.names.requestLog, '+', '-', 'COUNT', ENTRIES);
    const sums = new Map<string, { calls: number; ms: number }>();
    for (const [, [, text = '{}']] of entries) {
      const { served } = JSON.parse(text) as LogEntry;
      // A line in a provider's own batch takes 0 ms.
      if (!served || served.latencyMs === 0) continue;
      const sum = sums.get(served.provider) ?? { calls: 0, ms: 0 };
      sums.set(served.provider, { calls: sum.calls + 1, ms: sum.ms + served.latencyMs });
    }
    return new Map([...sums].map(([provider, { calls, ms }]) => [provider, ms / calls]));
  }
}
