/**
 * The processes of the cell, as this process last saw them: a chore looks every second or two. Before the first look there is no
 * worker, and the protocol is the oldest.
 */
import type { Presence, ProcessInfo } from '@sluice/shared/process/presence';
import { commonProtocol } from '@sluice/shared/process/protocol';

export class Neighbours {
  workers = 0;
  /** How many api processes share the providers and the memory of Redis, this one included. */
  apis = 1;
  /** The newest protocol that every worker speaks. When none is alive, that of the last ones: they will be back. */
  protocol = commonProtocol([]);
  /** The same of every api process. */
  apiProtocol = commonProtocol([]);

  /** The shards whose jobs a worker takes. */
  #served = new Set<number>();
  /** How many shards every process knows. */
  shards = 1;

  constructor(private readonly presence: Presence) {}

  /** Announces this process, with its problems, and learns of the others. */
  async look(problems: string[]): Promise<void> {
    const alive = await this.presence.announceAndList(problems);
    const workers = alive.filter(({ role }) => role === 'worker');
    this.workers = workers.length;
    this.#served = new Set(workers.flatMap(servedBy));
    this.shards = Math.min(...alive.map(({ shards }) => shards?.count ?? 1));
    this.apis = Math.max(1, alive.length - workers.length);
    if (workers.length > 0) this.protocol = commonProtocol(workers.map(({ protocols }) => protocols));
    const apis = alive.filter(({ role }) => role === 'api');
    this.apiProtocol = commonProtocol(apis.map(({ protocols }) => protocols));
  }

  /** Whether a worker takes the jobs of this shard. */
  serves(shard: number): boolean {
    return this.#served.has(shard);
  }
}

function servedBy({ shards }: ProcessInfo): number[] {
  return shards?.served ?? Array.from({ length: shards?.count ?? 1 }, (_, shard) => shard);
}
