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
import type { RequestLimits } from '@sluice/shared/config/types';
import { GatewayError } from '@sluice/shared/errors';
import { type FileLine, readLines } from '@sluice/shared/json/read-lines';
import type { Logger } from '@sluice/shared/process/logger';
import { makeRequestId } from '@sluice/shared/request-id';
import type { Dispatcher } from '../chat/dispatcher.js';
import type { Files } from '../files/files.js';
import type { Batch, BatchRecord, BatchState, BatchStatus, EndReason, WaitReason } from './batch-record.js';
import type { BatchStore, FedLine } from './batch-store.js';
import { checkLines } from './check-lines.js';
import { finishBatch } from './finish-batch.js';
import { HandOver, type HandOverParts } from './hand-over.js';
import { HandedLines } from './handed-lines.js';
import { LineResults, type LineResultsParts } from './line-results.js';
import { isMistake, parseLine } from './parse-line.js';
import { planHandOver } from './plan-hand-over.js';
import type { ProviderRoom } from './provider-room.js';
import { prepareLine, type ReadyLine, toJob } from './send-line.js';

/** The most bytes of a batch's requests that are in memory and in Redis at a time. The first request always fits. */
const MOST_BYTES = 8 * 1024 * 1024;
const LOOK_EVERY_MS = 250;
/** How long a batch that is at its provider gives up its place at most. */
const LONGEST_REST_MS = 5_000;
/** How often the run looks after lines whose state it does not know. */
const LOOK_AFTER_EVERY_MS = 2_000;
/** When the batch ends, running requests get this long to end. */
const LONGEST_END_MS = 10 * 60_000;
/** A provider gets this long to end its own batch. */
const LONGEST_PROVIDER_END_MS = 30 * 60_000;
/** The bytes of a line beside its body. */
const LINE_BYTES = 4_096;

export interface BatchParts extends HandOverParts {
  store: BatchStore;
  files: Files;
  dispatcher: Pick<Dispatcher, 'dispatch' | 'withdraw'>;
  room: ProviderRoom;
  hasRoom(bytes: number): boolean;
  providerPollMs: number;
  linesInFlight: number;
  maxBodyBytes: number;
  logger: Logger;
  metrics: LineResultsParts['metrics'];
}

function placesOf({ resolved }: ReadyLine): Pick<FedLine, 'providers' | 'onCrash'> {
  return { providers: resolved.chain.map(({ provider }) => provider), onCrash: resolved.onCrash };
}

export class BatchRun {
  readonly #record: BatchRecord;
  readonly #results: LineResults;
  /** The lines that Redis has recorded. */
  #lines = new Map<string, FedLine>();
  /** The lines that wait for another try → until when. */
  readonly #parked = new Map<string, number>();
  /** Those that have ended, and whose outcome is not stored yet. */
  readonly #ended = new Set<string>();
  /** The lines whose state this run does not know. */
  readonly #unknown = new Set<string>();
  readonly #bytes = new Map<string, number>();
  #pausedUntil = 0;
  #waitsFor: WaitReason | undefined;
  #lookedAfter = 0;
  #stopped = false;
  #restMs = 0;
  readonly #handOver: HandOver;
  /** The lines whose results the provider's batch brings. */
  readonly #handed = new Set<string>();
  #wake: () => void = () => {};

