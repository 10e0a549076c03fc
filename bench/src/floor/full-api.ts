/** The api of `full`: as that of `shape`, with the duties of a plain request. */
import { createHash, randomUUID } from 'node:crypto';
import Router from '@koa/router';
import Koa from 'koa';
import bodyParser from 'koa-bodyparser';
import type { Head, Job } from './full-job.js';
import { latency, log, requests } from './full-observing.js';
import { connectFull } from './full-scripts.js';
import { open, seal } from './full-seal.js';
import { connect, MODEL, PORT, sayReady } from './process.js';

interface Answer {
  head: Head;
  body: string;
}

interface Waiting {
  resolve(answer: Answer): void;
  timer: NodeJS.Timeout;
}

interface State {
  id: string;
  key: { workspace: string; limits: object };
}

const TIMEOUT_MS = 120_000;
const ROLES = ['system', 'user', 'assistant', 'tool', 'developer'];

const me = randomUUID();
const redis = connectFull();
const blocking = connect();
const waiting = new Map<string, Waiting>();
const digest = (key: string) => createHash('sha256').update(key).digest('hex');
const keys = new Map([[digest('demo'), { workspace: 'demo', limits: {} }]]);

const app = new Koa<State>();
app.use(async (ctx, next) => {
  ctx.state.id = randomUUID();
  ctx.set('x-request-id', ctx.state.id);
  const startedAt = performance.now();
  try {
    await next();
  } catch (error) {
    const { status = 500, message } = error as Error & { status?: number };
    ctx.status = status;
    ctx.body = { error: { message, type: 'x', code: 'x', param: null } };
  }
  const labels = ['demo', 'fast', 'openai', MODEL, 'ok'] as const;
  requests.labels(...labels).inc();
  latency.labels(...labels).observe((performance.now() - startedAt) / 1000);
  const ms = performance.now() - startedAt;
  log.info({ id: ctx.state.id, status: ctx.status, ms, method: ctx.method, path: ctx.path }, 'request');
});
app.use(async (ctx, next) => {
  const key = keys.get(digest(ctx.get('authorization').slice(7)));
  if (!key) return ctx.throw(401);
  ctx.state.key = key;
  await next();
});
app.use(bodyParser({ jsonLimit: '10mb' }));

const router = new Router<State>();
router.post('/v1/chat/completions', async (ctx) => {
  const { model, messages, temperature, stream } = ctx.request.body as Record<string, unknown>;
  if (typeof model !== 'string' || !Array.isArray(messages) || !messages.every(isMessage))
    return ctx.throw(400);
  if (temperature != null && !(Number(temperature) >= 0 && Number(temperature) <= 2)) ctx.throw(400);
  if (stream === true) ctx.throw(501);
  const job: Job = {
    requestId: ctx.state.id,
    workspace: ctx.state.key.workspace,
    route: model,
    chain: [{ provider: 'openai', model: MODEL }],
    entry: 0,
    inbox: me,
    deadline: Date.now() + TIMEOUT_MS,
    queuedAt: Date.now(),
    attempts: [],
  };
  const { head, body } = await new Promise<Answer>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('late')), TIMEOUT_MS);
    waiting.set(job.requestId, { resolve, timer });
    redis.add(job.requestId, JSON.stringify(job), seal(ctx.request.rawBody), job.workspace).catch(reject);
  });
  ctx.set('x-gateway-provider', head.provider);
  ctx.set('x-gateway-model', head.model);
  ctx.set('x-gateway-fallback', 'false');
  ctx.set('x-gateway-latency-ms', String(head.ms));
  ctx.set('x-gateway-cost-usd', head.cost);
  ctx.type = 'application/json';
  ctx.body = body;
});
app.use(router.routes());
app.listen(Number(PORT), '127.0.0.1', sayReady);

function isMessage(message: unknown): boolean {
  if (typeof message !== 'object' || message === null) return false;
  const { role, content } = message as Record<string, unknown>;
  return (
    ROLES.includes(String(role)) && (content == null || typeof content === 'string' || Array.isArray(content))
  );
}

for (let last: string | Buffer = '0'; ; ) {
  const read = await blocking.xreadBuffer('COUNT', 100, 'BLOCK', 5_000, 'STREAMS', `inbox:${me}`, last);
  if (!read) continue;
  const entries: Buffer[] = [];
  for (const [entry, [, id, , head, , sealed]] of read[0]?.[1] ?? []) {
    entries.push(entry);
    const requestId = String(id);
    const caller = waiting.get(requestId);
    if (!caller || !head || !sealed) continue;
    waiting.delete(requestId);
    clearTimeout(caller.timer);
    caller.resolve({ head: JSON.parse(head.toString()), body: open(sealed) });
  }
  last = entries.at(-1) ?? last;
  void redis.xdel(`inbox:${me}`, ...entries);
}
