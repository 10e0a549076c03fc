/**
 * One BullMQ worker for each provider's queue. They come and go with the configuration:
 *
 *   put ──► takes jobs ──retire──► takes jobs, which are not called but moved on ──nothing left for a while──► closed
 *                ▲                        │
 *                └──────────put───────────┘
 */
import type { Logger } from '@sluice/shared/process/logger';
import type { ChatQueue } from '@sluice/shared/queue/chat-queue';
import type { ChatWorker } from './chat-worker.js';
import { RecentError } from './recent-error.js';

/** An api process that does not know of the removal yet may still send jobs for this long. */
const LINGER_MS = 30_000;

const UNLIMITED = 1_000_000;
const AT_A_TIME = 64;

interface Taking {
  worker: ChatWorker;
  errors: RecentError;
  retiredAt?: number | undefined;
}

export class QueueWorkers {
  /** Provider → its worker. */
  readonly #taking = new Map<string, Taking>();
  #closed = false;

  constructor(
    private readonly create: (
      provider: string,
      concurrency: number,
      onError: (error: unknown) => void,
    ) => ChatWorker,
    private readonly queue: ChatQueue,
    private readonly logger: Logger,
  ) {}

  /** When this resolves, the provider's jobs are taken, `concurrency` of them at a time. */
  async put(provider: string, concurrency: number): Promise<void> {
    const known = this.#taking.get(provider);
    if (known) {
      known.retiredAt = undefined;
      known.worker.concurrency = concurrency;
      return;
    }
    const errors = new RecentError();
    const worker = this.create(provider, concurrency, (error) => errors.note(error));
    this.#taking.set(provider, { worker, errors });
    await worker.waitUntilReady();
    if (this.#closed) return;
    worker.run().catch((error) => this.logger.error({ provider, error: String(error) }, 'a queue stopped'));
  }

  /** From now on the provider's jobs make no calls. So they wait neither for each other nor for calls under way. */
  async retire(provider: string): Promise<void> {
    const taking = this.#taking.get(provider);
    if (!taking) return;
    taking.retiredAt = performance.now();
    await this.queue.of(provider).setGlobalConcurrency(UNLIMITED);
    if (taking.retiredAt !== undefined) taking.worker.concurrency = AT_A_TIME;
  }

  isRetired(provider: string): boolean {
    return this.#taking.get(provider)?.retiredAt !== undefined;
  }

  /** Closes the workers of removed providers that have nothing left to do. */
  async tidy(): Promise<void> {
    for (const [provider, taking] of this.#taking) {
      const { retiredAt, worker } = taking;
      if (retiredAt === undefined || performance.now() - retiredAt < LINGER_MS) continue;
      const { waiting, prioritized, active } = await this.queue.look(provider);
      if (waiting + prioritized + active > 0 || taking.retiredAt !== retiredAt) continue;
      this.#taking.delete(provider);
      await worker.close();
      this.logger.info({ provider }, 'the queue of a removed provider is empty and closed');
    }
  }

  /** Throws when jobs of a provider could not be taken lately. */
  async check(): Promise<void> {
    await Promise.all([...this.#taking.values()].map(({ errors }) => errors.check()));
  }

  get areOpen(): boolean {
    return [...this.#taking.values()].every(({ worker }) => worker.isOpen);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#taking.values()].map(({ worker }) => worker.close()));
  }
}
