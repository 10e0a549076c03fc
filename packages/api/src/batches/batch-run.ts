/**
 * One run of a batch, by the process that holds its lease:
 *
 *   check the file ─► feed lines while there is room ─► store what comes back ─► make the files
 *
 * Redis records a line before its request is queued (claim), and forgets the line when its outcome is in the store
 * (acknowledge). The step that settles the request also keeps the outcome in Redis. So a process may die at any point: the
 * next one stores the outcomes that are in Redis, looks after the recorded lines, and continues after the last of them.
 * Any failure ends the run. The next run finds out how far the batch came.
 */
import type { FileLine } from '@sluice/shared/json/read-lines';
import type { Logger } from '@sluice/shared/process/logger';
import type { BatchLeases } from './batch-lease.js';
import {
  type Batch,
  type BatchRecord,
  type BatchState,
  type BatchStatus,
  type EndReason,
  INPUT_FILE_MISSING,
} from './batch-record.js';
import type { BatchStore } from './batch-store.js';
import { checkLines } from './check-lines.js';
import { finishBatch } from './finish-batch.js';
import { HandOver, type HandOverParts } from './hand-over.js';
import { HandedLines } from './handed-lines.js';
import { LineCollector } from './line-collector.js';
import { LineFeeder, type LineFeederParts, lineLimitsOf, type NextLine } from './line-feeder.js';
import { LineResults, type LineResultsParts } from './line-results.js';
import { LinesUnderWay } from './lines-under-way.js';
import { planHandOver } from './plan-hand-over.js';

const LOOK_EVERY_MS = 250;
/** How long a batch that is at its provider gives up its place at most. */
const LONGEST_REST_MS = 5_000;
/** When the batch ends, running requests get this long to end. */
const LONGEST_END_MS = 10 * 60_000;
/** Nobody wants the check of the input file any more. */
class NotWanted extends Error {}

/** A provider gets this long to end its own batch. */
const LONGEST_PROVIDER_END_MS = 30 * 60_000;

export interface BatchParts extends HandOverParts, Omit<LineFeederParts, keyof HandOverParts> {
  store: BatchStore;
  leases: BatchLeases;
  /** Whether the workspace lives in this shard. Absent: there is no other. */
  isHere?: ((workspace: string) => Promise<boolean>) | undefined;
  providerPollMs: number;
  logger: Logger;
  metrics: LineResultsParts['metrics'];
}

export class BatchRun {
  readonly #record: BatchRecord;
  readonly #lines = new LinesUnderWay();
  readonly #results: LineResults;
  readonly #feeder: LineFeeder;
  readonly #handOver: HandOver;
  readonly #collector: LineCollector;
  #stopped = false;
  #restMs = 0;
  #wake: () => void = () => {};

