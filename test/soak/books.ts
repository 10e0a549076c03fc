/** Reads the request log as it grows (it is capped), and compares it with the ledger in the end. */
import type { LogEntry } from '@sluice/shared/queue/request-log';
import type { Gateway } from '../helpers/gateway.js';

const BATCH = 5_000;

export class Books {
  rows = 0;
  served = 0;
  cost = 0;
  readonly servedBy = new Map<string, number>();
  readonly twice: string[] = [];
  readonly #ids = new Set<string>();
  #last = '-';

  constructor(private readonly gateway: Gateway) {}

  async read(): Promise<void> {
    const { redis, names } = this.gateway;
    for (;;) {
      const entries = await redis.xrange(names.requestLog, this.#last, '+', 'COUNT', BATCH);
      for (const [, [, text = '']] of entries) this.#book(JSON.parse(text) as LogEntry);
      const last = entries.at(-1)?.[0];
      if (last !== undefined) this.#last = `(${last}`;
      if (entries.length < BATCH) return;
    }
  }

  #book({ id, served, workspace }: LogEntry): void {
    this.rows++;
    if (this.#ids.has(id)) this.twice.push(id);
    this.#ids.add(id);
    if (!served) return;
    this.served++;
    this.servedBy.set(workspace, (this.servedBy.get(workspace) ?? 0) + 1);
    this.cost += served.cost;
  }

  /** What ledger and log disagree about. */
  async compare(): Promise<string[]> {
    await this.read();
    const { redis, names } = this.gateway;
    let requests = 0;
    let cost = 0;
    for (const key of await redis.keys(names.ledger('*'))) {
      for (const [field, value] of Object.entries(await redis.hgetall(key))) {
        if (field.endsWith(':requests')) requests += Number(value);
        if (field.endsWith(':cost')) cost += Number(value);
      }
    }
    const faults: string[] = [];
    if (requests !== this.served) faults.push(`ledger: ${requests} requests, log: ${this.served}`);
    if (cost !== this.cost) faults.push(`ledger: ${cost} picodollars, log: ${this.cost}`);
    return faults;
  }
}
