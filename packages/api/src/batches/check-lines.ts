/** Checks a whole file before its first line runs, as a stream. Each line's request is checked when its turn comes. */
import { createHash } from 'node:crypto';
import { readLines, TooManyEmptyLines } from '@sluice/shared/json/read-lines';
import type { LineMistake } from './batch-record.js';
import { type BatchLine, isMistake, type OfBatch, parseLine } from './parse-line.js';

export const MAX_LINES = 50_000;
/** No more mistakes than this are reported. */
const MAX_MISTAKES = 100;
/** Only whether it is one model matters, and whether the route of one of them wants something. */
const MOST_MODELS = 8;

export interface LineLimits extends OfBatch {
  /** The most bytes of one line. */
  bytes: number;
}

/** Called with each line that is right, and where it ends. False: the rest is not read. */
export type VisitLine = (line: BatchLine, number: number, end: number) => Promise<boolean>;

export interface CheckedLines {
  /** Not all of the file, if the visitor has ended the reading. */
  total: number;
  mistakes: LineMistake[];
  /** The models that the lines name, or several of them. */
  models: Set<string>;
}

export async function checkLines(
  bytes: AsyncIterable<Buffer>,
  limits: LineLimits,
  visit?: VisitLine,
): Promise<CheckedLines> {
  try {
    return await check(bytes, limits, visit);
  } catch (error) {
    if (!(error instanceof TooManyEmptyLines)) throw error;
    return tooMany(error.message);
  }
}

function tooMany(message: string): CheckedLines {
  return {
    total: 0,
    mistakes: [{ code: 'too_many_tasks', line: null, message, param: null }],
    models: new Set(),
  };
}

async function check(
  bytes: AsyncIterable<Buffer>,
  limits: LineLimits,
  visit: VisitLine | undefined,
): Promise<CheckedLines> {
  const mistakes: LineMistake[] = [];
  // The set holds digests, so that long ids take no more room than short ones.
  const seen = new Set<string>();
  const models = new Set<string>();
  let total = 0;
  for await (const { number, text, end } of readLines(bytes, limits.bytes)) {
    total = number;
    if (total > MAX_LINES) return tooMany(`A batch has ${MAX_LINES} lines at most.`);
    if (mistakes.length >= MAX_MISTAKES) continue;
    const line = parseLine(text, limits);
    if (isMistake(line)) {
      mistakes.push({ ...line, line: number });
      continue;
    }
    const digest = createHash('sha256').update(line.customId).digest('base64').slice(0, 22);
    if (seen.has(digest)) {
      const message = 'The custom_id is that of an earlier line.';
      mistakes.push({ code: 'duplicate_custom_id', line: number, message, param: 'custom_id' });
    }
    seen.add(digest);
    if (models.size < MOST_MODELS) models.add(line.model);
    if (visit && !(await visit(line, number, end))) break;
  }
  if (total === 0)
    mistakes.push({ code: 'empty_file', line: null, message: 'The file has no lines.', param: null });
  return { total, mistakes, models };
}
