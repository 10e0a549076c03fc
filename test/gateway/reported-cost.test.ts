/** `cost: reported`: what a provider says that a call cost is booked when it can be true. Both costs are kept. */
import type { LogEntry } from '@sluice/shared/queue/request-log';
import type { ExecutionContext } from 'ava';
import { adminOf, type CallAdmin } from '../helpers/admin.js';
import { type Gateway, startGateway } from '../helpers/gateway.js';
import test from '../helpers/needs-redis.js';
import { scrape, sumOf } from '../helpers/scrape.js';
import { until } from '../helpers/until.js';

/** A million tokens each way of gpt-4o-mini: 0.15 + 0.60 USD. */
const TOKENS = { prompt_tokens: 1_000_000, completion_tokens: 1_000_000 };
const LISTED = '0.750000';

let gateway: Gateway;
let admin: CallAdmin;
test.before(async () => {
  const server = {
    ...{ kind: 'openai', base_url: '${OPENAI_BASE_URL}', api_key: '${OPENAI_API_KEY}' },
    rename_models: { 'nobody-knows-9': 'gpt-4o-mini' },
  };
  gateway = await startGateway({
    providers: { telling: { ...server, cost: 'reported' }, silent: server },
    routes: Object.fromEntries(
      ['telling', 'silent'].flatMap((provider) => [
        [provider, [{ provider, model: 'gpt-4o-mini' }]],
        [`${provider}-unknown`, [{ provider, model: 'nobody-knows-9' }]],
      ]),
    ),
  });
  admin = adminOf(gateway);
});
test.after.always(() => gateway?.stop());

/** Asks once, and returns the header and the entry of the log. */
async function ask(
  route: string,
  usage: Record<string, unknown>,
): Promise<{ header: string; entry: LogEntry }> {
  const text = `${route} ${JSON.stringify(usage)}`;
  gateway.simulator.script({ match: { textIncludes: text }, action: { usage: { ...TOKENS, ...usage } } });
  const { status, headers } = await gateway.chat({
    model: route,
    messages: [{ role: 'user', content: text }],
  });
  if (status !== 200) throw new Error(`status ${status}`);
  const id = headers.get('x-request-id')?.replace('req_', '');
  const entry = await until('the entry', async () => (await gateway.log()).find((each) => each.id === id));
  return { header: headers.get('x-gateway-cost-usd') ?? '', entry };
}

async function isBooked(
  t: ExecutionContext,
  route: string,
  cost: unknown,
  expected: { header: string; source: string; reported?: string; listed?: string; priced?: boolean },
): Promise<void> {
  const { header, entry } = await ask(route, { cost });
  t.is(header, expected.header, `${route} ${JSON.stringify(cost)}`);
  const { body } = await admin('GET', `/requests/req_${entry.id}`);
  t.like(body, {
    cost_usd: expected.header,
    cost_source: expected.source,
    priced: expected.priced ?? true,
    billed: 'exact',
  });
  t.is(body.attempts[0].reported_usd, expected.reported);
  t.is(body.attempts[0].listed_usd, expected.listed);
}

test('a reported cost is booked, with the listed one beside it', async (t) => {
  const both = { reported: '3.300000', listed: LISTED };
  await isBooked(t, 'telling', 3.3, { header: '3.300000', source: 'reported', ...both });
  await isBooked(t, 'telling', { total_cost: 3.3 }, { header: '3.300000', source: 'reported', ...both });
  await isBooked(t, 'telling', 0, {
    header: '0.000000',
    source: 'reported',
    reported: '0.000000',
    listed: LISTED,
  });
});

test('a model without a price costs what is reported', async (t) => {
  const told = { header: '3.300000', source: 'reported', reported: '3.300000' };
  await isBooked(t, 'telling-unknown', 3.3, told);
  const { body } = await admin('GET', '/spend?route=telling-unknown');
  t.is(body.total.unknown_bills, 0);
  t.true(Number(body.total.cost_usd) >= 3.3);
});

test('what cannot be true is kept, and the list’s price is booked', async (t) => {
  // A negative amount, and cents for dollars.
  await isBooked(t, 'telling', -3.3, {
    header: LISTED,
    source: 'list',
    reported: '-3.300000',
    listed: LISTED,
  });
  await isBooked(t, 'telling', 75, { header: LISTED, source: 'list', reported: '75.000000', listed: LISTED });
  for (const nonsense of ['3.3', null, 1e300, { usd: 3 }])
    await isBooked(t, 'telling', nonsense, { header: LISTED, source: 'list' });
});

test('elsewhere the registry’s price stands', async (t) => {
  await isBooked(t, 'silent', 3.3, { header: LISTED, source: 'list' });
  await isBooked(t, 'silent-unknown', 3.3, { header: '0.000000', source: 'list', priced: false });
});

test('differences are counted', async (t) => {
  for (const cost of [0.75, 0.7, -1]) await ask('telling', { cost, native_tokens: 1 });
  await ask('telling-unknown', { cost: 1, native_tokens: 1 });
  const [worker] = gateway.workers;
  if (!worker) throw new Error('no worker');
  for (const result of ['same', 'differs', 'refused', 'unlisted'])
    await until(result, async () => {
      const labels = { provider: 'telling', result };
      return (sumOf(await scrape(worker), 'gateway_reported_costs_total', labels) ?? 0) >= 1;
    });
  t.pass();
});
