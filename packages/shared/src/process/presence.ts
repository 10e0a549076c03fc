/** Knows which api and worker processes are alive. Each announces itself every second or two, and is forgotten when it stops. */
import { hostname } from 'node:os';
import type { Redis } from 'ioredis';
import type { Clock } from '../redis/clock.js';
import type { ControlNames } from '../redis/key-names.js';
import { loadScript } from '../redis/script.js';
import { PROTOCOLS, type Protocols } from './protocol.js';
import type { SecretKeyIds } from './secret-keys.js';

export const FORGOTTEN_AFTER_MS = 5_000;
const REMOVED_AFTER_MS = 60_000;

export interface ProcessInfo {
  id: string;
  role: 'api' | 'worker';
  host: string;
  pid: number;
  startedAt: number;
  /** The ids of the keys in PAYLOAD_KEY. Absent for a process of a version without that variable. */
  payload?: SecretKeyIds;
  /** The ids of the keys in KEY_PEPPER. Absent for a worker, which has none. */
  pepper?: SecretKeyIds;
  /** The protocols that the process speaks. Absent for an older version that did not announce them. */
  protocols?: Protocols;
  /** The shards that the process knows, and those whose jobs it takes. Absent: the first. */
  shards?: {
    count: number;
    served?: number[];
    /** It notices that a workspace has moved to another shard. */ knowsMoves?: true;
  };
  /** The problems that keep the process from its work. Absent for an older version that did not announce them. */
  problems?: string[];
  seenAt: number;
}

const announceScript = loadScript<
  string[],
  { processesKey: string },
  { id: string; process: string; lists: 1 | '' }
>(import.meta.url, 'announce');

export class Presence {
  readonly self: Omit<ProcessInfo, 'seenAt' | 'problems'>;

  constructor(
    private readonly redis: Redis,
    private readonly names: ControlNames,
    private readonly clock: Clock,
    own: Pick<ProcessInfo, 'id' | 'role' | 'payload' | 'pepper' | 'shards'>,
  ) {
    this.self = { ...own, protocols: PROTOCOLS, host: hostname(), pid: process.pid, startedAt: clock.now() };
  }

  async announce(problems: string[]): Promise<void> {
    await this.#announce(problems, '');
  }

  /** The processes that announced themselves in the last seconds, this one with them. */
  async announceAndList(problems: string[]): Promise<ProcessInfo[]> {
    return this.#alive(await this.#announce(problems, 1));
  }

  #announce(problems: string[], lists: 1 | ''): Promise<string[]> {
    const self: ProcessInfo = { ...this.self, problems, seenAt: this.clock.now() };
    const keys = { processesKey: this.names.processes };
    return announceScript(this.redis, keys, { id: self.id, process: JSON.stringify(self), lists });
  }

  async leave(): Promise<void> {
    await this.redis.hdel(this.names.processes, this.self.id);
  }

  /** The processes that announced themselves in the last seconds. */
  async alive(): Promise<ProcessInfo[]> {
    return this.#alive(Object.values(await this.redis.hgetall(this.names.processes)));
  }

  async #alive(texts: readonly string[]): Promise<ProcessInfo[]> {
    const now = this.clock.now();
    const known = texts.map((text) => JSON.parse(text) as ProcessInfo);
    const dead = known
      // One that was last seen in the future has died, or announces itself again, after the clock was far ahead.
      .filter((process) => Math.abs(now - process.seenAt) > REMOVED_AFTER_MS)
      .map((process) => process.id);
    if (dead.length > 0) await this.redis.hdel(this.names.processes, ...dead);
    return known.filter((process) => now - process.seenAt <= FORGOTTEN_AFTER_MS);
  }
}
