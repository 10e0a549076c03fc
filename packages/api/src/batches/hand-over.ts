/**
 * Hands the lines of a batch to the provider's own batch API, in parts, and takes up what became of them (docs/adr/0025).
 * A worker does what lies between (shared/queue/provider-batches.ts). The file of the batch has everything about a line, so
 * while the provider has the lines, nothing in Redis grows with their number.
 */
import { createHash } from 'node:crypto';
import type { ChatRequest } from '@sluice/shared/chat';
import { batchApiOf } from '@sluice/shared/config/batch-api';
import type { ProviderConfig } from '@sluice/shared/config/types';
import { GatewayError } from '@sluice/shared/errors';
import { type FileLine, readLines } from '@sluice/shared/json/read-lines';
import { requestContext } from '@sluice/shared/queue/payload';
import type {
  HandedBatch,
  HandedPart,
  ProviderBatches,
  WaitingLine,
} from '@sluice/shared/queue/provider-batches';
import { makeRequestId } from '@sluice/shared/request-id';
import { type Resolved, resolveModel } from '../chat/resolve-model.js';
import { readTags, readUser } from '../chat/tags.js';
import type { Files } from '../files/files.js';
import type { BatchRecord, HandedOver } from './batch-record.js';
import type { BatchStore, FedLine } from './batch-store.js';
import type { LineLimits } from './check-lines.js';
import type { LineResults } from './line-results.js';
import { isMistake, parseLine } from './parse-line.js';
import type { PartBudget } from './part-budget.js';
import { prepareLine, type SendLineParts } from './send-line.js';

/** A part is in Redis until the provider has it. */
const MOST_PART_BYTES = 8 * 1024 * 1024;
const MOST_PART_LINES = 10_000;
/** Lines of a part that do not go to the provider. */
const MOST_SKIPPED = 200;
const WRITE_AT_ONCE = 64;
const RECORD_AT_ONCE = 500;
/** So many ids of the provider's batches are shown. */
const MOST_IDS = 20;

export interface HandOverParts extends SendLineParts {
  store: BatchStore;
  files: Files;
  handed: ProviderBatches;
  budget: PartBudget;
  providers: ReadonlyMap<string, ProviderConfig>;
  hasRoom(bytes: number): boolean;
}

/** What a look at the parts has changed: lines that are recorded again, and parts that are over. */
export interface Looked {
  recorded: Map<string, FedLine>;
  over: string[];
}

/** Whether the batch is handed over, and if its route asks for that and it is not: why. */
export async function planHandOver(
  { directory, providers }: Pick<HandOverParts, 'directory' | 'providers'>,
  { id, workspace }: BatchRecord,
  models: ReadonlySet<string>,
): Promise<HandedOver | undefined> {
  const found: Resolved[] = [];
  for (const model of models) {
    const resolved = await resolveModel(model, workspace, directory, providers, id).catch(() => undefined);
    if (resolved?.providerBatches) found.push(resolved);
  }
  const [entry] = found[0]?.chain ?? [];
  if (!entry) return undefined;
  const plan: HandedOver = {
    provider: entry.provider,
    model: entry.model,
    lines: 0,
    ended: 0,
    endedEarlier: 0,
    parts: [],
    ids: [],
  };
  const config = providers.get(entry.provider);
  if (models.size > 1) plan.oneByOne = 'The lines name several models.';
  else if (!config || !batchApiOf(config))
    plan.oneByOne = `${entry.provider} has no batch API that the gateway speaks.`;
  return plan;
}

export class HandOver {
  /** The part whose lines wait in Redis for their provider. There is one at a time. */
  #waiting: string | undefined;
  #isMerging = false;

