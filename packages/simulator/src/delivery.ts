import type { ServerResponse } from 'node:http';
import type { Action } from './faults.js';

export interface SimulatedAnswer {
  status: number;
  headers: Record<string, string>;
  body: string;
  /** The events of an answer in pieces. */
  pieces?: string[];
}

/** How the simulator hears of a call's progress. `ending` comes before the last byte leaves. */
export interface Progress {
  started(status: number): void;
  ending(): void;
}

/** Blanks: JSON allows them in front. */
const FILLER = Buffer.alloc(64 * 1024, ' ');
const DRIP_MS = 20;

export function send(res: ServerResponse, answer: SimulatedAnswer, progress: Progress): void {
  const bytes = Buffer.byteLength(answer.body);
  progress.started(answer.status);
  progress.ending();
  if (answer.pieces) {
    res.writeHead(answer.status, answer.headers);
    for (const piece of answer.pieces) res.write(piece);
    res.end();
    return;
  }
  res.writeHead(answer.status, { ...answer.headers, 'content-length': bytes });
  res.end(answer.body);
}

export function sendBadly(
  res: ServerResponse,
  answer: SimulatedAnswer,
  action: Action,
  progress: Progress,
): void {
  if (action.hang === true) return;
  if (action.reset !== undefined) reset(res, answer, action.reset, progress);
  else if (action.truncate === true) truncate(res, answer, progress);
  else if (action.hugeBody !== undefined) pour(res, answer, action.hugeBody, progress);
  else if (answer.pieces && action.stallAfter !== undefined) stall(res, answer, action.stallAfter, progress);
  else if (answer.pieces && action.pieceMs !== undefined)
    flow(res, answer.pieces, answer, action.pieceMs, progress);
  else if (action.slowDrip !== undefined) drip(res, answer, action.slowDrip, progress);
  else send(res, answer, progress);
}

function reset(
  res: ServerResponse,
  answer: SimulatedAnswer,
  when: 'before_headers' | 'after_headers',
  progress: Progress,
): void {
  const { socket } = res;
  if (when === 'before_headers') {
    progress.ending();
    socket?.resetAndDestroy();
    return;
  }
  head(res, answer, Buffer.byteLength(answer.body), progress);
  progress.ending();
  socket?.write('', () => socket.resetAndDestroy());
}

/** Sends so many pieces, and then nothing more. */
function stall(res: ServerResponse, answer: SimulatedAnswer, after: number, progress: Progress): void {
  progress.started(answer.status);
  res.writeHead(answer.status, answer.headers);
  res.flushHeaders();
  for (const piece of answer.pieces?.slice(0, after) ?? []) res.write(piece);
}

/** Sends a piece now and then. */
function flow(
  res: ServerResponse,
  pieces: readonly string[],
  answer: SimulatedAnswer,
  everyMs: number,
  progress: Progress,
): void {
  progress.started(answer.status);
  res.writeHead(answer.status, answer.headers);
  const left = [...pieces];
  const timer = setInterval(() => {
    const piece = left.shift();
    if (left.length > 0) {
      res.write(piece);
      return;
    }
    clearInterval(timer);
    progress.ending();
    res.end(piece);
  }, everyMs);
  res.once('close', () => clearInterval(timer));
}

/** Closes by FIN, not by RST: the client sees an orderly end in the middle of a body. */
function truncate(res: ServerResponse, answer: SimulatedAnswer, progress: Progress): void {
  const body = Buffer.from(answer.body);
  head(res, answer, body.length + 1000, progress);
  progress.ending();
  res.write(body, () => res.socket?.end());
}

function drip(
  res: ServerResponse,
  answer: SimulatedAnswer,
  bytesPerSecond: number,
  progress: Progress,
): void {
  const body = Buffer.from(answer.body);
  head(res, answer, body.length, progress);
  const step = Math.max(1, Math.round((bytesPerSecond * DRIP_MS) / 1000));
  let sent = 0;
  const timer = setInterval(
    () => {
      const chunk = body.subarray(sent, sent + step);
      sent += chunk.length;
      if (sent < body.length) {
        res.write(chunk);
        return;
      }
      clearInterval(timer);
      progress.ending();
      res.end(chunk);
    },
    Math.max(DRIP_MS, 1000 / bytesPerSecond),
  );
  res.once('close', () => clearInterval(timer));
}

/** A valid completion, padded with blanks in front to the given size: only its size is wrong. */
function pour(res: ServerResponse, answer: SimulatedAnswer, bytes: number, progress: Progress): void {
  const tail = Buffer.from(answer.body);
  progress.started(answer.status);
  res.writeHead(answer.status, answer.headers);
  let left = bytes - tail.length;
  const pump = () => {
    while (left > 0) {
      const chunk = FILLER.subarray(0, Math.min(left, FILLER.length));
      left -= chunk.length;
      if (!res.write(chunk)) {
        res.once('drain', pump);
        return;
      }
    }
    progress.ending();
    res.end(tail);
  };
  pump();
}

function head(res: ServerResponse, answer: SimulatedAnswer, length: number, progress: Progress): void {
  progress.started(answer.status);
  res.writeHead(answer.status, { ...answer.headers, 'content-length': length });
  res.flushHeaders();
}
