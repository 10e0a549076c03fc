/**
 * The processes of the cell, as this process last saw them: a chore looks once a second. Before the first look there is no
 * worker, and the protocol is the oldest.
 */
import type { Presence } from '@sluice/shared/process/presence';
import { commonProtocol } from '@sluice/shared/process/protocol';

export class Neighbours {
  workers = 0;
  /** How many api processes share the providers and the memory of Redis, this one included. */
  apis = 1;
  /** The newest protocol that every worker speaks. */
  protocol = commonProtocol([]);
  /** The same of every api process. */
  apiProtocol = commonProtocol([]);

  constructor(private readonly presence: Presence) {}

  async look(): Promise<void> {
    const alive = await this.presence.alive();
    const workers = alive.filter(({ role }) => role === 'worker');
    this.workers = workers.length;
    this.apis = Math.max(1, alive.length - workers.length);
    this.protocol = commonProtocol(workers.map(({ protocols }) => protocols));
    const apis = alive.filter(({ role }) => role === 'api');
    this.apiProtocol = commonProtocol(apis.map(({ protocols }) => protocols));
  }
}
