/** The lease of a batch. The api process that holds it runs the batch. */
import type { ShardNames } from '@sluice/shared/redis/key-names';
import type { Redis } from 'ioredis';
import { LEASE_MS, leaseScript, releaseScript, renewScript } from './batch-scripts.js';

export class BatchLeases {
  constructor(
    private readonly redis: Redis,
    private readonly names: ShardNames,
  ) {}

  async lease(id: string, token: string): Promise<boolean> {
    return (
      (await leaseScript(
        this.redis,
        { firstLeaseKey: this.names.batchLease(id) },
        { token, ms: LEASE_MS },
      )) === 1
    );
  }

  async renew(id: string, token: string): Promise<boolean> {
    return (
      (await renewScript(
        this.redis,
        { firstLeaseKey: this.names.batchLease(id) },
        { token, ms: LEASE_MS },
      )) === 1
    );
  }

  async release(id: string, token: string): Promise<void> {
    await releaseScript(this.redis, { firstLeaseKey: this.names.batchLease(id) }, { token });
  }
}
