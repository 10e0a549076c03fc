/**
 * Runs the batches whose lease this process gets. Every api process has one; a batch runs in one of them at a time. Places
 * are shared like a queue's (docs/adr/0016): a workspace that has more of them than another gives one up for it, so that
 * batches that only wait, for a budget or a provider, do not keep those of others from running. When more workspaces have
 * batches than there are places, they take turns.
 */
import type { Logger } from '@sluice/shared/process/logger';
import { isRedisAway } from '@sluice/shared/redis/away';
import { makeRequestId } from '@sluice/shared/request-id';
import { type Batch, isFinal } from './batch-record.js';
import { type BatchParts, BatchRun } from './batch-run.js';

const RENEW_EVERY_MS = 3_000;
/** The most batches of one process, because each has a few lines in memory. Others run elsewhere, or wait. */
const MOST_RUNS = 8;

/** A batch keeps its place this long before it may have to give it to a workspace that has none. */
const KEEP_PLACE_MS = 5_000;
const REMEMBER_PLACES_MS = 600_000;

interface Running {
  workspace: string;
  began: number;
  run: BatchRun;
  ended: Promise<void>;
  /** It has given up its place. */
  isLeaving: boolean;
}

export class BatchRunner {
  readonly #running = new Map<string, Running>();
  /** Batch that is under way → its workspace, which never changes. */
  #workspaces = new Map<string, string>();
  /** When a workspace last got a place. */
  #placedAt = new Map<string, number>();
  /** Batches that are at their provider → until when nothing is to be done. */
  readonly #resting = new Map<string, number>();
  #open = true;

  constructor(
    private readonly parts: BatchParts,
    private readonly logger: Logger,
  ) {}

  /** Starts the batches that nobody runs. */
  async look(): Promise<void> {
    if (!this.#open) return;
    const { store, leases, isHere } = this.parts;
    if (isHere) await this.#leaveMoving(isHere);
    const now = performance.now();
    for (const [id, until] of this.#resting) if (until <= now) this.#resting.delete(id);
    const isFree = (id: string) => !this.#running.has(id) && !this.#resting.has(id);
    const left = new Set((await store.active()).filter(isFree));
    this.#workspaces = new Map([...this.#workspaces].filter(([id]) => left.has(id)));
    const forgotten = performance.now() - REMEMBER_PLACES_MS;
    this.#placedAt = new Map([...this.#placedAt].filter(([, at]) => at > forgotten));
    while (left.size > 0) {
      const [id, workspace] = await this.#nextOf(left);
      left.delete(id);
      if (isHere && !(await isHere(workspace))) continue;
      const isFull = this.#placesTaken() >= MOST_RUNS;
      const crowding = isFull
        ? (this.#mostCrowding(workspace) ?? this.#longestRunning(workspace))
        : undefined;
      if (!this.#open) return;
      // The others have as many places already, or more: nobody gives one up for them either.
      if (isFull && !crowding) return;
      const token = makeRequestId();
      if (!(await leases.lease(id, token))) continue;
      const batch = await store.find(id);
      if (!batch || isFinal(batch.state.status)) {
        await store.forgetActive(id);
        await leases.release(id, token);
        continue;
      }
      if (crowding) {
        crowding.isLeaving = true;
        crowding.run.stop();
      }
      this.#start(batch, token);
    }
  }

  /** Stops the batches of workspaces that move. They go on in the other shard. */
  async #leaveMoving(isHere: (workspace: string) => Promise<boolean>): Promise<void> {
    for (const running of this.#running.values()) {
      if (await isHere(running.workspace)) continue;
      running.isLeaving = true;
      running.run.stop();
    }
  }

  /** The oldest batch of the workspace with the fewest places. Among several, it is the one that got its last place longest ago. */
  async #nextOf(ids: ReadonlySet<string>): Promise<[id: string, workspace: string]> {
    let next: [string, string] = ['', ''];
    let fewest = Number.POSITIVE_INFINITY;
    let longestAgo = Number.POSITIVE_INFINITY;
    for (const id of ids) {
      const known = this.#workspaces.get(id);
      const workspace = known ?? (await this.parts.store.find(id))?.record.workspace ?? '';
      this.#workspaces.set(id, workspace);
      const places = this.#placesTaken(workspace);
      const placedAt = this.#placedAt.get(workspace) ?? 0;
      if (places > fewest || (places === fewest && placedAt >= longestAgo)) continue;
      [next, fewest, longestAgo] = [[id, workspace], places, placedAt];
    }
    return next;
  }

  #placesTaken(workspace?: string): number {
    let taken = 0;
    for (const running of this.#running.values())
      if (!running.isLeaving && (workspace === undefined || running.workspace === workspace)) taken++;
    return taken;
  }

  /** The newest run of the workspace with the most places, if that would still have as many as `workspace` with one more. */
  #mostCrowding(workspace: string): Running | undefined {
    const staying = [...this.#running.values()].filter(({ isLeaving }) => !isLeaving);
    const [most] = staying.sort((a, b) => this.#placesTaken(b.workspace) - this.#placesTaken(a.workspace));
    if (!most || this.#placesTaken(most.workspace) < this.#placesTaken(workspace) + 2) return undefined;
    return staying.findLast((running) => running.workspace === most.workspace);
  }

  /** The run that has had its place for longest, if `workspace` has no place. */
  #longestRunning(workspace: string): Running | undefined {
    if (this.#placesTaken(workspace) > 0) return undefined;
    const until = performance.now() - KEEP_PLACE_MS;
    const over = [...this.#running.values()].filter(({ isLeaving, began }) => !isLeaving && began < until);
    return over.sort((a, b) => a.began - b.began)[0];
  }

  /** Releases all batches, and another process continues them. Lines that are under way end by themselves. */
  async close(): Promise<void> {
    this.#open = false;
    for (const { run } of this.#running.values()) run.stop();
    await Promise.allSettled([...this.#running.values()].map(({ ended }) => ended));
  }

  #start(batch: Batch, token: string): void {
    const { leases } = this.parts;
    const { id, workspace } = batch.record;
    const run = new BatchRun(this.parts, batch, token);
    const renew = setInterval(() => {
      leases.renew(id, token).then(
        (holds) => {
          if (!holds) run.stop();
        },
        // One failed renewal does no harm, because the lease lasts for several.
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
      .then(() => leases.release(id, token))
      .catch(() => {})
      .finally(() => {
        this.#running.delete(id);
        if (run.restMs > 0) this.#resting.set(id, performance.now() + run.restMs);
      });
    const began = performance.now();
    this.#placedAt.set(workspace, began);
    this.#running.set(id, { workspace, began, run, ended, isLeaving: false });
  }
}
