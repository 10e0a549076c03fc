/**
 * Limits the connections of a listener below the number of file descriptors. Without a free descriptor the system resets
 * connections unseen, and the process reaches neither Redis nor health checks.
 */
import type { Server } from 'node:http';
import type { Logger } from '@sluice/shared/process/logger';

const MAX_CONNECTIONS = 20_000;
/** The most descriptors that the process needs for itself: Redis, files, pipes. */
const OWN_DESCRIPTORS = 50;
/** The listener's share of the other descriptors. The rest is for health checks and the admin listener. */
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
    // Node closes connections above the limit and emits this event.
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
