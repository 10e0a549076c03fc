/** The api of `shape`: a request becomes a job, and the inbox brings its answer. */
import { randomUUID } from 'node:crypto';
import Router from '@koa/router';
import Koa from 'koa';
import bodyParser from 'koa-bodyparser';
import { connect, MODEL, PORT, sayReady } from './process.js';
import { connectShape } from './shape-scripts.js';

const me = randomUUID();
const redis = connectShape();
const blocking = connect();
const waiting = new Map<string, (answer: string) => void>();

const router = new Router();
router.post('/v1/chat/completions', async (ctx) => {
  if (ctx.get('authorization') !== 'Bearer demo') ctx.throw(401);
  const { model, messages } = ctx.request.body as Record<string, unknown>;
  if (typeof model !== 'string' || !Array.isArray(messages)) ctx.throw(400);
  const id = randomUUID();
  const answered = new Promise<string>((resolve) => waiting.set(id, resolve));
  await redis.add(id, ctx.request.rawBody, me, Date.now());
  ctx.body = await answered;
  ctx.set({
    'content-type': 'application/json',
    'x-gateway-provider': 'openai',
    'x-gateway-model': MODEL,
    'x-gateway-fallback': 'false',
    'x-gateway-latency-ms': '1',
    'x-gateway-cost-usd': '0.00001',
  });
});

new Koa()
  .use(bodyParser({ jsonLimit: '10mb' }))
  .use(router.routes())
  .listen(Number(PORT), '127.0.0.1', sayReady);

for (let last = '0'; ; ) {
  const read = await blocking.xread('COUNT', 100, 'BLOCK', 5_000, 'STREAMS', `inbox:${me}`, last);
  for (const [entry, [, id = '', , answer = '']] of read?.[0]?.[1] ?? []) {
    last = entry;
    waiting.get(id)?.(answer);
    waiting.delete(id);
  }
  if (read) void redis.xtrim(`inbox:${me}`, 'MINID', last);
}