  constructor(
    private readonly parts: BatchParts,
    { record, state }: Batch,
    private readonly token: string,
  ) {
    this.#record = record;
    this.#results = new LineResults(parts, record, token);
    this.#feeder = new LineFeeder(parts, record, token, this.#lines, this.#results, () => this.#wake());
    this.#feeder.waitsFor = state.waitsFor;
    const handed = new HandedLines(this.#results, lineLimitsOf(parts, record));
    this.#handOver = new HandOver(parts, record, token, handed, state.handedOver);
    this.#collector = new LineCollector(parts, record, token, {
      lines: this.#lines,
      results: this.#results,
      feeder: this.#feeder,
      handOver: this.#handOver,
    });
  }

  /** Runs until the batch is over or rests, the lease is lost, or `stop` is called. */
  async run(): Promise<void> {
    for (;;) {
      const batch = await this.parts.store.find(this.#record.id);
      if (!batch || this.#stopped || this.#restMs > 0) return;
      switch (batch.state.status) {
        case 'validating':
          await this.#check(batch);
          break;
        case 'in_progress':
          await this.#work(batch.state).catch((error) => this.#endWithoutFile(batch.state, error));
          break;
        case 'cancelling':
          await this.#end(batch.state, 'cancelling');
          break;
        case 'finalizing':
          await finishBatch(this.parts, batch, this.token);
          return;
        default:
          return;
      }
    }
  }

  /** The provider has everything, so the run has ended for now. It goes on after this time. */
  get restMs(): number {
    return this.#restMs;
  }

  stop(): void {
    this.#stopped = true;
    this.#wake();
  }

  async #check({ state }: Batch): Promise<void> {
    const { inputObject, inputBytes } = this.#record;
    const bytes = this.#whileValidating(this.parts.files.sealed.read(inputObject, inputBytes));
    const checked = checkLines(bytes, lineLimitsOf(this.parts, this.#record));
    const result = await checked.catch(async (error: unknown) => {
      if (error instanceof NotWanted) return undefined;
      await this.#requireGone(error);
      return { total: 0, models: new Set<string>(), mistakes: [INPUT_FILE_MISSING] };
    });
    if (!result) return;
    const { total, mistakes, models } = result;
    if (mistakes.length > 0) {
      const now = this.parts.clock.now();
      const times = { ...state.times, failed: now };
      const change = { status: 'failed', times, errors: mistakes } as const;
      await this.parts.store.finish(this.#record, this.token, change, now);
    } else {
      const handedOver = await planHandOver(this.parts, this.#record, models);
      const isNew = await this.#become('validating', 'in_progress', state, {
        total,
        ...(handedOver ? { handedOver } : {}),
      });
      if (isNew) this.#handOver.follow(handedOver);
    }
  }

  /** The bytes of the input file, until the batch is cancelled or this run is stopped. Throws NotWanted then. */
  async *#whileValidating(bytes: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
    let lookedAt = performance.now();
    for await (const piece of bytes) {
      if (this.#stopped) throw new NotWanted();
      if (performance.now() - lookedAt > LOOK_EVERY_MS) {
        if ((await this.parts.store.statusOf(this.#record.id)) !== 'validating') throw new NotWanted();
        lookedAt = performance.now();
      }
      yield piece;
    }
  }

  async #work(state: BatchState): Promise<void> {
    await this.#begin();
    let next = this.#feeder.readFrom(state);
    let line = await next();
    let isOver = false;
    while (!this.#stopped) {
      // A batch that waits claims no lines, and would not notice that it was cancelled.
      if ((await this.parts.store.statusOf(this.#record.id)) !== 'in_progress') return;
      const reason = state.endReason ?? (await this.#reasonToEnd());
      if (reason) return this.#end({ ...state, endReason: reason }, 'in_progress');
      const isHandedOver = this.#handOver.isOn;
      const claimed = await (isHandedOver ? this.#feedProvider(line, next) : this.#feeder.feed(line, next));
      if (claimed === 'refused') return;
      if (claimed === 'one_by_one') {
        // Nothing of what was read has been claimed.
        if (line) next = this.#feeder.readFrom({ offset: line.offset, lines: line.number - 1 });
        line = await next();
        continue;
      }
      ({ line, isOver } = claimed);
      await this.#collector.lookAtProvider();
      await this.#collector.collect((isOver && this.#lines.inFlight === 0) || this.#handOver.isMerging);
      if (isOver && this.#lines.all.size === 0 && !this.#handOver.hasParts) {
        await this.#become('in_progress', 'finalizing', state);
        return;
      }
      if (this.#isAtProvider(isOver)) {
        this.#restMs = Math.min(this.parts.providerPollMs, LONGEST_REST_MS);
        return;
      }
      await this.#collector.lookAfter();
      if (this.#results.budgetSpent)
        return this.#end({ ...state, endReason: 'budget_exceeded' }, 'in_progress');
      await this.#wait();
    }
  }

  /** Another version removes the bytes of a deleted file, although a batch reads them. What is left cannot run then. */
  async #endWithoutFile(state: BatchState, error: unknown): Promise<void> {
    await this.#requireGone(error);
    return this.#end({ ...state, endReason: state.endReason ?? 'batch_cancelled' }, 'in_progress');
  }

  /** Throws the error, unless it says that the input file is gone. */
  async #requireGone(error: unknown): Promise<void> {
    if (!(await this.parts.files.wasRemoved(this.#record.inputObject, error))) throw error;
  }

  /** Reads what an earlier run has left. */
  async #begin(): Promise<void> {
    const recorded = await this.parts.lineStore.underWay(this.#record.id);
    this.#lines.load(recorded, (fed) => this.#handOver.owns(fed));
    await this.#collector.collect(true);
  }

  async #reasonToEnd(): Promise<EndReason | undefined> {
    const { clock, directory } = this.parts;
    const { workspace, workspaceCreated, expires } = this.#record;
    if (clock.now() >= expires) return 'batch_expired';
    const record = await directory.findWorkspace(workspace);
    return record?.created === workspaceCreated ? undefined : 'batch_cancelled';
  }

  /** Takes waiting lines off their queues, lets running ones end, and then makes the files. */
  async #end(state: BatchState, from: BatchStatus): Promise<void> {
    if (this.#lines.all.size === 0) await this.#begin();
    // The batch may give its place to others meanwhile. Its time to end does not begin again then.
    const since = state.times.cancelling ?? state.endingSince ?? this.parts.clock.now();
    if (from === 'in_progress') {
      const change = { endReason: state.endReason, endingSince: since };
      if (!(await this.parts.store.update(this.#record.id, this.token, from, change))) return;
    }
    const { hasParts } = this.#handOver;
    const latest = since + (hasParts ? LONGEST_PROVIDER_END_MS : LONGEST_END_MS);
    await this.#handOver.cancel();
    for (const requestId of this.#lines.all.keys()) this.parts.dispatcher.withdraw(requestId);
    while (!this.#stopped && (this.#lines.isUnfinished || this.#handOver.hasParts)) {
      await this.#collector.lookAtProvider();
      await this.#collector.collect(true);
      await this.#collector.leaveLost(latest);
      // Results that come in at the last moment are paid for.
      const more = this.#handOver.isMerging ? LONGEST_PROVIDER_END_MS : 0;
      if (this.parts.clock.now() >= latest + more) break;
      await this.#wait();
    }
    if (this.#stopped) return;
    // The provider may bill the lines that it still has.
    if (this.#handOver.hasParts) await this.#collector.lookAtProvider(true);
    await this.#become(from, 'finalizing', state);
  }

  /** Hands the next lines to the provider, if it has taken the last ones. */
  async #feedProvider(first: FileLine | undefined, next: NextLine) {
    const { parked } = this.#lines;
    if (parked.size > 0 && this.parts.clock.now() >= this.#feeder.pausedUntil)
      await this.#feeder.feedParked();
    if (!first || this.#handOver.isFull) return { line: first, isOver: first === undefined };
    const handed = await this.#handOver.next(first, next);
    if (typeof handed === 'string') return handed;
    for (const [requestId, fed] of handed.skipped) this.#lines.park(requestId, fed, 0);
    return { line: handed.line, isOver: handed.line === undefined };
  }

  /** Whether there is nothing to do until the provider has. */
  #isAtProvider(isOver: boolean): boolean {
    const { hasParts, isMerging, isOn, isFull } = this.#handOver;
    return hasParts && !isMerging && this.#lines.all.size === 0 && (isOver || (isOn && isFull));
  }

  async #become(
    from: BatchStatus,
    status: BatchStatus,
    state: BatchState,
    more: Partial<BatchState> = {},
  ): Promise<boolean> {
    const times = { ...state.times, [status]: this.parts.clock.now() };
    // The update is refused if the batch was cancelled meanwhile. The batch is read again then.
    return this.parts.store.update(this.#record.id, this.token, from, { status, times, ...more });
  }

  #wait(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, LOOK_EVERY_MS);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