  constructor(
    private readonly parts: BatchParts,
    { record, state }: Batch,
    private readonly token: string,
  ) {
    this.#record = record;
    this.#waitsFor = state.waitsFor;
    this.#results = new LineResults(parts, record, token);
    const lines = new HandedLines(this.#results, this.#limits);
    this.#handOver = new HandOver(parts, record, token, lines, state.handedOver);
  }

  /** Runs until the batch is over, the lease is lost, or `stop` is called. */
  async run(): Promise<void> {
    for (;;) {
      const batch = await this.parts.store.find(this.#record.id);
      if (!batch || this.#stopped) return;
      switch (batch.state.status) {
        case 'validating':
          await this.#check(batch);
          break;
        case 'in_progress':
          await this.#work(batch.state);
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

  get #limits(): RequestLimits & { bytes: number } {
    return { ...this.parts.limits, bytes: this.parts.maxBodyBytes + LINE_BYTES };
  }

  async #check({ state }: Batch): Promise<void> {
    const { inputObject, inputBytes } = this.#record;
    const bytes = this.parts.files.sealed.read(inputObject, inputBytes);
    const { total, mistakes, models } = await checkLines(bytes, this.#limits);
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

  async #work(state: BatchState): Promise<void> {
    await this.#begin();
    let next = this.#readFrom(state);
    let line = await next();
    let isOver = false;
    while (!this.#stopped) {
      // A batch that waits claims no lines, and would not notice that it was cancelled.
      if ((await this.parts.store.statusOf(this.#record.id)) !== 'in_progress') return;
      const reason = state.endReason ?? (await this.#reasonToEnd());
      if (reason) return this.#end({ ...state, endReason: reason }, 'in_progress');
      const claimed = await (this.#handOver.isOn ? this.#feedProvider(line, next) : this.#feed(line, next));
      if (claimed === 'refused') return;
      if (claimed === 'one_by_one') {
        // Nothing of what was read has been claimed.
        if (line) next = this.#readFrom({ offset: line.offset, lines: line.number - 1 });
        line = await next();
        continue;
      }
      ({ line, isOver } = claimed);
      await this.#lookAtProvider();
      await this.#collect((isOver && this.#inFlight === 0) || this.#handOver.isMerging);
      if (isOver && this.#lines.size === 0 && !this.#handOver.hasParts) {
        await this.#become('in_progress', 'finalizing', state);
        return;
      }
      if (this.#isAtProvider(isOver)) {
        this.#restMs = Math.min(this.parts.providerPollMs, LONGEST_REST_MS);
        return;
      }
      await this.#lookAfter();
      if (this.#results.budgetSpent)
        return this.#end({ ...state, endReason: 'budget_exceeded' }, 'in_progress');
      await this.#wait();
    }
  }

  /** Reads what an earlier run has left. */
  async #begin(): Promise<void> {
    this.#lines = await this.parts.store.lines(this.#record.id);
    for (const [requestId, fed] of this.#lines) {
      const { until, providers } = fed;
      if (this.#handOver.owns(fed)) this.#handed.add(requestId);
      else if (fed.at !== undefined) this.#parked.set(requestId, 0);
      else if (until !== undefined && providers.length === 0) this.#parked.set(requestId, until);
      else this.#unknown.add(requestId);
    }
    await this.#collect(true);
  }

  #readFrom({ offset, lines }: Pick<BatchState, 'offset' | 'lines'>): () => Promise<FileLine | undefined> {
    const { inputObject, inputBytes } = this.#record;
    const bytes = this.parts.files.sealed.read(inputObject, inputBytes, offset);
    const iterator = readLines(bytes, this.#limits.bytes, { offset, lines })[Symbol.asyncIterator]();
    return async () => {
      const { done, value } = await iterator.next();
      return done ? undefined : value;
    };
  }

  async #reasonToEnd(): Promise<EndReason | undefined> {
    const { clock, directory } = this.parts;
    const { workspace, workspaceCreated, expires } = this.#record;
    if (clock.now() >= expires) return 'batch_expired';
    const record = await directory.findWorkspace(workspace);
    return record?.created === workspaceCreated ? undefined : 'batch_cancelled';
  }

  get #inFlight(): number {
    return this.#lines.size - this.#parked.size - this.#ended.size - this.#handed.size;
  }

  /** Queues lines that are due again, then new lines. Returns the first line that had no room. */
  async #feed(
    first: FileLine | undefined,
    next: () => Promise<FileLine | undefined>,
  ): Promise<'refused' | { line: FileLine | undefined; isOver: boolean }> {
    let line = first;
    if (this.parts.clock.now() < this.#pausedUntil) return { line, isOver: line === undefined };
    if (this.#waitsFor !== 'budget' || this.#inFlight === 0) await this.#feedParked();
    // A recorded line finds out whether there is budget again. Without one, a new line has to.
    if (this.#waitsFor === 'budget' && this.#lines.size > 0) return { line, isOver: line === undefined };
    const window = await this.#window();
    const claimed = new Map<string, FedLine>();
    const ready = new Map<string, ReadyLine>();
    let last: FileLine | undefined;
    while (line && this.#inFlight + claimed.size < window && this.#hasRoom(line)) {
      const requestId = makeRequestId();
      const parsed = parseLine(line.text, this.#limits);
      const customId = isMistake(parsed) ? '' : parsed.customId;
      const fed = this.#toFed(line, customId, requestId);
      const prepared = await this.#prepare(requestId, isMistake(parsed) ? '' : parsed.body, customId);
      if (prepared) {
        const isAlone = this.#inFlight + claimed.size === 0;
        if (!(await this.parts.room.take(prepared.resolved.chain)) && !isAlone) break;
        Object.assign(fed, placesOf(prepared));
        ready.set(requestId, prepared);
      }
      claimed.set(requestId, fed);
      this.#bytes.set(requestId, line.end - line.offset);
      last = line;
      line = await next();
    }
    if (last) {
      const at = { offset: last.end, lines: last.number };
      if (!(await this.parts.store.claim(this.#record.id, this.token, at, claimed))) return 'refused';
      for (const [requestId, fed] of claimed) this.#lines.set(requestId, fed);
      for (const [requestId, prepared] of ready) this.#send(requestId, prepared);
    }
    return { line, isOver: line === undefined };
  }

  async #feedParked(): Promise<void> {
    const now = this.parts.clock.now();
    const window = await this.#window();
    for (const [requestId, until] of this.#parked) {
      const fed = this.#lines.get(requestId);
      if (until > now || !fed) continue;
      // The lines of a provider's batch that was refused are as many as those of a file.
      if (this.#inFlight >= window || !this.#hasRoom(fed)) return;
      this.#parked.delete(requestId);
      this.#bytes.set(requestId, fed.end - fed.offset);
      if (!(await this.#sendAgain(requestId, fed))) {
        this.#parked.set(requestId, 0);
        this.#bytes.delete(requestId);
        return;
      }
      // One line finds out whether there is budget again; the others would only be refused with it.
      if (this.#waitsFor === 'budget') return;
    }
  }

  /** Reads the line again, because it was not kept, and sends it. False: its provider has no room for it. */
  async #sendAgain(requestId: string, fed: FedLine): Promise<boolean> {
    const { inputObject, inputBytes } = this.#record;
    const bytes = this.parts.files.sealed.read(inputObject, inputBytes, fed.offset);
    for await (const { text } of readLines(bytes, this.#limits.bytes)) {
      const parsed = parseLine(text, this.#limits);
      if (isMistake(parsed)) throw new Error('a line of a batch has changed');
      const prepared = await this.#prepare(requestId, parsed.body, parsed.customId);
      if (prepared) {
        const isAlone = this.#inFlight <= 1;
        if (fed.at !== undefined && !(await this.parts.room.take(prepared.resolved.chain)) && !isAlone)
          return false;
        const { at: _, ...alone } = fed;
        await this.#note(requestId, { ...alone, ...placesOf(prepared) });
        this.#send(requestId, prepared);
      }
      return true;
    }
    return true;
  }

  /** Records the queues that the line's job may be in, before the job exists. */
  async #note(requestId: string, fed: FedLine): Promise<void> {
    this.#lines.set(requestId, fed);
    await this.parts.store.noteLines(this.#record.id, this.token, new Map([[requestId, fed]]));
  }

  /** Undefined: the line's request is invalid, and that is its outcome. */
  async #prepare(requestId: string, body: string, customId: string): Promise<ReadyLine | undefined> {
    try {
      return await prepareLine(this.parts, this.#record, requestId, body);
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      this.#results.addFailed(requestId, customId, error.toInfo());
      return undefined;
    }
  }

  #send(requestId: string, prepared: ReadyLine): void {
    const job = toJob(this.parts, this.#record, requestId, prepared);
    this.parts.dispatcher.dispatch(job, prepared.request).then(
      () => {
        // The result may have been stored before the reply came. Then the line is forgotten already.
        if (this.#lines.has(requestId)) this.#ended.add(requestId);
        this.#bytes.delete(requestId);
        this.#results.came();
        this.#wake();
      },
      () => this.#unknown.add(requestId),
    );
  }

  #toFed({ number, offset, end }: FileLine, customId: string, requestId: string): FedLine {
    const sealed = this.#results.sealId(customId, requestId);
    return { line: number, offset, end, customId: sealed, providers: [], onCrash: 'rerun', refused: 0 };
  }

  /** A workspace with a limit of requests in flight keeps half of it for its other callers. */
  async #window(): Promise<number> {
    const workspace = await this.parts.directory.findWorkspace(this.#record.workspace);
    const most = workspace?.limits.concurrentRequests;
    const share = most === undefined ? Number.POSITIVE_INFINITY : Math.max(1, Math.floor(most / 2));
    return Math.min(this.parts.linesInFlight, share);
  }

  #hasRoom({ offset, end }: Pick<FileLine, 'offset' | 'end'>): boolean {
    let bytes = end - offset;
    for (const taken of this.#bytes.values()) bytes += taken;
    if (this.#bytes.size > 0 && bytes > MOST_BYTES) return false;
    return this.parts.hasRoom(end - offset);
  }

  async #collect(isUrgent: boolean): Promise<void> {
    if (!this.#results.isDue(isUrgent)) return;
    const { done, parked, pauseMs, waitsFor } = await this.#results.store(this.#lines);
    for (const requestId of done) {
      this.#lines.delete(requestId);
      this.#parked.delete(requestId);
      this.#ended.delete(requestId);
      this.#bytes.delete(requestId);
      this.#unknown.delete(requestId);
      this.#handed.delete(requestId);
    }
    const now = this.parts.clock.now();
    for (const [requestId, fed] of parked) {
      this.#lines.set(requestId, fed);
      this.#parked.set(requestId, fed.until);
    }
    if (pauseMs > 0) this.#pausedUntil = now + pauseMs;
    if (waitsFor !== null && waitsFor !== this.#waitsFor) {
      this.#waitsFor = waitsFor;
      await this.parts.store.update(this.#record.id, this.token, '', { waitsFor });
    }
  }

  /** Sends a line again, under the same id, if it is in no queue and was not settled, unless its route forbids that. */
  async #lookAfter(): Promise<void> {
    if (this.#unknown.size === 0 || performance.now() - this.#lookedAfter < LOOK_AFTER_EVERY_MS) return;
    this.#lookedAfter = performance.now();
    for (const requestId of [...this.#unknown]) {
      const fed = this.#lines.get(requestId);
      if (fed && (await this.parts.store.isUnderWay(requestId, fed))) continue;
      this.#unknown.delete(requestId);
      if (!fed) continue;
      if (fed.onCrash === 'fail') this.#results.addLost(requestId, fed);
      else await this.#sendAgain(requestId, fed);
    }
    // Lines that an earlier process queued do not tell this process when they end, so the results are always read.
    this.#results.came();
  }

  /** Takes waiting lines off their queues, lets running ones end, and then makes the files. */
  async #end(state: BatchState, from: BatchStatus): Promise<void> {
    if (this.#lines.size === 0) await this.#begin();
    // The batch may give its place to others meanwhile. Its time to end does not begin again then.
    const since = state.times.cancelling ?? state.endingSince ?? this.parts.clock.now();
    if (from === 'in_progress') {
      const change = { endReason: state.endReason, endingSince: since };
      if (!(await this.parts.store.update(this.#record.id, this.token, from, change))) return;
    }
    const { hasParts } = this.#handOver;
    const latest = since + (hasParts ? LONGEST_PROVIDER_END_MS : LONGEST_END_MS);
    await this.#handOver.cancel();
    for (const requestId of this.#lines.keys()) this.parts.dispatcher.withdraw(requestId);
    // A line that has ended still counts here, until its outcome is stored. Only parked lines are left over.
    while (!this.#stopped && this.#isUnfinished) {
      await this.#lookAtProvider();
      await this.#collect(true);
      for (const requestId of [...this.#unknown]) {
        const fed = this.#lines.get(requestId);
        if (fed && (await this.parts.store.isUnderWay(requestId, fed))) continue;
        this.#unknown.delete(requestId);
        if (fed) this.#parked.set(requestId, latest);
      }
      // Results that come in at the last moment are paid for.
      const more = this.#handOver.isMerging ? LONGEST_PROVIDER_END_MS : 0;
      if (this.parts.clock.now() >= latest + more) break;
      await this.#wait();
    }
    if (this.#stopped) return;
    // The provider may bill the lines that it still has.
    if (this.#handOver.hasParts) await this.#lookAtProvider(true);
    await this.#become(from, 'finalizing', state);
  }

  get #isUnfinished(): boolean {
    return this.#lines.size > this.#parked.size || this.#handOver.hasParts;
  }

  /** Hands the next lines to the provider, if it has taken the last ones. */
  async #feedProvider(first: FileLine | undefined, next: () => Promise<FileLine | undefined>) {
    if (this.#parked.size > 0 && this.parts.clock.now() >= this.#pausedUntil) await this.#feedParked();
    if (!first || this.#handOver.isFull) return { line: first, isOver: first === undefined };
    const handed = await this.#handOver.next(first, next);
    if (typeof handed === 'string') return handed;
    for (const [requestId, fed] of handed.skipped) {
      this.#lines.set(requestId, fed);
      this.#parked.set(requestId, 0);
    }
    return { line: handed.line, isOver: handed.line === undefined };
  }

  /** Takes up what became of the parts at the provider. Lines that it has not answered run one by one. */
  async #lookAtProvider(isOver = false): Promise<void> {
    if (!this.#handOver.hasParts) return;
    const { recorded, over } = await this.#handOver.look(isOver);
    for (const [requestId, fed] of recorded) {
      this.#lines.set(requestId, fed);
      this.#handed.add(requestId);
    }
    if (over.length === 0) return;
    // Everything that was settled is stored first. The rest was not answered.
    await this.#collect(true);
    for (const requestId of [...this.#handed]) {
      const fed = this.#lines.get(requestId);
      if (fed && this.#handOver.owns(fed)) continue;
      this.#handed.delete(requestId);
      if (fed) this.#parked.set(requestId, 0);
    }
  }

  /** Whether there is nothing to do until the provider has. */
  #isAtProvider(isOver: boolean): boolean {
    const { hasParts, isMerging, isOn, isFull } = this.#handOver;
    return hasParts && !isMerging && this.#lines.size === 0 && (isOver || (isOn && isFull));
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
