/** Classes of requests. The order of service is seen at an upstream whose answers are held back. */

import { type Gateway, startGateway } from '../helpers/gateway.js';
import { Hold } from '../helpers/hold.js';
import test from '../helpers/needs-redis.js';
import { scrape, sumOf } from '../helpers/scrape.js';
import { until } from '../helpers/until.js';
import { textHashOf } from '../helpers/upstream-calls.js';

const hold = new Hold();
const routes = {
  solo: [{ provider: 'openai', model: 'gpt-4o-mini' }],
  wide: [{ provider: 'wide', model: 'gpt-4o-mini' }],
  hasty: [{ provider: 'hasty', model: 'gpt-4o-mini' }],
};
let gateway: Gateway;

test.before(async () => {
  const own = {
    kind: 'openai',
    base_url: '${OPENAI_BASE_URL}',
    api_key: '${OPENAI_API_KEY}',
    circuit_failures: 0,
  };
  gateway = await startGateway({
    providers: {
      openai: { concurrency: 1, max_wait_ms: 100_000, circuit_failures: 0 },
      wide: { ...own, concurrency: 4, max_wait_ms: 100_000 },
      // Whoever waits has to be seen waiting, also on a machine that stops for a while.
      hasty: { ...own, concurrency: 1, max_wait_ms: 20_000, max_backlog: 2 },
    },
    workspaces: {
      app: { routes, key: { max_priority: 'interactive' } },
      other: { routes, key: { max_priority: 'interactive' } },
      plain: { routes },
    },
    simulator: { latencyMs: hold.latency },
  });
});
test.beforeEach(() => {
  gateway.simulator.reset();
  hold.hold();
});
test.afterEach.always(() => hold.release());
test.after.always(() => gateway?.stop());

function send(workspace: string, model: string, text: string, priority?: string) {
  return gateway.chat(
    { model, messages: [{ role: 'user', content: text }] },
    {
      key: gateway.keys[workspace] ?? '',
      ...(priority === undefined ? {} : { headers: { 'x-gateway-priority': priority } }),
    },
  );
}

/** Sends requests one after the other, each only when the one before waits or runs, and says in which order they ran. */
async function orderOf(requests: [workspace: string, text: string, priority: string][]): Promise<string[]> {
  const answers: ReturnType<typeof send>[] = [];
  for (const [i, [workspace, text, priority]] of requests.entries()) {
    answers.push(send(workspace, 'solo', text, priority));
    await until(
      `${text} in its place`,
      async () => hold.held.length === 1 && (await gateway.backlog('openai')) === i,
    );
  }
  const names = new Map(requests.map(([, text]) => [textHashOf(text), text]));
  const order: string[] = [];
  while (order.length < requests.length) {
    const next = await until('the next call', () => hold.held.shift());
    order.push(names.get(next.call.textHash) ?? '?');
    next.release();
  }
  await Promise.all(answers);
  return order;
}

test.serial('urgent requests run first, and workspaces take turns within a class', async (t) => {
  const order = await orderOf([
    ['app', 'running', 'normal'],
    ['app', 'late 1', 'background'],
    ['app', 'late 2', 'background'],
    ['other', 'late 3', 'background'],
    ['app', 'usual 1', 'normal'],
    ['app', 'usual 2', 'normal'],
    ['other', 'usual 3', 'normal'],
    ['other', 'soon', 'interactive'],
  ]);
  t.deepEqual(order.slice(0, 2), ['running', 'soon']);
  t.deepEqual(order.slice(2, 5), ['usual 1', 'usual 3', 'usual 2']);
  t.deepEqual(order.slice(5), ['late 3', 'late 1', 'late 2']);
});

test.serial('a class that waits gets its turns whatever comes before it', async (t) => {
  const urgent = Array.from({ length: 20 }, (_, i): [string, string, string] => [
    'app',
    `urgent ${i}`,
    'interactive',
  ]);
  const order = await orderOf([
    ['app', 'running', 'normal'],
    ['app', 'patient', 'background'],
    ['app', 'usual', 'normal'],
    ...urgent,
  ]);
  t.is(order.indexOf('usual'), 4);
  t.is(order.indexOf('patient'), 16);
  t.deepEqual(
    order.filter((text) => text.startsWith('urgent')),
    urgent.map(([, text]) => text),
  );
});

test.serial('background requests leave a slot to those that come later', async (t) => {
  const late = Array.from({ length: 5 }, (_, i) => send('app', 'wide', `late ${i}`, 'background'));
  await until(
    'three of them run',
    async () => hold.held.length === 3 && (await gateway.backlog('wide')) === 2,
  );
  const soon = send('app', 'wide', 'soon');
  await until('a normal one runs at once', () =>
    hold.held.some(({ call }) => call.textHash === textHashOf('soon')),
  );
  t.is(await gateway.backlog('wide'), 2);
  hold.release();
  t.deepEqual(
    (await Promise.all([...late, soon])).map(({ status }) => status),
    Array(6).fill(200),
  );
});

test.serial(
  'a queue full of background requests takes others, and only the background outwaits max_wait_ms',
  async (t) => {
    const first = send('app', 'hasty', 'first');
    await until('it runs', () => hold.held.length === 1);
    const late = [1, 2].map((n) => send('app', 'hasty', `late ${n}`, 'background'));
    await until('two wait', async () => (await gateway.backlog('hasty')) === 2);
    const refused = await send('app', 'hasty', 'late 3', 'background');
    t.is(refused.status, 429);
    const usual = send('app', 'hasty', 'usual');
    await until('it waits beside them', async () => (await gateway.backlog('hasty')) === 3);
    t.is((await usual).status, 429);
    t.is(await gateway.backlog('hasty'), 2);
    hold.release();
    t.deepEqual(
      (await Promise.all([first, ...late])).map(({ status }) => status),
      [200, 200, 200],
    );
  },
);

test.serial(
  'a key lowers the class that a request names, the answer and the log say which it got',
  async (t) => {
    hold.release();
    const lowered = await send('plain', 'solo', 'lowered', 'interactive');
    t.is(lowered.headers.get('x-gateway-priority'), 'normal');
    const kept = await send('app', 'solo', 'kept', 'Interactive');
    t.is(kept.headers.get('x-gateway-priority'), 'interactive');
    const unnamed = await send('app', 'solo', 'unnamed');
    t.is(unnamed.headers.get('x-gateway-priority'), null);
    const wrong = await send('app', 'solo', 'wrong', 'asap');
    t.is(wrong.status, 400);
    t.is(wrong.body.error.param, 'x-gateway-priority');
    const classes = (await gateway.log()).slice(-3).map(({ priority }) => priority);
    t.deepEqual(classes, [undefined, 'interactive', undefined]);
    const samples = await scrape(gateway.workers[0] ?? { metricsUrl: '' });
    for (const priority of ['interactive', 'normal', 'background']) {
      const labels = { provider: 'openai', priority };
      t.true((sumOf(samples, 'gateway_queue_wait_seconds_count', labels) ?? 0) > 0, priority);
    }
  },
);
