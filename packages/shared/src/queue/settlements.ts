/**
 * The end of a request, and its moves between entries. Each step is one script: it happens whole or not at all.
 *
 * A request is in exactly one job at a time: `<request id>-<entry>` on the queue of that entry's provider. Settling takes
 * the job off its queue and leaves a mark under the request's id, which outlives the job. A job that runs again after a
 * crash, a worker that wakes up late and a job that was added again find the mark, or their job gone, and change nothing.
 */
import { type ChatJob, providerOf } from './job.js';
import type { Queues } from './queues.js';
import type { KeyTrouble } from './rates.js';
import type { MoveResult, PassOnResult, SettleResult, WithdrawResult } from './scripts.js';
import type { NextEntry, Settlement, Settler } from './settle.js';

export class Settlements {
  constructor(private readonly queues: Queues) {}

  /** For the api. A worker's settlement is written by the script that ends its job. */
  settle(settlement: Settlement, by: Settler): Promise<SettleResult> {
    return this.queues.backendOf(settlement.job).settle(settlement, by);
  }

  /**
   * For workers. Moves the request to its next entry. When `most` jobs wait there already, it returns their number. `token`
   * identifies the worker's run of the job.
   */
  move(job: ChatJob, next: NextEntry, most: number, token: string, used?: string): Promise<MoveResult> {
    const moved = { ...job, ...next };
    const other = this.queues.backendOf(moved);
    return this.queues.backendOf(job).move(job, moved, next, other, most, token, used);
  }

  /** For workers. Counts the start of a job that is about to be called. False when this run has lost the job. */
  begin(job: ChatJob, lock: string): Promise<boolean> {
    return this.queues.backendOf(job).begin(job, lock);
  }

  /** For workers. Returns another key of the provider's pool, or ''. */
  switchKey(job: ChatJob, lock: string, key: string, closedMs: number, why: KeyTrouble): Promise<string> {
    return this.queues.backendOf(job).switchKey(job, lock, key, closedMs, why);
  }

  /** For workers. Reserves another call. Returns 0, or for how long it would have to wait. */
  reserveAgain(job: ChatJob, lock: string, used: string): Promise<number> {
    return this.queues.backendOf(job).reserveAgain(job, lock, used);
  }

  /**
   * For the api. Takes a waiting job off its queue. The api then decides what happens to the request. `died`: how many workers
   * have died with the job, as far as the api knows.
   */
  withdraw(job: ChatJob, died = 0): Promise<WithdrawResult> {
    return this.queues.backendOf(job).withdraw(job, died);
  }

  /**
   * For the api. Moves a waiting request to its next entry. Until the move the job stays where it is, and a worker may take it.
   * `most` and `died`: as above.
   */
  passOn(job: ChatJob, next: NextEntry, most: number, died = 0): Promise<PassOnResult> {
    const moved = { ...job, ...next };
    const other = this.queues.backendOf(moved);
    return this.queues.backendOf(job).passOn(job, moved, next, other, most, died);
  }

  /** For the api. Returns the jobs that Redis does not have. */
  async missing(jobs: readonly ChatJob[]): Promise<ChatJob[]> {
    const byProvider = new Map<string, ChatJob[]>();
    for (const job of jobs) {
      const provider = providerOf(job);
      byProvider.set(provider, [...(byProvider.get(provider) ?? []), job]);
    }
    const missing = await Promise.all(
      [...byProvider.values()].map(async (some) =>
        some[0] ? this.queues.backendOf(some[0]).missing(some) : [],
      ),
    );
    return missing.flat();
  }
}
