/** Calls that outlive their worker: the provider carries them out, and whoever takes the job over asks for the answer. */
import type { Call } from '@sluice/simulator/call-log';
import { createTcpProxy, type TcpProxy } from '../chaos/tcp-proxy.js';
import { type ChatAnswer, type Gateway, startProcesses } from '../helpers/gateway.js';
import { Hold } from '../helpers/hold.js';
import test from '../helpers/needs-redis.js';
import { until } from '../helpers/until.js';
import { callsFor, textHashOf } from '../helpers/upstream-calls.js';

const CHAIN = [{ provider: 'openai', model: 'gpt-4o', api: 'responses' }];
const hold = new Hold();
let gateway: Gateway;
/** Before the upstream: it holds what is sent to it, and what it answers. */
let sent: TcpProxy;
let answered: TcpProxy;
const NOT_WRITTEN = 'its id is not written';

/** The provider has begun the call. Its answer stays on the way. */
function latency(call: Call) {
  if (call.textHash === textHashOf(NOT_WRITTEN) && callsFor(gateway.simulator, NOT_WRITTEN).length === 1)
    answered.set({ kind: 'hold' });
  return hold.latency(call);
}

function ask(text: string, model: string, signal?: AbortSignal): Promise<ChatAnswer> {
  return gateway.chat(
    { model, messages: [{ role: 'user', content: text }] },
    signal === undefined ? {} : { signal },
  );
}

/** Kills the only worker, with the calls that it has under way, and starts another. */
async function crash(): Promise<void> {
  await gateway.workers.shift()?.end('SIGKILL');
  await gateway.addWorker();
}

/** A job has the id of a response. */
async function kept(count: number): Promise<string[]> {
  return until('ids in Redis', async () => {
    const keys = await gateway.redis.keys('*queue:*');
    const ids: string[] = [];
    for (const key of keys)
      if ((await gateway.redis.type(key)) === 'hash') {
        const id = await gateway.redis.hget(key, 'response');
        if (id !== null) ids.push(id);
      }
    return ids.length >= count ? ids : undefined;
  });
}

test.before(async () => {
  const upstream = { host: '127.0.0.1', port: 0 };
  [sent, answered] = await Promise.all([createTcpProxy(upstream), createTcpProxy(upstream)]);
  const behind = ({ port }: TcpProxy) => ({
    kind: 'openai',
    base_url: `http://127.0.0.1:${port}/v1`,
    api_key: '${OPENAI_API_KEY}',
    max_wait_ms: 120_000,
  });
  gateway = await startProcesses({
    providers: {
      openai: { max_wait_ms: 120_000, circuit_failures: 0 },
      sent: behind(sent),
      answered: behind(answered),
      pooled: {
        kind: 'openai',
        base_url: '${OPENAI_BASE_URL}',
        max_wait_ms: 120_000,
        keys: [
          { name: 'a', api_key: '${OPENAI_API_KEY}' },
          { name: 'b', api_key: '${ANTHROPIC_API_KEY}' },
        ],
      },
    },
    routes: {
      resumed: { on_crash: 'resume', chain: CHAIN },
      careful: { on_crash: 'fail', chain: CHAIN.map((entry) => ({ ...entry, on_crash: 'resume' })) },
      pooled: { on_crash: 'resume', chain: CHAIN.map((entry) => ({ ...entry, provider: 'pooled' })) },
      chat: { on_crash: 'resume', chain: [{ provider: 'openai', model: 'gpt-4o' }] },
      sent: { on_crash: 'resume', chain: CHAIN.map((entry) => ({ ...entry, provider: 'sent' })) },
      answered: { on_crash: 'resume', chain: CHAIN.map((entry) => ({ ...entry, provider: 'answered' })) },
    },
    simulator: { latencyMs: latency },
  });
  upstream.port = gateway.simulator.port;
});
test.beforeEach(() => hold.hold());
test.afterEach.always(() => {
  hold.release();
  gateway.simulator.clearScript();
});
test.after.always(async () => {
  await gateway?.stop();
  await Promise.all([sent?.close(), answered?.close()]);
});

async function outcomesOf({ headers }: ChatAnswer): Promise<string[]> {
  const entry = (await gateway.log()).find(({ id }) => `req_${id}` === headers.get('x-request-id'));
  estimates.push(...(entry?.attempts.flatMap(({ estimate }) => estimate ?? []) ?? []));
  return entry?.attempts.map(({ outcome }) => outcome) ?? [];
}
const estimates: number[] = [];

