/**
 * Which workspaces have lately called each provider, over all workers. A worker collects what it sees and writes it down
 * every now and then: a request pays nothing for it.
 */
import type { Redis } from 'ioredis';
import type { Clock } from '../redis/clock.js';
import type { KeyNames } from '../redis/key-names.js';
import { ALSO_WHEN_FULL, createScript } from '../redis/script.js';

export const LATELY_MS = 300_000;
/** It only matters whether there is more than one. */
const MOST = 20;

/** Arguments: the moment, then the workspaces. */
const writeScript = createScript<null>(
  'sluiceCallers',
  `${ALSO_WHEN_FULL}
local known = redis.call('HGETALL', KEYS[1])
for i = 1, #known, 2 do
  if #known > ${2 * MOST} or tonumber(known[i + 1]) < ARGV[1] - ${LATELY_MS} then
    redis.call('HDEL', KEYS[1], known[i])
  end
end
for i = 2, #ARGV do redis.call('HSET', KEYS[1], ARGV[i], ARGV[1]) end
redis.call('PEXPIRE', KEYS[1], ${LATELY_MS})
`,
);

export class Callers {
  /** By provider. */
  readonly #seen = new Map<string, Set<string>>();

  constructor(
    private readonly redis: Redis,
    private readonly names: KeyNames,
    private readonly clock: Clock,
  ) {}

  saw(provider: string, workspace: string): void {
    const seen = this.#seen.get(provider);
    if (!seen) this.#seen.set(provider, new Set([workspace]));
    else if (seen.size < MOST) seen.add(workspace);
  }

  async write(): Promise<void> {
    const seen = [...this.#seen];
    this.#seen.clear();
    const now = Math.round(this.clock.now());
    await Promise.all(
      seen.map(([provider, workspaces]) =>
        writeScript(this.redis, [this.names.callers(provider)], [now, ...workspaces]),
      ),
    );
  }
}
