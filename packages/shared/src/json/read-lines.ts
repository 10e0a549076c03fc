/** Reads the lines of a file as a stream. Only one line is in memory. */
export interface FileLine {
  /** The first line is 1. */
  number: number;
  /** Where it begins. */
  offset: number;
  /** Where the next line begins. */
  end: number;
  /** Undefined: the line is longer than `most`, or not UTF-8. */
  text: string | undefined;
}

const NEWLINE = 10;
/** After this many lines, other work of the process gets a turn. */
const BREATHE_EVERY = 500;
/** Nobody needs more empty lines than this. A file of nothing else is work without end. */
const MOST_EMPTY = 50_000;

export class TooManyEmptyLines extends Error {
  constructor() {
    super(`A file has ${MOST_EMPTY} empty lines at most.`);
  }
}
const decoder = new TextDecoder('utf-8', { fatal: true });

/**
 * Empty lines are skipped and have no number. `start`: the offset of the first line, and the number of lines before it. Throws
 * TooManyEmptyLines.
 */
export async function* readLines(
  bytes: AsyncIterable<Buffer>,
  most: number,
  start: { offset: number; lines: number } = { offset: 0, lines: 0 },
): AsyncIterable<FileLine> {
  let kept: Buffer[] = [];
  let length = 0;
  let offset = start.offset;
  let number = start.lines;
  let read = 0;
  let empty = 0;
  const take = (part: Buffer) => {
    length += part.length;
    if (length <= most) kept.push(part);
    else kept = [];
  };
  const finish = (lineBreak: number): FileLine | undefined => {
    const text = length > most ? undefined : decode(Buffer.concat(kept));
    const end = offset + length + lineBreak;
    const line = { number: number + 1, offset, end, text };
    kept = [];
    length = 0;
    offset = end;
    if (text !== undefined && text.trim() === '') {
      if (++empty > MOST_EMPTY) throw new TooManyEmptyLines();
      return undefined;
    }
    number += 1;
    return line;
  };
  for await (const chunk of bytes) {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
      take(chunk.subarray(from, at));
      from = at + 1;
      const line = finish(1);
      if (line) yield line;
      if (++read % BREATHE_EVERY === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    if (from < chunk.length) take(chunk.subarray(from));
  }
  if (length > 0) {
    const line = finish(0);
    if (line) yield line;
  }
}

function decode(bytes: Buffer): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}