  constructor(
    private readonly parts: HandOverParts,
    private readonly record: BatchRecord,
    private readonly token: string,
    private readonly results: Pick<LineResults, 'sealId'>,
    private readonly limits: LineLimits,
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
    const id = makeRequestId();
    const skipped = new Map<string, FedLine>();
    const numbers: number[] = [];
    let line: FileLine | undefined = first;
    let last = first;
    let bytes = 0;
    let cost = 0;
    let count = 0;
    let waiting: WaitingLine[] = [];
    let resolved: Resolved | undefined;
    let model = '';
    while (line && bytes < MOST_PART_BYTES && count < MOST_PART_LINES && skipped.size < MOST_SKIPPED) {
      const size = line.end - line.offset;
      // A line that is larger than what is left begins the next part.
      if ((count > 0 && bytes + size > MOST_PART_BYTES) || !this.parts.hasRoom(size)) break;
      const requestId = requestIdOf(this.record.id, line.number);
      const ready = await this.#prepare(line, requestId);
      if (ready && !isPlanned(ready.resolved, plan)) {
        await handed.dropLines(id);
        return this.#stop('The route was changed.');
      }
      if (ready) {
        ({ resolved } = ready);
        ({ model } = ready.request);
        cost += ready.cost;
        count++;
        waiting.push({ requestId, request: ready.sealed });
      } else {
        numbers.push(line.number);
        skipped.set(requestId, { ...this.#toFed(line, requestId), until: 0 });
      }
      if (waiting.length >= WRITE_AT_ONCE) {
        await handed.addLines(id, waiting);
        waiting = [];
      }
      bytes += size;
      last = line;
      line = await next();
    }
    // Redis has no room now.
    if (bytes === 0) return { line, skipped };
    if (waiting.length > 0) await handed.addLines(id, waiting);
    const place = { offset: first.offset, end: last.end, before: first.number - 1, skipped: numbers };
    const { workspace, keyId } = this.record;
    const part: HandedPart | undefined = resolved?.chain[0] && {
      ...{ id, batch: this.record.id, workspace, keyId, model, route: resolved.route },
      ...{ entry: resolved.chain[0], lines: count, created: clock.now(), ...place },
      ...(cost > 0 ? { reserved: Math.min(cost, Number.MAX_SAFE_INTEGER) } : {}),
    };
    if (part && !(await budget.reserve(part))) {
      await handed.dropLines(id);
      return this.#stop('The budget of the workspace does not cover the lines at once.');
    }
    const planned = part
      ? { ...plan, lines: plan.lines + count, parts: [...plan.parts, id], since: plan.since ?? clock.now() }
      : plan;
    const at = { offset: last.end, lines: last.number };
    if (!(await this.parts.store.handOver(this.record.id, this.token, at, skipped, planned, part))) {
      await handed.dropLines(id);
      if (part) await budget.release(part);
      return 'refused';
    }
    this.plan = planned;
    if (part) {
      this.#waiting = id;
      await budget.keep(part);
    }
    return { line, skipped };
  }

  /** Takes up what workers have done. `isOver`: nothing more is expected of the provider, so every part is taken back. */
  async look(isOver = false): Promise<Looked> {
    const looked: Looked = { recorded: new Map(), over: [] };
    if (!this.plan) return looked;
    const { handed, budget, clock } = this.parts;
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
      if (status === 'ended' && !isOver) await handed.change(id, 'ended', { status: 'merging' }, clock.now());
      if ((status === 'ended' || status === 'merging') && !isOver) this.#isMerging = true;
      else if (isBack) {
        if (status === 'refused') plan.oneByOne ??= reason;
        if (found) await budget.release(found.part);
        looked.over.push(id);
        plan.endedEarlier += ended;
        continue;
      }
      plan.ended += ended;
    }
    plan.ended += plan.endedEarlier;
    plan.parts = plan.parts.filter((id) => !looked.over.includes(id));
    await this.#write(plan);
    for (const id of looked.over) await handed.remove(id);
    return looked;
  }

  /** The batch ends: the provider is asked to stop. What it has answered until then is taken up. */
  async cancel(): Promise<void> {
    const { handed, clock } = this.parts;
    for (const id of this.plan?.parts ?? []) await handed.change(id, '', { isCancelled: true }, clock.now());
  }

  /** A process that died may have recorded a part without keeping its reservation. */
  async begin(): Promise<void> {
    for (const id of this.plan?.parts ?? []) {
      const found = await this.parts.handed.find(id);
      if (found) await this.parts.budget.keep(found.part);
    }
  }

  /** A part is forgotten before it is removed. */
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

  /** Undefined: the line does not go to the provider, because it is invalid or may be refused by the workspace's limits. */
  async #prepare({ text }: FileLine, requestId: string) {
    const { workspace } = this.record;
    const parsed = parseLine(text, this.limits);
    if (isMistake(parsed)) return undefined;
    try {
      const { request, resolved } = await prepareLine(this.parts, this.record, requestId, parsed.body);
      const [entry] = resolved.chain;
      const cost = entry && (await this.parts.budget.costOf(workspace, entry, request));
      if (cost === undefined) return undefined;
      const sealed = this.parts.payloads.seal(parsed.body, requestContext({ workspace, requestId }));
      return { request, resolved, cost, sealed };
    } catch (error) {
      if (error instanceof GatewayError) return undefined;
      throw error;
    }
  }

  /** Records the lines of a part again, from the file. They have the same ids as when they were handed over. */
  async #recordLines({ id, offset, end, before, skipped }: HandedPart): Promise<Map<string, FedLine>> {
    const { inputObject, inputBytes } = this.record;
    const bytes = this.parts.files.sealed.read(inputObject, inputBytes, offset);
    const recorded = new Map<string, FedLine>();
    let group = new Map<string, FedLine>();
    const write = async () => {
      if (group.size === 0) return;
      if (!(await this.parts.store.noteLines(this.record.id, this.token, group)))
        throw new Error('the lease of the batch is lost');
      for (const [requestId, line] of group) recorded.set(requestId, line);
      group = new Map();
    };
    for await (const line of readLines(bytes, this.limits.bytes, { offset, lines: before })) {
      if (line.offset >= end) break;
      if (skipped.includes(line.number)) continue;
      const requestId = requestIdOf(this.record.id, line.number);
      group.set(requestId, { ...this.#toFed(line, requestId), at: id });
      if (group.size >= RECORD_AT_ONCE) await write();
    }
    await write();
    return recorded;
  }

  #toFed({ number, offset, end, text }: FileLine, requestId: string): FedLine {
    const parsed = parseLine(text, this.limits);
    const request = isMistake(parsed) ? undefined : (JSON.parse(parsed.body) as ChatRequest);
    const tags = request && readTags('', request);
    const user = request && readUser(request);
    return {
      line: number,
      offset,
      end,
      customId: this.results.sealId(isMistake(parsed) ? '' : parsed.customId, requestId),
      providers: [],
      onCrash: 'rerun',
      refused: 0,
      ...(tags ? { tags } : {}),
      ...(user === undefined ? {} : { user }),
    };
  }
}

function withId(ids: string[], { state: { candidates, isCertain } }: HandedBatch): string[] {
  const [id] = candidates;
  if (!isCertain || id === undefined || ids.includes(id)) return ids;
  return [...ids, id].slice(-MOST_IDS);
}

function isPlanned({ chain: [entry] }: Resolved, { provider, model }: HandedOver): boolean {
  return entry?.provider === provider && entry.model === model;
}

/** The same each time, so that a line needs no record while its provider has it. */
function requestIdOf(batch: string, line: number): string {
  return createHash('sha256').update(`${batch}\n${line}`).digest('base64url').slice(0, 20);
}
