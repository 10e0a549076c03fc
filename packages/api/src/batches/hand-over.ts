/**
 * Hands the lines of a batch to the provider's own batch API, in parts, and takes up what became of them (docs/adr/0025).
 * A worker does what lies between (shared/queue/provider-batches.ts). The file of the batch has everything about a line, so
 * while the provider has the lines, nothing in Redis grows with their number.
 */
import { type FileLine, readLines } from '@sluice/shared/json/read-lines';
import type { HandedBatch, HandedPart } from '@sluice/shared/queue/provider-batches';
import type { Files } from '../files/files.js';
import type { BatchRecord, HandedOver } from './batch-record.js';
import type { BatchStore } from './batch-store.js';
import { type GatherParts, gatherPart } from './gather-part.js';
import { type HandedLines, requestIdOf } from './handed-lines.js';
import type { FedLine, LineStore } from './line-store.js';
import { type SettleUnknownParts, settleUnknown } from './settle-unknown.js';

const RECORD_AT_ONCE = 500;
/** So many ids of the provider's batches are shown. */
const MOST_IDS = 20;
/** Longer than it takes to end the lines of a part. */
const NO_STEP_MS = 3_600_000;

export interface HandOverParts extends GatherParts, Pick<SettleUnknownParts, 'queue'> {
  store: BatchStore;
  lineStore: LineStore;
  files: Files;
}

/** The result of a look at the parts: lines that are recorded again, and parts that are over. */
export interface Looked {
  recorded: Map<string, FedLine>;
  over: string[];
}

export class HandOver {
  /** The part whose lines wait in Redis for their provider. There is one at a time. */
  #waiting: string | undefined;
  #isMerging = false;

  constructor(
    private readonly parts: HandOverParts,
    private readonly record: BatchRecord,
    private readonly token: string,
    private readonly lines: HandedLines,
    private plan: HandedOver | undefined,
  ) {
    this.#waiting = plan?.parts.at(-1);
  }

  /** The batch has been checked, and this is how it goes on. */
  follow(plan: HandedOver | undefined): void {
    this.plan = plan;
  }

  /** Whether new lines go to the provider. */
  get isOn(): boolean {
    return this.plan !== undefined && this.plan.oneByOne === undefined;
  }

  get hasParts(): boolean {
    return (this.plan?.parts.length ?? 0) > 0;
  }

  /** Results come in now. */
  get isMerging(): boolean {
    return this.#isMerging;
  }

  /** No more can be handed over before a worker has taken the last part. */
  get isFull(): boolean {
    return this.#waiting !== undefined;
  }

  owns({ at }: FedLine): boolean {
    return at !== undefined && this.plan?.parts.includes(at) === true;
  }

  /** Makes a part of the next lines. Returns the first line that is not in it, and the lines of it that run one by one. */
  async next(
    first: FileLine,
    next: () => Promise<FileLine | undefined>,
  ): Promise<'refused' | 'one_by_one' | { line: FileLine | undefined; skipped: Map<string, FedLine> }> {
    const { plan } = this;
    if (!plan) return 'one_by_one';
    const { handed, budget, clock } = this.parts;
    const gathered = await gatherPart(this.parts, this.record, this.lines, plan, first, next);
    if (gathered === 'changed') return this.#stop('The route was changed.');
    const { line, last, part, skipped } = gathered;
    // Redis has no room now.
    if (!last) return { line, skipped };
    if (part && !(await budget.reserve(part))) {
      await handed.dropLines(part.id);
      return this.#stop('The budget of the workspace does not cover the lines at once.');
    }
    const planned = part
      ? {
          ...plan,
          lines: plan.lines + part.lines,
          parts: [...plan.parts, part.id],
          since: plan.since ?? clock.now(),
        }
      : plan;
    const at = { offset: last.end, lines: last.number };
    if (!(await this.parts.lineStore.handOver(this.record.id, this.token, at, skipped, planned, part))) {
      if (part) await handed.dropLines(part.id);
      if (part) await budget.release(part);
      return 'refused';
    }
    this.plan = planned;
    if (part) this.#waiting = part.id;
    return { line, skipped };
  }

