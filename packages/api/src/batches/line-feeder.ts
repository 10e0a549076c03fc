/**
 * Queues the lines of a batch as requests, while there is room for them. `pausedUntil` and `waitsFor` keep it from that. The
 * collector sets them when lines come back that could not be served yet, and a new run takes up what the last one waited for.
 */
import { GatewayError } from '@sluice/shared/errors';
import { type FileLine, readLines } from '@sluice/shared/json/read-lines';
import { makeRequestId } from '@sluice/shared/request-id';
import type { Dispatcher } from '../chat/dispatcher.js';
import { withTokens } from '../chat/parse-embedding-request.js';
import type { Files } from '../files/files.js';
import type { BatchRecord, WaitReason } from './batch-record.js';
import type { LineLimits } from './check-lines.js';
import type { LineResults } from './line-results.js';
import type { FedLine, LineStore } from './line-store.js';
import type { LinesUnderWay } from './lines-under-way.js';
import { isMistake, parseLine } from './parse-line.js';
import { type PlanLineParts, planLine } from './plan-line.js';
import type { ProviderRoom } from './provider-room.js';
import { keepTogether, prepareLine, type ReadyLine, type SendLineParts, toJob } from './send-line.js';

/** So many times the lines in flight may wait for the first of their prefix. */
const FOLLOWERS_PER_LINE = 4;
/** The bytes of a line beside its body. */
const LINE_BYTES = 4_096;

export interface LineFeederParts extends SendLineParts, PlanLineParts {
  lineStore: LineStore;
  files: Files;
  dispatcher: Pick<Dispatcher, 'dispatch' | 'withdraw'>;
  room: ProviderRoom;
  hasRoom(bytes: number): boolean;
  maxBodyBytes: number;
}

export type NextLine = () => Promise<FileLine | undefined>;

export function lineLimitsOf(
  { limits, maxBodyBytes }: Pick<LineFeederParts, 'limits' | 'maxBodyBytes'>,
  { endpoint }: { endpoint?: BatchRecord['endpoint'] | undefined },
): LineLimits {
  const own = endpoint ? withTokens(limits) : limits;
  return { ...own, endpoint, bytes: maxBodyBytes + LINE_BYTES };
}

export class LineFeeder {
  /** No line is queued before this moment. */
  pausedUntil = 0;
  /** Why lines are put off. */
  waitsFor: WaitReason | undefined;
  readonly #limits: LineLimits;

  constructor(
    private readonly parts: LineFeederParts,
    private readonly record: BatchRecord,
    private readonly token: string,
    private readonly lines: LinesUnderWay,
    private readonly results: LineResults,
    /** Called when a line has ended. */
    private readonly wake: () => void,
  ) {
    this.#limits = lineLimitsOf(parts, record);
  }

