/** Gathers the lines of a part in Redis, sealed. Nothing is claimed yet, so a process that dies here leaves nothing to do. */
import type { ProviderConfig } from '@sluice/shared/config/provider';
import type { EmbeddingInput } from '@sluice/shared/contract/embedding-request';
import { GatewayError } from '@sluice/shared/errors';
import type { FileLine } from '@sluice/shared/json/read-lines';
import { requestContext } from '@sluice/shared/queue/payload';
import type { HandedPart, ProviderBatches, WaitingLine } from '@sluice/shared/queue/provider-batches';
import { countInputs } from '@sluice/shared/registry/prompt-size';
import { makeRequestId } from '@sluice/shared/request-id';
import type { Resolved } from '../chat/resolve-model.js';
import type { BatchRecord, HandedOver } from './batch-record.js';
import { type HandedLines, requestIdOf } from './handed-lines.js';
import type { FedLine } from './line-store.js';
import { isMistake, parseLine } from './parse-line.js';
import type { PartBudget } from './part-budget.js';
import { prepareLine, type SendLineParts } from './send-line.js';

/** A part is in Redis until the provider has it. */
const MOST_PART_BYTES = 8 * 1024 * 1024;
const MOST_PART_LINES = 10_000;
/** Lines of a part that do not go to the provider. */
const MOST_SKIPPED = 200;
/** OpenAI takes so many inputs of embeddings in a batch, in all lines together. */
const MOST_PART_INPUTS = 50_000;
const WRITE_AT_ONCE = 64;

export interface GatherParts extends SendLineParts {
  handed: ProviderBatches;
  budget: PartBudget;
  providers: ReadonlyMap<string, ProviderConfig>;
  hasRoom(bytes: number): boolean;
}

export interface Gathered {
  /** The first line that is not gathered, and the last one that is. */
  line: FileLine | undefined;
  last: FileLine | undefined;
  /** Undefined: no line goes to the provider. */
  part: HandedPart | undefined;
  /** Lines in between that run one by one, by their request ids. */
  skipped: Map<string, FedLine>;
}

/** `changed`: the route leads elsewhere now. */
export async function gatherPart(
  parts: GatherParts,
  record: BatchRecord,
  lines: HandedLines,
  plan: HandedOver,
  first: FileLine,
  next: () => Promise<FileLine | undefined>,
): Promise<Gathered | 'changed'> {
  const id = makeRequestId();
  const skipped = new Map<string, FedLine>();
  const numbers: number[] = [];
  let line: FileLine | undefined = first;
  let last: FileLine | undefined;
  let bytes = 0;
  let cost = 0;
  let count = 0;
  let inputs = 0;
  let waiting: WaitingLine[] = [];
  let ready: Prepared | undefined;
  while (line && bytes < MOST_PART_BYTES && count < MOST_PART_LINES && skipped.size < MOST_SKIPPED) {
    const size = line.end - line.offset;
    // A line that is larger than what is left begins the next part.
    if ((count > 0 && bytes + size > MOST_PART_BYTES) || !parts.hasRoom(size)) break;
    const requestId = requestIdOf(record.id, line.number);
    const prepared = await prepare(parts, record, lines, line, requestId);
    if (prepared && !isPlanned(prepared.resolved, plan)) {
      await parts.handed.dropLines(id);
      return 'changed';
    }
    if (prepared && inputs + prepared.inputs > MOST_PART_INPUTS) break;
    if (prepared) {
      ready = prepared;
      cost += prepared.cost;
      inputs += prepared.inputs;
      count++;
      waiting.push({ requestId, request: prepared.sealed });
    } else {
      numbers.push(line.number);
      skipped.set(requestId, { ...lines.toFed(line, requestId), until: 0 });
    }
    if (waiting.length >= WRITE_AT_ONCE) {
      await parts.handed.addLines(id, waiting);
      waiting = [];
    }
    bytes += size;
    last = line;
    line = await next();
  }
  if (waiting.length > 0) await parts.handed.addLines(id, waiting);
  const entry = ready?.resolved.chain[0];
  if (!ready || !entry || !last) return { line, last, part: undefined, skipped };
  const part: HandedPart = {
    id,
    batch: record.id,
    workspace: record.workspace,
    keyId: record.keyId,
    ...(record.endpoint ? { endpoint: record.endpoint } : {}),
    model: ready.model,
    route: ready.resolved.route,
    entry,
    lines: count,
    offset: first.offset,
    end: last.end,
    before: first.number - 1,
    skipped: numbers,
    created: parts.clock.now(),
  };
  if (cost > 0) part.reserved = Math.min(cost, Number.MAX_SAFE_INTEGER);
  return { line, last, part, skipped };
}

interface Prepared {
  model: string;
  resolved: Resolved;
  /** Picodollars. */
  cost: number;
  /** How many texts it wants to have embedded. */
  inputs: number;
  sealed: string;
}

/** Undefined: the line does not go to the provider, because it is invalid or may be refused by the workspace's limits. */
async function prepare(
  parts: GatherParts,
  record: BatchRecord,
  { limits }: HandedLines,
  { text }: FileLine,
  requestId: string,
): Promise<Prepared | undefined> {
  const { workspace } = record;
  const parsed = parseLine(text, limits);
  if (isMistake(parsed)) return undefined;
  try {
    const { request, resolved } = await prepareLine(parts, record, requestId, parsed.body);
    const [entry] = resolved.chain;
    const cost = entry && (await parts.budget.costOf(workspace, entry, request));
    if (cost === undefined) return undefined;
    const sealed = parts.payloads.seal(parsed.body, requestContext({ workspace, requestId }));
    const inputs = record.endpoint ? countInputs(request.input as EmbeddingInput) : 0;
    return { model: request.model, resolved, cost, inputs, sealed };
  } catch (error) {
    if (error instanceof GatewayError) return undefined;
    throw error;
  }
}

function isPlanned({ chain: [entry] }: Resolved, { provider, model }: HandedOver): boolean {
  return entry?.provider === provider && entry.model === model;
}
