/** BullMQ's classes by their own file. BullMQ's index also loads its backend for PostgreSQL: 2 MB for each process. */
import { createRequire } from 'node:module';
import type * as index from 'bullmq';

export const bullmq: Pick<
  typeof index,
  | 'DelayedError'
  | 'Job'
  | 'Queue'
  | 'QueueKeys'
  | 'RedisConnection'
  | 'RedisQueueBackend'
  | 'UnrecoverableError'
  | 'Worker'
> = createRequire(import.meta.url)('bullmq/dist/cjs/classes/index.js');