test.serial('the answer of a call whose worker dies, twice, is fetched and not made again', async (t) => {
  const answers = ['resumed', 'careful', 'pooled'].map((model) => ask(`survives ${model}`, model));
  await until('three calls', () => hold.held.length === 3);
  for (const id of await kept(3)) t.false(id.includes('resp_'), 'the id is sealed');
  await crash();
  const asked = gateway.simulator.otherCalls.length;
  await until('questions of the other worker', () => gateway.simulator.otherCalls.length > asked);
  await crash();
  hold.release();
  for (const [i, model] of ['resumed', 'careful', 'pooled'].entries()) {
    const answer = (await answers[i]) as ChatAnswer;
    t.is(answer.status, 200, JSON.stringify(answer.body));
    t.regex(answer.body.choices[0].message.content, new RegExp(`survives ${model}`));
    t.is(callsFor(gateway.simulator, `survives ${model}`).length, 1);
    t.deepEqual(await outcomesOf(answer), ['ok']);
    t.is(answer.headers.get('x-gateway-attempts'), '1');
  }
  t.deepEqual(estimates, [], 'every bill is known');
  await until('nothing is left at the provider', () => gateway.simulator.background.ids.length === 0);
});

/** What the provider sees and the log says when the worker dies just then. Only the first three calls are lost. */
const STEPS = {
  'nothing has arrived': { calls: 1, outcomes: ['unknown', 'ok'] },
  'it has arrived': { calls: 2, outcomes: ['unknown', 'ok'] },
  [NOT_WRITTEN]: { calls: 2, outcomes: ['unknown', 'ok'] },
  'its id is written': { calls: 1, outcomes: ['ok'] },
  'it is answered': { calls: 1, outcomes: ['ok'] },
  'it is settled': { calls: 1, outcomes: ['ok'] },
} as const;
type Step = keyof typeof STEPS;

test.serial('at whichever step a worker dies, a call whose id is written is not made again', async (t) => {
  const { simulator, redis } = gateway;
  const answers = {} as Record<Step, Promise<ChatAnswer>>;
  const begin = async (step: Step, model = 'resumed') => {
    const ids = new Set(simulator.background.ids);
    answers[step] = ask(step, model);
    await until(`the call: ${step}`, () => callsFor(simulator, step).length === 1);
    return () => simulator.background.ids.filter((id) => !ids.has(id));
  };
  const end = (step: Step) => hold.held.find(({ call }) => call.textHash === textHashOf(step))?.release();

  const [settled = ''] = (await begin('it is settled'))();
  simulator.script({
    match: { path: `/v1/responses/${settled}`, method: 'DELETE' },
    action: { delayMs: 3_600_000 },
  });
  end('it is settled');
  t.is((await answers['it is settled']).status, 200);

  const [response = ''] = (await begin('it is answered'))();
  await begin('its id is written');
  await kept(2);
  sent.set({ kind: 'hold' });
  answers['nothing has arrived'] = ask('nothing has arrived', 'sent');
  await until('a connection', () => sent.connections === 1);
  simulator.script({ match: { textIncludes: 'it has arrived' }, times: 1, action: { delayMs: 3_600_000 } });
  await begin('it has arrived');
  await begin(NOT_WRITTEN, 'answered');

  // Nothing is written from now on: neither an id nor a settlement.
  await redis.client('PAUSE', 600_000, 'WRITE');
  answered.set({ kind: 'clear' });
  const before = simulator.otherCalls.length;
  end('it is answered');
  await until('the answer', () =>
    simulator.otherCalls.slice(before).some(({ path, status }) => path.endsWith(response) && status === 200),
  );
  await gateway.workers.shift()?.end('SIGKILL');
  await redis.client('UNPAUSE');
  sent.reset();
  sent.set({ kind: 'clear' });
  hold.release();
  await gateway.addWorker();

  for (const step of Object.keys(STEPS) as Step[]) {
    const { calls, outcomes } = STEPS[step];
    t.is((await answers[step]).status, 200, step);
    t.is(callsFor(simulator, step).length, calls, step);
    t.deepEqual(await outcomesOf(await answers[step]), [...outcomes], step);
  }
  const bills = (await gateway.log()).filter(({ served }) => served !== undefined);
  t.is(bills.length, new Set(bills.map(({ id }) => id)).size, 'each is booked once');
  // The provider forgets by itself what nobody knows the id of, and what was to be deleted.
  await until('the rest is deleted', () => simulator.background.ids.length <= 2);
  t.true(simulator.background.ids.includes(settled));
  simulator.background.forget();
});

