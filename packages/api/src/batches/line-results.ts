/**
 * Moves the outcomes of a batch's lines from Redis into the store. Each time they are written as a new object and then
 * acknowledged in one step. An object that was never acknowledged belongs to no file, and is removed later.
 */
import type { ErrorInfo } from '@sluice/shared/errors';
import type { Payloads } from '@sluice/shared/queue/payload';
import type { Clock } from '@sluice/shared/redis/clock';
import { makeRequestId } from '@sluice/shared/request-id';
import type { DirectoryCache } from '../cell/directory-cache.js';
import type { Files } from '../files/files.js';
import { codeField } from './batch-fields.js';
import type { BatchRecord, WaitReason } from './batch-record.js';
import { failedOutcome, judge, type LineOutcome } from './line-outcome.js';
import type { Acknowledged, FedLine, LineStore, Part } from './line-store.js';

/** Results are read in small groups, because each may be large. */
const READ_AT_ONCE = 64;
/** Those with vectors have megabytes. */
const READ_EMBEDDINGS_AT_ONCE = 4;
/** When this many results wait in Redis, they are stored. */
const MOST_WAITING = 256;
/** Results are stored at the latest after a hundredth of the time that the batch has run, within these bounds. */
const AGE_SHARE = 100;
const SOONEST_MS = 500;
const LATEST_MS = 30_000;
const DAY_MS = 86_400_000;

export interface LineResultsParts {
  lineStore: LineStore;
  files: Files;
  payloads: Payloads;
  directory: DirectoryCache;
  clock: Clock;
  metrics: { batchLine(outcome: LineOutcome['as']): void };
}

export type ParkedLine = FedLine & { until: number };

export interface Stored {
  /** Request ids of lines that are over or continue under another id. */
  done: Set<string>;
  /** The lines that wait for another try. */
  parked: Map<string, ParkedLine>;
  /** How long no line should be queued. */
  pauseMs: number;
  /** Why lines were put off. Undefined: a line has ended, so it goes on. Null: nothing was heard. */
  waitsFor: WaitReason | undefined | null;
}

export class LineResults {
  readonly #failed = new Map<string, LineOutcome>();
  #waiting = 0;
  #firstCame: number | undefined;
  #budgetSpent = false;

  constructor(
    private readonly parts: LineResultsParts,
    private readonly record: BatchRecord,
    private readonly token: string,
  ) {}

  /** The budget is spent, and the workspace wants its batches to fail then. */
  get budgetSpent(): boolean {
    return this.#budgetSpent;
  }

  /** Notes that there may be a result in Redis. */
  came(): void {
    this.#waiting += 1;
    this.#firstCame ??= performance.now();
  }

  /** Adds a line that failed before any provider was called. */
  addFailed(requestId: string, customId: string, error: ErrorInfo): void {
    this.#failed.set(requestId, failedOutcome(requestId, customId, error));
    this.came();
  }

  /** Adds a line whose outcome was lost with the process that queued it. */
  addLost(requestId: string, fed: FedLine): void {
    this.addFailed(requestId, this.openId(fed.customId, requestId), {
      code: 'provider_outcome_unknown',
      message:
        'The process that sent this line is gone, and so is what it knew. The provider may have answered and billed the call. It was not called again, because its route says on_crash: fail.',
    });
  }

