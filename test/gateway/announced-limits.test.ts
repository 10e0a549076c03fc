/** Limits that the operator has not set, and that the provider announces with its answers. */
import { adminOf } from '../helpers/admin.js';
import { type Gateway, startGateway } from '../helpers/gateway.js';
import test from '../helpers/needs-redis.js';
import { until } from '../helpers/until.js';

const LIMIT = 40;
const PER_SECOND = 10;

/** Its upstream announces a limit per minute. */
let minute: Gateway;
/** Its upstream announces a limit per second. */
let second: Gateway;

test.before(async () => {
  const routes = { only: [{ provider: 'openai', model: 'gpt-4o-mini' }] };
  [minute, second] = await Promise.all([
    startGateway({
      routes,
      providers: { openai: { max_wait_ms: 1_000 } },
      simulator: { limits: { openai: { requestsPerMinute: LIMIT } } },
    }),
    startGateway({
      routes,
      workers: 2,
      simulator: { limits: { openai: { requestsPerMinute: 60 * PER_SECOND, windowMs: 1_000 } } },
    }),
  ]);
});
test.after.always(() => Promise.all([minute?.stop(), second?.stop()]));

const ask = (gateway: Gateway) =>
  gateway.chat({ model: 'only', messages: [{ role: 'user', content: 'Hello' }] });

async function limitsOf(gateway: Gateway) {
  const { body } = await adminOf(gateway)('GET', '/providers');
  return body.data.find(({ name }: { name: string }) => name === 'openai').limits;
}

/** On a busy machine a request may wait for longer than it may in this gateway. It is asked again, and the provider has seen one. */
async function askUntilServed(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await until('an answer', async () => (await ask(minute)).status === 200);
}

test('a limit of which much is used holds as if it were set, and the provider refuses nothing', async (t) => {
  await askUntilServed(LIMIT / 20);
  t.deepEqual(await limitsOf(minute), [], 'far below the limit nobody counts');
  await askUntilServed(LIMIT / 20);
  const [limit] = await until('the limit is known', async () => {
    const limits = await limitsOf(minute);
    return limits.length > 0 && limits;
  });
  t.like(limit, { type: 'requests', models: 'gpt-4o-mini', limit: LIMIT, source: 'announced' });

  const answers = [];
  for (let i = 0; i < LIMIT; i++) answers.push(await ask(minute));
  const refused = answers.filter(({ status }) => status === 429);
  t.true(refused.length > 0);
  t.true(refused.every(({ body }) => body.error.code === 'rate_limited'));
  t.is(minute.simulator.limiters.openai?.refused, 0, 'the gateway has refused them, and not the provider');
});

test('a limit per second is spaced out, and every caller is served', async (t) => {
  const answers = await Promise.all(Array.from({ length: 5 * PER_SECOND }, () => ask(second)));
  t.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
  const before = second.simulator.limiters.openai?.refused ?? 0;
  const more = await Promise.all(Array.from({ length: 5 * PER_SECOND }, () => ask(second)));
  t.deepEqual(new Set(more.map(({ status }) => status)), new Set([200]));
  const [limit] = await limitsOf(second);
  t.is(limit.type, 'requests');
  // A refusal that came all the same has taught more than the header says.
  t.true(['announced', 'found'].includes(limit.source));
  t.true(limit.limit > 50 * PER_SECOND && limit.limit <= 60 * PER_SECOND, `${limit.limit} a minute`);
  const refused = (second.simulator.limiters.openai?.refused ?? 0) - before;
  // Sent at once, four of five would be refused. On a machine that stands still some of those that were spaced out meet again.
  t.true(refused < more.length / 2, `${refused} calls were refused`);
});