test.serial('a worker that wakes up after another has taken its call over makes no other call', async (t) => {
  const answer = ask('taken over', 'resumed');
  await until('the call', () => hold.held.length === 1);
  await kept(1);
  const [frozen] = gateway.workers;
  frozen?.child.kill('SIGSTOP');
  await gateway.addWorker();
  const asked = gateway.simulator.otherCalls.length;
  await until('questions of the other worker', () => gateway.simulator.otherCalls.length > asked);
  hold.release();
  t.is((await answer).status, 200);
  await until('it is deleted', () => gateway.simulator.background.ids.length === 0);
  const before = gateway.simulator.otherCalls.length;
  frozen?.child.kill('SIGCONT');
  // The worker that has woken up asks once more, or finds at once that it has lost the job.
  await ask('the next', 'chat');
  t.is(callsFor(gateway.simulator, 'taken over').length, 1);
  t.deepEqual(await outcomesOf(await answer), ['ok']);
  t.true(gateway.simulator.otherCalls.slice(before).every(({ path }) => !path.endsWith('/cancel')));
  await gateway.workers.shift()?.end();
});

test.serial('a response that the provider has forgotten is what on_crash says', async (t) => {
  const answers = [ask('forgotten', 'resumed'), ask('gone', 'careful')] as const;
  await until('two calls', () => hold.held.length === 2);
  await kept(2);
  await gateway.workers.shift()?.end('SIGKILL');
  gateway.simulator.background.forget();
  hold.release();
  await gateway.addWorker();
  const [again, failed] = await Promise.all(answers);
  t.is(again.status, 200);
  t.is(callsFor(gateway.simulator, 'forgotten').length, 2);
  t.deepEqual(await outcomesOf(again), ['unknown', 'ok']);
  t.is(failed.status, 502);
  t.is(failed.body.error.code, 'provider_outcome_unknown');
  t.is(callsFor(gateway.simulator, 'gone').length, 1);
});

test.serial('a caller who hangs up ends the call at the provider', async (t) => {
  const controller = new AbortController();
  const answer = ask('nobody waits', 'resumed', controller.signal);
  await until('the call', () => hold.held.length === 1);
  const before = gateway.simulator.otherCalls.length;
  controller.abort();
  await t.throwsAsync(answer, { any: true });
  await until('it is cancelled', () =>
    gateway.simulator.otherCalls.slice(before).some(({ path }) => path.endsWith('/cancel')),
  );
  await until('and deleted', () => gateway.simulator.background.ids.length === 0);
  t.pass();
});

test.serial('where a background call would have to be stored, it is an ordinary one', async (t) => {
  hold.release();
  gateway.simulator.script({ action: { refuseBackground: true } });
  const sent = (text: string) =>
    callsFor(gateway.simulator, text).map(({ body }) => (body as { background?: boolean }).background);
  const first = await ask('not stored', 'resumed');
  t.is(first.status, 200);
  t.deepEqual(await outcomesOf(first), ['ok']);
  t.deepEqual(sent('not stored'), [true, undefined]);
  t.is((await ask('remembered', 'resumed')).status, 200);
  t.deepEqual(sent('remembered'), [undefined]);
  t.is((await ask('by chat', 'chat')).status, 200);
  t.deepEqual(sent('by chat'), [undefined]);
});

test.serial('while Redis is away the worker knows the id alone, and the call is not lost', async (t) => {
  await crash();
  gateway.simulator.script({ times: 1, action: { delayMs: 3_000 } });
  const { port } = new URL(gateway.redisServer.url);
  const answer = ask('without Redis', 'resumed');
  await until('the call', () => callsFor(gateway.simulator, 'without Redis').length === 1);
  await gateway.redisServer.stop();
  await until('it has begun', () => hold.held.length === 1);
  await gateway.restartRedis(Number(port));
  await kept(1);
  await crash();
  hold.release();
  t.is((await answer).status, 200);
  t.is(callsFor(gateway.simulator, 'without Redis').length, 1);
});
