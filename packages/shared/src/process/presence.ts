/** Which api and worker processes are alive: each says so every second, and is forgotten when it stops. */
import { hostname } from 'node:os';
import type { Redis } from 'ioredis';
import type { Clock } from '../redis/clock.js';
import type { KeyNames } from '../redis/key-names.js';
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
  /** Of PAYLOAD_KEY. Absent for a process of a version that had none. */
  payload?: SecretKeyIds;
  /** Of KEY_PEPPER. Absent for a worker, which has none. */
  pepper?: SecretKeyIds;
  /** What it understands of other processes. Absent for a process of a version that did not say. */
  protocols?: Protocols;
  /** What keeps it from its work. Absent for a process of a version that did not say. */
  problems?: string[];
  seenAt: number;
}

export class Presence {
  readonly self: Omit<ProcessInfo, 'seenAt' | 'problems'>;

  constructor(
    private readonly redis: Redis,
    private readonly names: KeyNames,
    private readonly clock: Clock,
    own: Pick<ProcessInfo, 'id' | 'role' | 'payload' | 'pepper'>,
  ) {
    this.self = { ...own, protocols: PROTOCOLS, host: hostname(), pid: process.pid, startedAt: clock.now() };
  }

  async announce(problems: string[]): Promise<void> {
    const self: ProcessInfo = { ...this.self, problems, seenAt: this.clock.now() };
    await this.redis.hset(this.names.processes, self.id, JSON.stringify(self));
  }

  async leave(): Promise<void> {
    await this.redis.hdel(this.names.processes, this.self.id);
  }

  /** Processes heard of in the last seconds. */
  async alive(): Promise<ProcessInfo[]> {
    const now = this.clock.now();
    const known = Object.values(await this.redis.hgetall(this.names.processes)).map(
      (text) => JSON.parse(text) as ProcessInfo,
    );
    const dead = known
      .filter((process) => now - process.seenAt > REMOVED_AFTER_MS)
      .map((process) => process.id);
    if (dead.length > 0) await this.redis.hdel(this.names.processes, ...dead);
    return known.filter((process) => now - process.seenAt <= FORGOTTEN_AFTER_MS);
  }
}
