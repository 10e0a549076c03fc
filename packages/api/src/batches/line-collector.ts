/**
 * Takes up what became of the lines that are under way: their outcomes, lines that were lost, and those at the provider. It
 * moves lines within LinesUnderWay, which belongs to the run. Only the run calls it, one step after the other.
 */
import type { Clock } from '@sluice/shared/redis/clock';
import type { BatchRecord } from './batch-record.js';
import type { BatchStore } from './batch-store.js';
import type { HandOver } from './hand-over.js';
import type { LineFeeder } from './line-feeder.js';
import type { LineResults } from './line-results.js';
import type { LineStore } from './line-store.js';
import type { LinesUnderWay } from './lines-under-way.js';

/** How often the run looks after lines whose state it does not know. */
const LOOK_AFTER_EVERY_MS = 2_000;

export interface LineCollectorParts {
  store: BatchStore;
  lineStore: LineStore;
  clock: Clock;
}

/** The parts of a run. */
export interface RunParts {
  lines: LinesUnderWay;
  results: LineResults;
  feeder: LineFeeder;
  handOver: HandOver;
}

export class LineCollector {
  #lookedAfter = 0;

  constructor(
    private readonly parts: LineCollectorParts,
    private readonly record: BatchRecord,
    private readonly token: string,
    private readonly run: RunParts,
  ) {}

  /** Stores the outcomes that are in Redis, if it is time for that. */
  async collect(isUrgent: boolean): Promise<void> {
    const { lines, results, feeder } = this.run;
    if (!results.isDue(isUrgent)) return;
    const { done, parked, pauseMs, waitsFor } = await results.store(lines.all);
    for (const requestId of done) lines.forget(requestId);
    const now = this.parts.clock.now();
    for (const [requestId, fed] of parked) lines.park(requestId, fed, fed.until);
    if (pauseMs > 0) feeder.pausedUntil = now + pauseMs;
    if (waitsFor !== null && waitsFor !== feeder.waitsFor) {
      feeder.waitsFor = waitsFor;
      await this.parts.store.update(this.record.id, this.token, '', { waitsFor });
    }
  }

  /** Sends a line again, under the same id, if it is in no queue and was not settled, unless its route forbids that. */
  async lookAfter(): Promise<void> {
    const { lines, results, feeder } = this.run;
    if (lines.unknown.size === 0 || performance.now() - this.#lookedAfter < LOOK_AFTER_EVERY_MS) return;
    this.#lookedAfter = performance.now();
    for (const requestId of [...lines.unknown]) {
      const fed = lines.all.get(requestId);
      if (fed && (await this.parts.lineStore.isUnderWay(requestId, fed))) continue;
      lines.unknown.delete(requestId);
      if (!fed) continue;
      if (fed.onCrash === 'fail') results.addLost(requestId, fed);
      else await feeder.sendAgain(requestId, fed);
    }
    // Lines that an earlier process queued do not tell this process when they end, so the results are always read.
    results.came();
  }

  /** The batch ends: a line that is in no queue is sent no more. */
  async leaveLost(until: number): Promise<void> {
    const { lines } = this.run;
    for (const requestId of [...lines.unknown]) {
      const fed = lines.all.get(requestId);
      if (fed && (await this.parts.lineStore.isUnderWay(requestId, fed))) continue;
      lines.unknown.delete(requestId);
      if (fed) lines.parked.set(requestId, until);
    }
  }

  /** Takes up what became of the parts at the provider. Lines that it has not answered run one by one. */
  async lookAtProvider(isOver = false): Promise<void> {
    const { lines, handOver } = this.run;
    if (!handOver.hasParts) return;
    const { recorded, over } = await handOver.look(isOver);
    for (const [requestId, fed] of recorded) lines.hand(requestId, fed);
    if (over.length === 0) return;
    // Everything that was settled is stored first. The rest was not answered.
    await this.collect(true);
    for (const requestId of [...lines.handed]) {
      const fed = lines.all.get(requestId);
      if (fed && handOver.owns(fed)) continue;
      lines.handed.delete(requestId);
      if (fed) lines.parked.set(requestId, 0);
    }
  }
}
