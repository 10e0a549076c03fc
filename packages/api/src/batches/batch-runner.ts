/** Runs the batches whose lease this process gets. Every api process has one; a batch runs in one of them at a time. */
import type { Logger } from '@sluice/shared/process/logger';
import { isRedisAway } from '@sluice/shared/redis/away';
import { makeRequestId } from '@sluice/shared/request-id';
import { isFinal } from './batch-record.js';
import { type BatchParts, BatchRun } from './batch-run.js';

export const LOOK_FOR_BATCHES_EVERY_MS = 1_000;
const RENEW_EVERY_MS = 3_000;
/** Each has a few lines in memory. The others run elsewhere, or wait. */
const MOST_RUNS = 8;

interface Running {
  token: string;
  run: BatchRun;
  ended: Promise<void>;
}

export class BatchRunner {
  readonly #running = new Map<string, Running>();
  #open = true;

  constructor(
    private readonly parts: BatchParts,
    private readonly logger: Logger,
  ) {}

  /** Takes up the batches that nobody runs. */
  async look(): Promise<void> {
    if (!this.#open) return;
    const { store } = this.parts;
    for (const id of await store.active()) {
      if (!this.#open || this.#running.size >= MOST_RUNS) return;
      if (this.#running.has(id)) continue;
      const token = makeRequestId();
      if (!(await store.lease(id, token))) continue;
      const batch = await store.find(id);
      if (!batch || isFinal(batch.state.status)) {
        await store.forgetActive(id);
        await store.release(id, token);
        continue;
      }
      this.#start(id, token, new BatchRun(this.parts, batch, token));
    }
  }

  /** Lets go of all batches; another process goes on with them. Their lines that are under way end where they are. */
  async close(): Promise<void> {
    this.#open = false;
    for (const { run } of this.#running.values()) run.stop();
    await Promise.allSettled([...this.#running.values()].map(({ ended }) => ended));
  }

  #start(id: string, token: string, run: BatchRun): void {
    const { store } = this.parts;
    const renew = setInterval(() => {
      store.renew(id, token).then(
        (holds) => {
          if (!holds) run.stop();
        },
        // The lease lasts for several renewals.
        () => {},
      );
    }, RENEW_EVERY_MS);
    const ended = run
      .run()
      .catch((error) => {
        if (!isRedisAway(error))
          this.logger.warn({ batch: id, error: String(error) }, 'a batch was interrupted');
      })
      .finally(() => clearInterval(renew))
      .then(() => store.release(id, token))
      .catch(() => {})
      .finally(() => {
        this.#running.delete(id);
      });
    this.#running.set(id, { token, run, ended });
  }
}
