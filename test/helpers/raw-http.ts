/** HTTP by hand, for what no client library would send. */
import { connect, type Socket } from 'node:net';
import type { Answer } from './refusal.js';

export interface Conversation {
  socket: Socket;
  /** All that came until the other side closed, or the socket broke. */
  end(): Promise<Answer[]>;
  /** The answers as soon as there are this many whole ones. */
  answers(count: number): Promise<Answer[]>;
}

export function openRaw(url: string, first: string | Buffer): Conversation {
  const { hostname, port } = new URL(url);
  const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
  const chunks: Buffer[] = [];
  let closed = false;
  let changed = () => {};
  socket.on('data', (chunk) => {
    chunks.push(chunk);
    changed();
  });
  socket.on('end', () => socket.end());
  // What was received before a reset counts; the reset itself is the end.
  socket.on('error', () => {});
  socket.on('close', () => {
    closed = true;
    changed();
  });
  socket.write(first);

  const until = (isDone: (answers: Answer[]) => boolean) =>
    new Promise<Answer[]>((resolve) => {
      changed = () => {
        const answers = parseAnswers(Buffer.concat(chunks));
        if (closed || isDone(answers)) resolve(answers);
      };
      changed();
    });
  return {
    socket,
    end: () => until(() => false),
    answers: (count) => until((answers) => answers.length >= count),
  };
}

/** Whole answers only; one without a content-length (100 Continue) has no body. */
function parseAnswers(received: Buffer): Answer[] {
  const answers: Answer[] = [];
  let rest = received.toString('latin1');
  for (;;) {
    const split = rest.indexOf('\r\n\r\n');
    if (split < 0) return answers;
    const [statusLine = '', ...lines] = rest.slice(0, split).split('\r\n');
    const headers = new Map(
      lines.map((line): [string, string] => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      }),
    );
    const length = Number(headers.get('content-length') ?? 0);
    const body = rest.slice(split + 4, split + 4 + length);
    if (body.length < length) return answers;
    answers.push({
      status: Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]),
      headers,
      text: Buffer.from(body, 'latin1').toString(),
    });
    rest = rest.slice(split + 4 + length);
  }
}
