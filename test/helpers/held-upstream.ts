/** An OpenAI-compatible upstream that answers a call only when the test says so. */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { bodyOf } from './body-of.js';

export interface HeldUpstream {
  baseUrl: string;
  /** Chat calls that have come, by model. */
  calls: string[];
  /** Resolves once `count` chat calls have come in all. */
  called(count: number): Promise<void>;
  /** Answers every call that is held, and those that come from now on. */
  release(): void;
  /** Holds the calls that come from now on. */
  hold(): void;
  close(): Promise<void>;
}

export async function createHeldUpstream(): Promise<HeldUpstream> {
  const calls: string[] = [];
  const held: ServerResponse[] = [];
  const watchers: (() => void)[] = [];
  let holding = true;

  const server = createServer(async (req, res) => {
    const text = await bodyOf(req);
    if (text === undefined) return;
    if (req.method !== 'POST') {
      res.writeHead(404).end();
      return;
    }
    calls.push(JSON.parse(text).model);
    if (holding) held.push(res);
    else answer(res);
    for (const look of watchers) look();
  });
  // A worker that stops for a while must not find its connection closed: it would make the call again.
  server.keepAliveTimeout = 120_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    calls,
    called: (count) =>
      new Promise((resolve) => {
        const look = () => {
          if (calls.length >= count) resolve();
        };
        watchers.push(look);
        look();
      }),
    release() {
      holding = false;
      for (const res of held.splice(0)) answer(res);
    },
    hold() {
      holding = true;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Sends a request until one has reached the upstream: on a busy machine its wait for a worker may run out first. */
export async function occupy<T>(
  upstream: HeldUpstream,
  send: () => Promise<T>,
): Promise<{ running: Promise<T> }> {
  for (;;) {
    const running = send();
    const reached = upstream.called(1).then(() => true);
    if (await Promise.race([reached, running.then(() => false)])) return { running };
  }
}

export const COMPLETION = JSON.stringify({
  id: 'chatcmpl-held',
  object: 'chat.completion',
  created: 1_700_000_000,
  model: 'held',
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hello.' } }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
});

function answer(res: ServerResponse): void {
  res.writeHead(200, { 'content-type': 'application/json' }).end(COMPLETION);
}
