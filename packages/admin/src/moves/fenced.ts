/**
 * The steps of a move in Redis. Each is refused when a later attempt has the shard. So a process that stood still, and wakes up
 * when another one has finished its work, changes nothing.
 */

import { loadScript } from '@sluice/shared/redis/script';
import type { ShardKeys } from '@sluice/shared/redis/shard';

/** A later attempt does the rest. */
export class Superseded extends Error {}

export type Kind = 'string' | 'hash' | 'list' | 'sorted' | 'stream';

const PART = 400;
const LARGE_PART = 40;

const setFenceScript = loadScript<0 | 1, { fenceKey: string }, { attempt: number; state: 'open' | 'closed' }>(
  import.meta.url,
  'set-fence',
);

const letOutScript = loadScript<
  number,
  {
    timesKey: string;
    reservationsKey: string;
    reservedKey: string;
    spentKey: string;
    clockKey: string;
    money: string;
    fenceKey: string;
  },
  { guard: string }
>(import.meta.url, 'let-out');

const putScript = loadScript<
  0 | 1,
  { fenceKey: string; key: string },
  { guard: string; kind: Kind; ttl: number; isFirst: 1 | ''; values: readonly string[] }
>(import.meta.url, 'put');

const dropScript = loadScript<
  0 | 1,
  { fenceKey: string; keys: readonly string[] },
  { guard: string; keptMs: number | '' }
>(import.meta.url, 'drop');

const unlistScript = loadScript<
  0 | 1,
  { fenceKey: string; list: string },
  { guard: string; members: readonly string[] }
>(import.meta.url, 'unlist');

/** One shard, for one workspace and one attempt to move it. */
export class FencedShard {
  readonly #fenceKey: string;
  /** What is at that key while this attempt has the shard to itself. */
  readonly #guard: string;

  constructor(
    readonly shard: ShardKeys,
    private readonly workspace: string,
    private readonly attempt: number,
  ) {
    this.#fenceKey = shard.names.fence?.(workspace) ?? '';
    this.#guard = `${attempt}:closed`;
  }

  close(): Promise<void> {
    return this.#set('closed');
  }

  open(): Promise<void> {
    return this.#set('open');
  }

  /** How many reservations are left. */
  async letOut(): Promise<number> {
    const { redis, names } = this.shard;
    const { workspace } = this;
    const keys = {
      timesKey: names.requestTimes(workspace),
      reservationsKey: names.reservations(workspace),
      reservedKey: names.reserved(workspace),
      spentKey: names.spent(workspace),
      clockKey: names.clock,
      money: names.money(workspace),
      fenceKey: this.#fenceKey,
    };
    const left = await letOutScript(redis, keys, { guard: this.#guard });
    if (left < 0) throw new Superseded();
    return left;
  }

  /** Writes a key anew. `rows`: what belongs together. Without any the key goes. */
  async put(key: string, kind: Kind, ttl: number, rows: readonly (readonly string[])[]): Promise<void> {
    await this.#write(key, kind, ttl, rows, true);
  }

  /** Adds to a sorted set that has members of other workspaces, too. */
  async list(key: string, rows: readonly (readonly string[])[]): Promise<void> {
    if (rows.length > 0) await this.#write(key, 'sorted', 0, rows, false);
  }

  async drop(keys: readonly string[], keptMs: number | '' = ''): Promise<void> {
    for (let i = 0; i < keys.length; i += PART)
      require(
        await dropScript(
          this.shard.redis,
          { fenceKey: this.#fenceKey, keys: keys.slice(i, i + PART) },
          { guard: this.#guard, keptMs },
        ),
      );
  }

  async unlist(list: string, members: readonly string[]): Promise<void> {
    for (let i = 0; i < members.length; i += PART)
      require(
        await unlistScript(
          this.shard.redis,
          { fenceKey: this.#fenceKey, list },
          { guard: this.#guard, members: members.slice(i, i + PART) },
        ),
      );
  }

  async #set(state: 'open' | 'closed'): Promise<void> {
    const { attempt } = this;
    require(await setFenceScript(this.shard.redis, { fenceKey: this.#fenceKey }, { attempt, state }));
  }

  async #write(
    key: string,
    kind: Kind,
    ttl: number,
    rows: readonly (readonly string[])[],
    isAnew: boolean,
  ): Promise<void> {
    const part = kind === 'stream' ? LARGE_PART : PART;
    for (let i = 0; i === 0 || i < rows.length; i += part) {
      const values = rows.slice(i, i + part).flat();
      const isFirst = isAnew && i === 0 ? 1 : '';
      const args = { guard: this.#guard, kind, ttl: Math.max(0, ttl), isFirst, values } as const;
      require(await putScript(this.shard.redis, { fenceKey: this.#fenceKey, key }, args));
    }
  }
}

function require(done: 0 | 1): void {
  if (done === 0) throw new Superseded();
}