  sealId(customId: string, requestId: string): string {
    return this.parts.payloads.seal(customId, this.#context(requestId));
  }

  openId(sealed: string, requestId: string): string {
    return this.parts.payloads.open(sealed, this.#context(requestId));
  }

  #context(requestId: string): string {
    return `custom id\n${this.record.id}\n${requestId}`;
  }

  isDue(isUrgent: boolean): boolean {
    if (isUrgent || this.#waiting >= MOST_WAITING) return true;
    if (this.#firstCame === undefined) return false;
    const age = (this.parts.clock.now() - this.record.created) / AGE_SHARE;
    return performance.now() - this.#firstCame >= Math.min(LATEST_MS, Math.max(SOONEST_MS, age));
  }

  async store(lines: ReadonlyMap<string, FedLine>): Promise<Stored> {
    this.#waiting = 0;
    this.#firstCame = undefined;
    const all: Stored = { done: new Set(), parked: new Map(), pauseMs: 0, waitsFor: null };
    const atOnce = this.record.endpoint ? READ_EMBEDDINGS_AT_ONCE : READ_AT_ONCE;
    for (;;) {
      const results = await this.parts.lineStore.results(this.record.id, atOnce);
      const outcomes = new Map(this.#failed);
      this.#failed.clear();
      for (const result of results) {
        const { requestId } = result;
        const fed = lines.get(requestId);
        if (!fed || all.done.has(requestId)) continue;
        const line = {
          workspace: this.record.workspace,
          customId: this.openId(fed.customId, requestId),
          refused: fed.refused,
        };
        outcomes.set(requestId, judge(result, line, this.parts.payloads));
      }
      const acknowledged = await this.#write(outcomes, lines, all);
      acknowledged.results = results.map(({ entryId }) => entryId);
      if (acknowledged.results.length + acknowledged.requestIds.length > 0) {
        const { id } = this.record;
        if (!(await this.parts.lineStore.acknowledge(id, this.token, acknowledged)))
          throw new Error('the lease of the batch is lost');
      }
      if (results.length < atOnce) return all;
    }
  }

  async #write(
    outcomes: ReadonlyMap<string, LineOutcome>,
    lines: ReadonlyMap<string, FedLine>,
    all: Stored,
  ): Promise<Acknowledged> {
    const texts: Record<Part['kind'], string[]> = { output: [], error: [] };
    const sums: Record<string, number> = {};
    const add = (field: string, value: number) => {
      sums[field] = (sums[field] ?? 0) + value;
    };
    const done: Acknowledged = { sums, parts: [], results: [], requestIds: [], again: new Map() };
    for (const [requestId, outcome] of outcomes) {
      const fed = lines.get(requestId);
      if (!fed) continue;
      all.done.add(requestId);
      done.requestIds.push(requestId);
      this.parts.metrics.batchLine(outcome.as);
      switch (outcome.as) {
        case 'answered':
          all.waitsFor = undefined;
          texts.output.push(outcome.text);
          add('completed', 1);
          add('cost', outcome.cost);
          for (const [type, tokens] of Object.entries(outcome.usage)) add(type, tokens);
          break;
        case 'failed':
          texts.error.push(outcome.text);
          add('failed', 1);
          add(codeField(outcome.code), 1);
          break;
        case 'not_now': {
          // The request is settled, so the line continues under another id.
          const again = makeRequestId();
          const customId = this.sealId(this.openId(fed.customId, requestId), again);
          const until = this.parts.clock.now() + outcome.waitMs;
          const parked = { ...fed, customId, refused: fed.refused + 1, providers: [], until };
          done.again.set(again, parked);
          all.parked.set(again, parked);
          if (all.waitsFor !== undefined) all.waitsFor = outcome.why;
          if (outcome.why !== 'providers') all.pauseMs = Math.max(all.pauseMs, outcome.waitMs);
          if (outcome.why === 'budget') await this.#noteBudget();
        }
      }
    }
    for (const kind of ['output', 'error'] as const) {
      const part = await this.#writePart(kind, texts[kind]);
      if (part) done.parts.push(part);
    }
    return done;
  }

  async #writePart(kind: Part['kind'], texts: readonly string[]): Promise<Part | undefined> {
    if (texts.length === 0) return undefined;
    const { files } = this.parts;
    const { id, workspace, expires } = this.record;
    const bytes = Buffer.from(texts.join(''));
    const object = `${workspace}/${id}/${makeRequestId()}`;
    await files.records.expectObject(object, expires + DAY_MS);
    await files.sealed.write(object, only(bytes));
    return { object, bytes: bytes.length, kind };
  }

  async #noteBudget(): Promise<void> {
    const workspace = await this.parts.directory.findWorkspace(this.record.workspace);
    if (workspace?.limits.batchesOverBudget === 'fail') this.#budgetSpent = true;
  }
}

async function* only(bytes: Buffer): AsyncIterable<Buffer> {
  yield bytes;
}