  /** Takes up what workers have done. `isOver`: nothing more is expected of the provider, so every part is taken back. */
  async look(isOver = false): Promise<Looked> {
    const looked: Looked = { recorded: new Map(), over: [] };
    if (!this.plan) return looked;
    const { handed, clock } = this.parts;
    const plan = { ...this.plan, ended: 0 };
    this.#isMerging = false;
    for (const id of plan.parts) {
      const found = await handed.find(id);
      const { status, ended, reason } = found?.state ?? { status: 'merged', ended: 0, reason: '' };
      const isTaken = status !== 'waiting' && status !== 'creating';
      if (id === this.#waiting && isTaken) this.#waiting = undefined;
      if (found) plan.ids = withId(plan.ids, found);
      const isBack = isOver || status === 'ended' || status === 'refused' || status === 'merged';
      const isRecorded = status === 'merging' || status === 'merged';
      if (found && isBack && !isRecorded)
        for (const [requestId, line] of await this.#recordLines(found.part))
          looked.recorded.set(requestId, line);
      if (found && isOver && mayBeBilled(found)) await this.#giveUp(found);
      if (status === 'ended' && !isOver) await handed.change(id, 'ended', { status: 'merging' }, clock.now());
      if ((status === 'ended' || status === 'merging') && !isOver) this.#isMerging = true;
      else if (isBack) {
        if (status === 'refused') plan.oneByOne ??= reason;
        if (found) await handed.releaseBudget(found.part);
        looked.over.push(id);
        plan.endedEarlier += ended;
        continue;
      }
      plan.ended += ended;
    }
    plan.ended += plan.endedEarlier;
    plan.parts = plan.parts.filter((id) => !looked.over.includes(id));
    // A part that is gone is over, so a process that dies between these steps leaves nothing behind.
    for (const id of looked.over) await handed.remove(id);
    await this.#write(plan);
    return looked;
  }

  /** The batch ends: the provider is asked to stop. What it has answered until then is taken up. */
  async cancel(): Promise<void> {
    const { handed, clock } = this.parts;
    for (const id of this.plan?.parts ?? []) await handed.change(id, '', { isCancelled: true }, clock.now());
  }

  async #write(plan: HandedOver): Promise<void> {
    const hasChanged = JSON.stringify(plan) !== JSON.stringify(this.plan);
    this.plan = plan;
    if (!hasChanged) return;
    if (!(await this.parts.store.update(this.record.id, this.token, '', { handedOver: plan })))
      throw new Error('the lease of the batch is lost');
  }

  async #stop(why: string): Promise<'one_by_one' | 'refused'> {
    if (this.plan) this.plan = { ...this.plan, oneByOne: why };
    const change = { handedOver: this.plan };
    return (await this.parts.store.update(this.record.id, this.token, '', change)) ? 'one_by_one' : 'refused';
  }

  /** The lines are recorded. So the part is as one whose results come in, and a process that dies here is followed by another. */
  async #giveUp(handed: HandedBatch): Promise<void> {
    const { lineStore, clock } = this.parts;
    const { id } = handed.part;
    await this.parts.handed.change(id, '', { status: 'merging' }, clock.now() + NO_STEP_MS);
    const open = await lineStore.underWay(this.record.id);
    const lines = this.#linesOf(handed.part);
    await settleUnknown(this.parts, this.record, this.lines.limits, handed, lines, open);
  }

  /** The lines of a part, from the file. When the file was removed, their numbers are all that is known of them. */
  async *#linesOf({ offset, end, before, lines, skipped }: HandedPart): AsyncIterable<FileLine> {
    const { inputObject, inputBytes } = this.record;
    const { files } = this.parts;
    const bytes = files.sealed.read(inputObject, inputBytes, offset);
    let number = before;
    try {
      for await (const line of readLines(bytes, this.lines.limits.bytes, { offset, lines: before })) {
        if (line.offset >= end) return;
        yield line;
        number = line.number;
      }
    } catch (error) {
      if (!(await files.wasRemoved(inputObject, error))) throw error;
      while (number < before + lines + skipped.length)
        yield { number: ++number, offset, end: offset, text: undefined };
    }
  }

  /** Records the lines of a part again. They have the same ids as when they were handed over. */
  async #recordLines(part: HandedPart): Promise<Map<string, FedLine>> {
    const { id, skipped } = part;
    const recorded = new Map<string, FedLine>();
    let group = new Map<string, FedLine>();
    const write = async () => {
      if (group.size === 0) return;
      if (!(await this.parts.lineStore.noteLines(this.record.id, this.token, group)))
        throw new Error('the lease of the batch is lost');
      for (const [requestId, line] of group) recorded.set(requestId, line);
      group = new Map();
    };
    for await (const line of this.#linesOf(part)) {
      if (skipped.includes(line.number)) continue;
      const requestId = requestIdOf(this.record.id, line.number);
      group.set(requestId, { ...this.lines.toFed(line, requestId), at: id });
      if (group.size >= RECORD_AT_ONCE) await write();
    }
    await write();
    return recorded;
  }
}

/** The provider has the part, or nobody knows whether it has. */
function mayBeBilled({ state: { status, candidates } }: HandedBatch): boolean {
  if (status === 'waiting' || status === 'refused' || status === 'merged') return false;
  return status === 'creating' || candidates.length > 0;
}

function withId(ids: string[], { state: { candidates, isCertain } }: HandedBatch): string[] {
  const [id] = candidates;
  if (!isCertain || id === undefined || ids.includes(id)) return ids;
  return [...ids, id].slice(-MOST_IDS);
}
