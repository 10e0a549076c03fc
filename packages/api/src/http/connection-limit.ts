/**
 * How many connections a listener takes. It stays below the number of file descriptors, because without a free one the
 * system resets connections unseen, and Redis and health checks could not be reached either.
 */
import type { Server } from 'node:http';
import type { Logger } from '@sluice/shared/process/logger';

const MAX_CONNECTIONS = 20_000;
/** What the process itself has open, at the most: Redis, its files, its pipes. */
const OWN_DESCRIPTORS = 50;
/** Of the others; the rest is for health checks and the admin listener. */
const SHARE = 0.8;
const TELL_EVERY_MS = 10_000;

export class ConnectionLimit {
  #dropped = 0;
  #toldAt = Number.NEGATIVE_INFINITY;
  #droppedAt = Number.NEGATIVE_INFINITY;
  readonly #most: number;

  constructor(
    descriptors: number,
    private readonly logger: Logger,
    private readonly count: () => void,
  ) {
    this.#most = Math.max(1, Math.min(MAX_CONNECTIONS, Math.floor(SHARE * (descriptors - OWN_DESCRIPTORS))));
  }

  hold(server: Server): void {
    server.maxConnections = this.#most;
    // Node closes what is above it, and says so here.
    server.on('drop', () => this.#drop());
  }

  problems(): string[] {
    if (performance.now() - this.#droppedAt > TELL_EVERY_MS) return [];
    return [`too many connections (the most is ${this.#most})`];
  }

  #drop(): void {
    const now = performance.now();
    this.count();
    this.#dropped++;
    this.#droppedAt = now;
    if (now - this.#toldAt < TELL_EVERY_MS) return;
    this.logger.error(
      { dropped: this.#dropped, most: this.#most },
      'too many connections: new ones are closed',
    );
    this.#toldAt = now;
    this.#dropped = 0;
  }
}
