/** The worker of `shape`: takes jobs when the marker says so, calls the provider, and settles. */
import { randomUUID } from 'node:crypto';
import { Pool } from 'undici';
import { connect, MODEL, MOST_RUNNING, MOST_TAKEN, sayReady, UPSTREAM_URL } from './process.js';
import { connectShape } from './shape-scripts.js';

const me = randomUUID();
const redis = connectShape();
const blocking = connect();
const upstream = new Pool(UPSTREAM_URL, { connections: 64, pipelining: 1 });
let running = 0;

async function run(id: string, request: string, inbox: string): Promise<void> {
  const parsed = JSON.parse(request);
  const { body } = await upstream.request({
    path: '/v1/chat/completions',
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer k' },
    body: JSON.stringify({ ...parsed, model: MODEL }),
  });
  const answer = JSON.parse(await body.text());
  const cost = answer.usage.prompt_tokens * 150 + answer.usage.completion_tokens * 600;
  const logEntry = JSON.stringify({
    id,
    workspace: 'demo',
    route: parsed.model,
    provider: 'openai',
    model: MODEL,
    cost,
    at: Date.now(),
  });
  await redis.settle(id, inbox, logEntry, cost, JSON.stringify({ ...answer, model: parsed.model }));
  running--;
}

sayReady();
for (;;) {
  if (!(await blocking.bzpopmin('marker', 5)) || running >= MOST_RUNNING) continue;
  const taken = await redis.take(Math.min(MOST_TAKEN, MOST_RUNNING - running), Date.now(), me);
  for (let i = 0; i < taken.length; i += 3) {
    running++;
    void run(taken[i] ?? '', taken[i + 1] ?? '', taken[i + 2] ?? '');
  }
}
