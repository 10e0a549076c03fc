/**
 * Refreshes the model registry from the configured address on a schedule. Every api process checks whether a refresh is
 * due, and the one that gets the lock does it. A refresh that needs a confirmation is not applied. The operator is told.
 */

import { GatewayError } from '@sluice/shared/errors';
import type { Logger } from '@sluice/shared/process/logger';
import type { Clock } from '@sluice/shared/redis/clock';
import type { ControlNames } from '@sluice/shared/redis/key-names';
import type { RegistryStore } from '@sluice/shared/registry/store';
import type { Redis } from 'ioredis';
import type { RegistryRefresh } from './registry-refresh.js';

export const LOOK_EVERY_MS = 6_000;
const RETRY_MS = 600_000;
/** Longer than a refresh takes. */
const LOCK_MS = 60_000;

export interface ScheduleParts {
  redis: Redis;
  names: ControlNames;
  store: RegistryStore;
  refresh: RegistryRefresh;
  clock: Clock;
  logger: Logger;
  url: string;
  periodMs: number;
}

export class RegistrySchedule {
  constructor(private readonly parts: ScheduleParts) {}

  async look(): Promise<void> {
    const { redis, names } = this.parts;
    if (!(await this.#isDue())) return;
    if ((await redis.set(names.registryLock, 'held', 'PX', LOCK_MS, 'NX')) === null) return;
    try {
      // Another process may have refreshed between the check and the lock.
      if (await this.#isDue()) await this.#run();
    } finally {
      await redis.del(names.registryLock);
    }
  }

  async #isDue(): Promise<boolean> {
    const attempt = await this.parts.store.readAttempt();
    return !attempt || attempt.nextAt <= this.parts.clock.now();
  }

  async #run(): Promise<void> {
    const { store, refresh, clock, logger, url, periodMs } = this.parts;
    let problem = '';
    let waitMs = periodMs;
    try {
      const { applied, diff } = await refresh.run({ url, confirm: false, configured: true });
      if (!applied) problem = `it needs a confirmation: ${diff.reasons.join('; ')}`;
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      problem = error.message;
      waitMs = Math.min(RETRY_MS, periodMs);
    }
    if (problem !== '') logger.warn({ problem }, 'the model registry was not refreshed');
    const at = clock.now();
    await store.writeAttempt({ at, problem, nextAt: at + waitMs });
  }
}
