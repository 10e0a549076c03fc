/** A server in the format of OpenAI that answers every model, and remembers the keys that it was sent. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

export interface Upstream {
  baseUrl: string;
  keys: string[];
  close(): void;
}

const MODELS = JSON.stringify({ object: 'list', data: [{ id: 'llama3.2', object: 'model' }] });

export async function startUpstream(): Promise<Upstream> {
  const keys: string[] = [];
  const server = createServer(async (request, response) => {
    response.setHeader('content-type', 'application/json');
    if (request.method === 'GET') return response.end(MODELS);
    const { model } = (await json(request)) as { model: string };
    keys.push((request.headers.authorization ?? '').replace('Bearer ', ''));
    return response.end(
      JSON.stringify({
        id: `chatcmpl-${keys.length}`,
        object: 'chat.completion',
        created: Math.floor(Date.now() / 1000),
        model,
        choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 },
      }),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    keys,
    close: () => server.close(),
  };
}
