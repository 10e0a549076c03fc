/** The worker of `full`: as that of `shape`, with the duties of a plain request. A settlement brings the next job. */
import { randomUUID } from 'node:crypto';
import { Pool } from 'undici';
import type { Head, Job } from './full-job.js';
import { cost, latency, log, requests, tokens, waited } from './full-observing.js';
import { connectFull, LOCK_MS } from './full-scripts.js';
import { open, seal } from './full-seal.js';
import { connect, MOST_RUNNING, MOST_TAKEN, sayReady, UPSTREAM_URL } from './process.js';

const RENEW_MS = 3_000;
/** In millionths of a millionth of a dollar. */
const PRICE = { prompt: 150_000, completion: 600_000 };
const PER_DOLLAR = 1e12;

const me = randomUUID();
const redis = connectFull();
const blocking = connect();
const upstream = new Pool(UPSTREAM_URL, { connections: 64, pipelining: 1 });
const locked = new Set<string>();
let running = 0;

setInterval(() => {
  if (locked.size === 0) return;
  const renewal = redis.pipeline();
  for (const id of locked) renewal.pexpire(`job:${id}:lock`, LOCK_MS);
  void renewal.exec();
}, RENEW_MS);

function start(taken: readonly Buffer[]): void {
  for (let i = 0; i < taken.length; i += 3) {
    running++;
    void run(String(taken[i]), JSON.parse(String(taken[i + 1])), taken[i + 2] as Buffer);
  }
}

async function run(id: string, job: Job, sealed: Buffer): Promise<void> {
  locked.add(id);
  waited.labels('openai').observe((Date.now() - job.queuedAt) / 1000);
  const startedAt = performance.now();
  const request = JSON.parse(open(sealed));
  const entry = job.chain[job.entry];
  if (!entry) throw new Error('the chain has ended');
  const { statusCode, body } = await upstream.request({
    path: '/v1/chat/completions',
    method: 'POST',
    headersTimeout: 120_000,
    headers: { 'content-type': 'application/json', authorization: 'Bearer k', 'user-agent': 'floor' },
    body: JSON.stringify({ ...request, model: entry.model }),
  });
  const answer = JSON.parse(await body.text());
  const ms = Math.round(performance.now() - startedAt);
  const { prompt_tokens, completion_tokens } = answer.usage;
  const price = prompt_tokens * PRICE.prompt + completion_tokens * PRICE.completion;
  const logEntry = JSON.stringify({
    id,
    workspace: job.workspace,
    route: job.route,
    status: statusCode,
    provider: entry.provider,
    model: entry.model,
    prompt_tokens,
    completion_tokens,
    cost: price,
    ms,
    attempts: [{ ...entry, ms, outcome: 'ok' }],
    at: Date.now(),
  });
  const labels = [job.workspace, job.route, entry.provider, entry.model, 'ok'] as const;
  requests.labels(...labels).inc();
  cost.labels(...labels).inc(price / PER_DOLLAR);
  tokens.labels(...labels, 'in').inc(prompt_tokens);
  tokens.labels(...labels, 'out').inc(completion_tokens);
  latency.labels(...labels).observe(ms / 1000);
  log.info({ id, ...entry, ms, price }, 'settled');
  const head: Head = {
    provider: entry.provider,
    model: entry.model,
    ms,
    cost: (price / PER_DOLLAR).toFixed(9),
  };
  const taken = await redis.settleBuffer(
    me,
    id,
    job.inbox,
    logEntry,
    `${job.workspace}|${job.route}|${entry.provider}|${entry.model}|`,
    price,
    JSON.stringify(head),
    seal(JSON.stringify({ ...answer, model: job.route })),
    1,
  );
  locked.delete(id);
  running--;
  if (Array.isArray(taken)) start(taken);
}

sayReady();
for (;;) {
  if (!(await blocking.bzpopmin('marker', 5)) || running >= MOST_RUNNING) continue;
  start(await redis.takeBuffer(me, Math.min(MOST_TAKEN, MOST_RUNNING - running)));
}
