/** Makes the output and the error file of a batch whose lines are over, and ends it. Repeating it keeps the files' ids. */
import { createHash } from 'node:crypto';
import type { RequestLimits } from '@sluice/shared/config/gateway-config';
import { readLines } from '@sluice/shared/json/read-lines';
import type { Payloads } from '@sluice/shared/queue/payload';
import type { Clock } from '@sluice/shared/redis/clock';
import type { Files } from '../files/files.js';
import { codeField } from './batch-fields.js';
import {
  type Batch,
  type BatchRecord,
  type BatchState,
  type BatchStatus,
  type EndReason,
  INPUT_FILE_MISSING,
} from './batch-record.js';
import type { BatchStore } from './batch-store.js';
import { lineLimitsOf } from './line-feeder.js';
import { leftOverLine } from './line-outcome.js';
import type { LineStore, Part } from './line-store.js';
import { isMistake, parseLine } from './parse-line.js';

export interface FinishParts {
  store: BatchStore;
  lineStore: LineStore;
  files: Files;
  payloads: Payloads;
  clock: Clock;
  limits: RequestLimits;
  maxBodyBytes: number;
}

const FINAL: Record<EndReason, BatchStatus> = {
  batch_expired: 'expired',
  batch_cancelled: 'cancelled',
  budget_exceeded: 'failed',
};

export async function finishBatch(parts: FinishParts, batch: Batch, token: string): Promise<void> {
  const { store, lineStore, files, clock } = parts;
  const { record, state } = batch;
  const { id } = record;
  const stored = await lineStore.parts(id);
  const left: LeftOver = { count: 0, hasFile: true };
  const outputFile = await makeFile(parts, batch, 'output', contentOf(parts, stored, 'output'));
  const errors = concat(contentOf(parts, stored, 'error'), leftOver(parts, batch, left));
  const errorFile = await makeFile(parts, batch, 'error', errors);
  const status = state.endReason ? FINAL[state.endReason] : 'completed';
  const change: Partial<BatchState> & { status: BatchStatus } & Record<string, unknown> = {
    status,
    times: { ...state.times, [status]: clock.now() },
    outputFile,
    errorFile,
    failed: state.failed + left.count,
  };
  if (left.count > 0 && state.endReason) {
    const field = codeField(state.endReason);
    Object.assign(change, { [field]: (state.codes[state.endReason] ?? 0) + left.count });
  }
  if (state.endReason === 'budget_exceeded')
    change.errors = [
      {
        code: 'budget_exceeded',
        line: null,
        message: 'The monthly budget of the workspace is spent. The error file has the lines that are left.',
        param: null,
      },
    ];
  if (!left.hasFile) change.errors = [...(change.errors ?? []), INPUT_FILE_MISSING];
  if (!(await store.finish(record, token, change, clock.now()))) return;
  for (const part of stored) await files.discard(part);
}

interface LeftOver {
  /** How many lines have no answer. */
  count: number;
  hasFile: boolean;
}

/** The lines without an answer. When the input file was deleted, nobody knows their ids any more, and they are only counted. */
async function* leftOver(parts: FinishParts, batch: Batch, left: LeftOver): AsyncIterable<Buffer> {
  const { endReason } = batch.state;
  if (endReason === undefined || batch.state.total === 0) return;
  try {
    yield* readLeftOver(parts, batch, endReason, left);
  } catch (error) {
    if (!(await parts.files.wasRemoved(batch.record.inputObject, error))) throw error;
    const { total, completed, failed } = batch.state;
    Object.assign(left, { count: total - completed - failed, hasFile: false });
  }
}

/** Those that waited for another try, and those that were never queued. */
async function* readLeftOver(
  parts: FinishParts,
  { record, state }: Batch,
  endReason: EndReason,
  left: LeftOver,
): AsyncIterable<Buffer> {
  const { id, inputObject, inputBytes } = record;
  const most = parts.maxBodyBytes + 4_096;
  const waiting = [...(await parts.lineStore.underWay(id)).values()].sort((a, b) => a.line - b.line);
  const read = (offset: number, lines: number) =>
    readLines(parts.files.sealed.read(inputObject, inputBytes, offset), most, { offset, lines });
  for (const { offset, line } of waiting) {
    for await (const { text } of read(offset, line - 1)) {
      left.count += 1;
      yield toLeftOver(parts, record, line, text, endReason);
      break;
    }
  }
  for await (const { number, text } of read(state.offset, state.lines)) {
    left.count += 1;
    yield toLeftOver(parts, record, number, text, endReason);
  }
}

function toLeftOver(
  parts: FinishParts,
  record: BatchRecord,
  line: number,
  text: string | undefined,
  reason: EndReason,
): Buffer {
  const parsed = parseLine(text, lineLimitsOf(parts, record));
  const customId = isMistake(parsed) ? '' : parsed.customId;
  return Buffer.from(leftOverLine(digest(`${record.id}\n${line}`), customId, reason));
}

async function* contentOf({ files }: FinishParts, parts: readonly Part[], kind: Part['kind']) {
  for (const { object, bytes, kind: own } of parts) if (own === kind) yield* files.sealed.read(object, bytes);
}

async function* concat(...sources: AsyncIterable<Buffer>[]): AsyncIterable<Buffer> {
  for (const source of sources) yield* source;
}

/** Null: the file would be empty. */
async function makeFile(
  { files }: FinishParts,
  { record }: Batch,
  kind: Part['kind'],
  content: AsyncIterable<Buffer>,
): Promise<string | null> {
  const { id, workspace, outputExpiresMs } = record;
  const stored = await files.write(workspace, content, { id: `file-${digest(`${id}\n${kind}`)}` });
  if (stored.bytes === 0) {
    await files.discard(stored);
    return null;
  }
  const file = {
    filename: `${id}_${kind}.jsonl`,
    purpose: 'batch_output',
    expiresInMs: outputExpiresMs,
  } as const;
  return (await files.keep(workspace, stored, file)).id;
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 20);
}