  /** Reads the lines of the file from this place. */
  readFrom({ offset, lines }: { offset: number; lines: number }): NextLine {
    const { inputObject, inputBytes } = this.record;
    const bytes = this.parts.files.sealed.read(inputObject, inputBytes, offset);
    const iterator = readLines(bytes, this.#limits.bytes, { offset, lines })[Symbol.asyncIterator]();
    return async () => {
      const { done, value } = await iterator.next();
      return done ? undefined : value;
    };
  }

  /** Queues lines that are due again, then new lines. Returns the first line that had no room. */
  async feed(
    first: FileLine | undefined,
    next: NextLine,
  ): Promise<'refused' | { line: FileLine | undefined; isOver: boolean }> {
    const { lines } = this;
    let line = first;
    if (this.parts.clock.now() < this.pausedUntil) return { line, isOver: line === undefined };
    await this.parts.lately.refresh();
    if (this.waitsFor !== 'budget' || lines.inFlight === 0) await this.feedParked();
    // A recorded line finds out whether there is budget again. Without one, a new line has to.
    if (this.waitsFor === 'budget' && lines.all.size > 0) return { line, isOver: line === undefined };
    const { window, mostFollowers } = await this.#window();
    const claimed = new Map<string, FedLine>();
    const ready = new Map<string, ReadyLine>();
    let last: FileLine | undefined;
    const inFlight = () => lines.inFlight + claimed.size - lines.followers;
    while (line && inFlight() < window && this.#hasRoom(line)) {
      const requestId = makeRequestId();
      const parsed = parseLine(line.text, this.#limits);
      const customId = isMistake(parsed) ? '' : parsed.customId;
      const fed = this.#toFed(line, customId, requestId);
      const prepared = await this.#prepare(requestId, isMistake(parsed) ? '' : parsed.body, customId);
      if (prepared) {
        const isAlone = lines.inFlight + claimed.size === 0;
        const { prefix } = prepared;
        const follows = lines.hasFirst(prefix) && lines.followers < mostFollowers;
        if (!follows && !(await this.parts.room.take(prepared.resolved.chain)) && !isAlone) break;
        if (follows || !lines.hasFirst(prefix)) lines.follow(requestId, prefix);
        Object.assign(fed, placesOf(prepared));
        ready.set(requestId, prepared);
      }
      claimed.set(requestId, fed);
      lines.takeBytes(requestId, line);
      last = line;
      line = await next();
    }
    if (last) {
      const at = { offset: last.end, lines: last.number };
      if (!(await this.parts.lineStore.claim(this.record.id, this.token, at, claimed))) return 'refused';
      for (const [requestId, fed] of claimed) lines.all.set(requestId, fed);
      for (const [requestId, prepared] of ready) this.#send(requestId, prepared);
    }
    return { line, isOver: line === undefined };
  }

  /** Queues the lines that are due again. */
  async feedParked(): Promise<void> {
    const { lines } = this;
    const now = this.parts.clock.now();
    const { window } = await this.#window();
    for (const [requestId, until] of lines.parked) {
      const fed = lines.all.get(requestId);
      if (until > now || !fed) continue;
      // The lines of a provider's batch that was refused are as many as those of a file.
      if (lines.inFlight >= window || !this.#hasRoom(fed)) return;
      lines.parked.delete(requestId);
      lines.takeBytes(requestId, fed);
      if (!(await this.sendAgain(requestId, fed))) {
        lines.parked.set(requestId, 0);
        lines.giveBytesBack(requestId);
        return;
      }
      // One line finds out whether there is budget again; the others would only be refused with it.
      if (this.waitsFor === 'budget') return;
    }
  }

  /** Reads the line again, because it was not kept, and sends it. False: its provider has no room for it. */
  async sendAgain(requestId: string, fed: FedLine): Promise<boolean> {
    const { inputObject, inputBytes } = this.record;
    const bytes = this.parts.files.sealed.read(inputObject, inputBytes, fed.offset);
    for await (const { text } of readLines(bytes, this.#limits.bytes)) {
      const parsed = parseLine(text, this.#limits);
      if (isMistake(parsed)) throw new Error('a line of a batch has changed');
      const prepared = await this.#prepare(requestId, parsed.body, parsed.customId);
      if (prepared) {
        const isAlone = this.lines.inFlight <= 1;
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
    this.lines.all.set(requestId, fed);
    const { lineStore } = this.parts;
    // Another process runs the batch now. It may have sent this line long ago, and nothing would tell that any more.
    if (!(await lineStore.noteLines(this.record.id, this.token, new Map([[requestId, fed]]))))
      throw new Error('the lease of the batch is lost');
  }

  /** Undefined: the line's request is invalid, and that is its outcome. */
  async #prepare(requestId: string, body: string, customId: string): Promise<ReadyLine | undefined> {
    try {
      const ready = await prepareLine(this.parts, this.record, requestId, body);
      return await keepTogether(this.parts, this.record, ready);
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      this.results.addFailed(requestId, customId, error.toInfo());
      return undefined;
    }
  }

  #send(requestId: string, prepared: ReadyLine): void {
    const job = toJob(this.parts, this.record, requestId, prepared);
    const fed = this.lines.all.get(requestId);
    if (fed) planLine(this.parts, this.record, fed, job);
    this.parts.dispatcher.dispatch(job, prepared.request).then(
      () => {
        this.lines.end(requestId);
        this.results.came();
        this.wake();
      },
      () => this.lines.lose(requestId),
    );
  }

  #toFed({ number, offset, end }: FileLine, customId: string, requestId: string): FedLine {
    const sealed = this.results.sealId(customId, requestId);
    return { line: number, offset, end, customId: sealed, providers: [], onCrash: 'rerun', refused: 0 };
  }

  /** A workspace with a limit of requests in flight keeps half of it for its other callers. */
  async #window(): Promise<{ window: number; mostFollowers: number }> {
    const workspace = await this.parts.directory.findWorkspace(this.record.workspace);
    const most = workspace?.limits.concurrentRequests;
    const share = most === undefined ? Number.POSITIVE_INFINITY : Math.max(1, Math.floor(most / 2));
    const window = Math.min(this.parts.linesInFlight, share);
    // Lines that wait are in flight for the limit.
    return { window, mostFollowers: most === undefined ? FOLLOWERS_PER_LINE * window : 0 };
  }

  #hasRoom(line: Pick<FileLine, 'offset' | 'end'>): boolean {
    return this.lines.hasRoomFor(line) && this.parts.hasRoom(line.end - line.offset);
  }
}

function placesOf({ resolved }: ReadyLine): Pick<FedLine, 'providers' | 'onCrash'> {
  return { providers: resolved.chain.map(({ provider }) => provider), onCrash: resolved.onCrash };
}
