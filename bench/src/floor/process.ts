/** What the processes of the floor share: the way to Redis, and that they end with the bench. */
import { Redis } from 'ioredis';

/** What a process of the floor gets in its environment. */
export interface FloorEnv extends NodeJS.ProcessEnv {
  REDIS_URL: string;
  UPSTREAM_URL: string;
  PORT: string;
}

export const { REDIS_URL, UPSTREAM_URL, PORT } = process.env as FloorEnv;
export const MODEL = 'gpt-4o-mini';
/** Calls at a time, as many as Sluice's worker has in the bench. */
export const MOST_RUNNING = 4_096;
/** Jobs that one script takes. */
export const MOST_TAKEN = 8;

export function connect(): Redis {
  return new Redis(REDIS_URL, { maxRetriesPerRequest: null });
}

/** The bench waits for the message. When the bench is gone, however it ended, this process ends. */
export function sayReady(): void {
  process.once('disconnect', () => process.exit());
  process.send?.('ready');
}
