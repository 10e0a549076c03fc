import { isRedisAway } from './away.js';

const AGAIN_MS = 500;

/**
 * Asks Redis again while it refuses to write, because it is full, lacks replicas or cannot save. Any other error is thrown
 * at once, and so is the refusal when the time is over.
 */
export async function whileRefused<T>(
  ask: () => Promise<T>,
  onRefused: (error: unknown) => void,
  hasTime: () => boolean = () => true,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await ask();
    } catch (error) {
      if (!isRedisAway(error) || !hasTime()) throw error;
      if (tries === 1) onRefused(error);
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  }
}
