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
const decoder = new TextDecoder('utf-8', { fatal: true });

/** Empty lines are skipped and not counted. `start`: the offset of the first line, and the number of lines before it. */
export async function* readLines(
  bytes: AsyncIterable<Buffer>,
  most: number,
  start: { offset: number; lines: number } = { offset: 0, lines: 0 },
): AsyncIterable<FileLine> {
  let kept: Buffer[] = [];
  let length = 0;
  let offset = start.offset;
  let number = start.lines;
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
    if (text !== undefined && text.trim() === '') return undefined;
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
