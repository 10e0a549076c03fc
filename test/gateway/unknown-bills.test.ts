/**
 * Calls that were sent and whose bill nobody knows: cut off by the caller or the clock, answered with too much, or
 * without a usage or a price. Each is in the log and in the ledger with an estimate, apart from the exact cost.
 */
import type { LogEntry } from '@sluice/shared/queue/request-log';
import { formatUsd } from '@sluice/shared/registry/price';
import type { ExecutionContext } from 'ava';
import { adminOf, type CallAdmin } from '../helpers/admin.js';
import { type ChatAnswer, type Gateway, startGateway } from '../helpers/gateway.js';
import test from '../helpers/needs-redis.js';
import { scrape, sumOf } from '../helpers/scrape.js';
import { sluiceOf } from '../helpers/sluice.js';
import { until } from '../helpers/until.js';
import { callsFor } from '../helpers/upstream-calls.js';

const MAX_TOKENS = 1_000;
/** gpt-4o-mini: 0.15 and 0.60 USD per million tokens. */
const MINI = { input: 150_000, output: 600_000 };

let gateway: Gateway;
let admin: CallAdmin;
test.before(async () => {
  const mini = { provider: 'openai', model: 'gpt-4o-mini' };
  const workspace = { routes: { solo: [mini], pair: [mini, { ...mini, provider: 'spare' }] } };
  const names = [
    'hangup',
    'deadline',
    'huge',
    'broken',
    'chained',
    'usage',
    'beyond',
    'tier',
    'refused',
    'dead',
    'voice',
    'spent',
  ];
  gateway = await startGateway({
    providers: {
      openai: { circuit_failures: 0 },
      spare: { kind: 'openai', base_url: '${OPENAI_BASE_URL}', api_key: '${OPENAI_API_KEY}' },
      nobody: { kind: 'openai', base_url: 'http://127.0.0.1:1/v1', circuit_failures: 0 },
    },
    workspaces: {
      ...Object.fromEntries(names.map((name) => [name, workspace])),
      dead: { routes: { solo: [{ provider: 'nobody', model: 'gpt-4o-mini' }] } },
      spent: { ...workspace, limits: { budget_usd_per_month: 0.0015 } },
    },
  });
  admin = adminOf(gateway);
});
test.after.always(() => gateway?.stop());

const bodyOf = (text: string, model = 'solo') => ({
  model,
  messages: [{ role: 'user', content: text }],
  max_tokens: MAX_TOKENS,
});
const ask = (workspace: string, text: string, model = 'solo', init = {}): Promise<ChatAnswer> =>
  gateway.chat(bodyOf(text, model), { key: gateway.keys[workspace] ?? '', ...init });

/** A third of the bytes that were sent, and as much output as was asked for. */
function estimateOf(text: string, model = 'solo'): number {
  const bytes = Buffer.byteLength(JSON.stringify(bodyOf(text, model)));
  return Math.ceil(bytes / 3) * MINI.input + MAX_TOKENS * MINI.output;
}

async function onlyEntry(workspace: string): Promise<LogEntry> {
  return until('the log entry', async () =>
    (await gateway.log()).find((each) => each.workspace === workspace),
  );
}

/** The estimate that is booked for the only request of that workspace, in dollars. */
const estimatedOf = async (workspace: string) => {
  const estimate = (await onlyEntry(workspace)).attempts[0]?.estimate ?? 0;
  return estimate > 0 ? formatUsd(estimate) : 'none';
};

const spendOf = async (workspace: string) => (await admin('GET', `/spend?workspace=${workspace}`)).body.total;
const limitsOf = async (workspace: string) => (await admin('GET', `/workspaces/${workspace}/limits`)).body;

/** One call of that workspace, cut off. */
async function isEstimated(
  t: ExecutionContext,
  workspace: string,
  outcome: string,
  estimate: number,
): Promise<void> {
  const entry = await onlyEntry(workspace);
  t.deepEqual(
    entry.attempts.map((attempt) => [attempt.outcome, attempt.estimate]),
    [[outcome, estimate]],
  );
  t.like(await spendOf(workspace), {
    cost_picodollars: '0',
    unknown_bills: 1,
    estimated_picodollars: String(estimate),
  });
  t.like((await limitsOf(workspace)).used, {
    spent_picodollars: '0',
    estimated_picodollars: String(estimate),
  });
  const { body } = await admin('GET', `/requests/req_${entry.id}`);
  t.like(body, { billed: 'unknown', cost_usd: '0.000000', estimated_picodollars: String(estimate) });
  t.is(body.attempts[0].billed, 'unknown');
}

test('a caller who hangs up in mid-call leaves an estimate', async (t) => {
  gateway.simulator.script({ match: { textIncludes: 'hangs up' }, action: { hang: true } });
  const controller = new AbortController();
  const asked = ask('hangup', 'hangs up', 'solo', { signal: controller.signal });
  await until('the call', () => callsFor(gateway.simulator, 'hangs up').length === 1);
  controller.abort();
  await t.throwsAsync(asked, { any: true });
  await isEstimated(t, 'hangup', 'cancelled', estimateOf('hangs up'));
});

test('a call that ends at the deadline leaves an estimate', async (t) => {
  gateway.simulator.script({ match: { textIncludes: 'too late' }, action: { hang: true } });
  // Long enough for the call to reach the provider on a machine that stops for a while.
  const answer = await ask('deadline', 'too late', 'solo', { headers: { 'x-stainless-timeout': '20' } });
  t.is(answer.body.error.code, 'provider_timeout');
  await isEstimated(t, 'deadline', 'timeout', estimateOf('too late'));
});

test('an answer that is too large to read leaves an estimate', async (t) => {
  gateway.simulator.script({ match: { textIncludes: 'too much' }, action: { hugeBody: 19 * 1024 * 1024 } });
  t.is((await ask('huge', 'too much')).status, 502);
  await isEstimated(t, 'huge', 'too_large', estimateOf('too much'));
});

test('an answer that breaks off leaves an estimate', async (t) => {
  gateway.simulator.script({ match: { textIncludes: 'breaks off' }, action: { truncate: true } });
  t.is((await ask('broken', 'breaks off')).status, 502);
  await isEstimated(t, 'broken', 'connection', estimateOf('breaks off'));
});

test('the estimate of a call that was cut off goes along when the next entry serves', async (t) => {
  gateway.simulator.script({ match: { textIncludes: 'goes on' }, times: 1, action: { empty200: true } });
  const answer = await ask('chained', 'goes on', 'pair');
  t.is(answer.headers.get('x-gateway-provider'), 'spare');
  const { body } = await admin('GET', '/spend?workspace=chained&by=provider');
  const rows = Object.fromEntries(body.data.map((row: { provider: string }) => [row.provider, row]));
  t.like(rows.openai, {
    requests: 0,
    cost_picodollars: '0',
    unknown_bills: 1,
    estimated_picodollars: String(estimateOf('goes on', 'pair')),
  });
  t.like(rows.spare, { requests: 1, unknown_bills: 0, estimated_picodollars: '0' });
  t.is(rows.spare.cost_usd, answer.headers.get('x-gateway-cost-usd'));
});

test('a usage beyond what the call may have written is booked, and flagged', async (t) => {
  gateway.simulator.script({
    match: { textIncludes: 'beyond' },
    action: { usage: { prompt_tokens: 10, completion_tokens: 16_000 } },
  });
  t.is((await ask('beyond', 'beyond')).status, 200);
  const { id } = await onlyEntry('beyond');
  const { body } = await admin('GET', `/requests/req_${id}`);
  t.is(body.usage.output, 16_000);
  t.is(body.cost_picodollars, String(10 * MINI.input + 16_000 * MINI.output));
  t.is(body.attempts[0].allowed_output, MAX_TOKENS);
  const worker = gateway.workers[0] ?? t.fail();
  await until('it is counted', async () => {
    const flagged = sumOf(await scrape(worker), 'gateway_usage_beyond_limit_total', { model: 'gpt-4o-mini' });
    return flagged === 1;
  });
  const line = await until('the warning', () =>
    gateway
      .output()
      .split('\n')
      .find((each) => each.includes('more tokens than the call may have written')),
  );
  t.like(JSON.parse(line), {
    requestId: `req_${id}`,
    provider: 'openai',
    allowed: MAX_TOKENS,
    reported: 16_000,
  });
  const text = await sluiceOf(gateway)(`requests req_${id}`);
  t.regex(text.out, /16,000 out, of 1,000 that the call may have written/);
});

test('a usage up to what the call may have written is not flagged', async (t) => {
  gateway.simulator.script({
    match: { textIncludes: 'all of it' },
    action: { usage: { prompt_tokens: 10, completion_tokens: 2 * MAX_TOKENS } },
  });
  const answer = await gateway.chat({ ...bodyOf('all of it', 'gpt-4o-mini'), n: 2 });
  const { body } = await admin('GET', `/requests/${answer.headers.get('x-request-id')}`);
  t.is(body.usage.output, 2 * MAX_TOKENS);
  t.false('allowed_output' in body.attempts[0]);
});

test('an answer without a usage leaves an estimate', async (t) => {
  gateway.simulator.script({
    match: { textIncludes: 'no usage' },
    action: { usage: { prompt_tokens: 0, completion_tokens: 0 } },
  });
  const { status, headers } = await ask('usage', 'no usage');
  t.is(status, 200);
  t.is(headers.get('x-gateway-cost-usd'), formatUsd(estimateOf('no usage')));
  await isEstimated(t, 'usage', 'ok', estimateOf('no usage'));
});

test('an answer at a service tier without a price is unpriced, and estimated at the dearest known one', async (t) => {
  gateway.simulator.script({
    match: { textIncludes: 'ultra fast' },
    action: { serviceTier: 'ultrafast', usage: { prompt_tokens: 1_000, completion_tokens: 1_000 } },
  });
  const answer = await ask('tier', 'ultra fast');
  t.is(answer.headers.get('x-gateway-cost-usd'), await estimatedOf('tier'));
  const entry = await onlyEntry('tier');
  t.is(entry.served?.price, null);
  // Priority: 0.25 and 1 USD per million tokens.
  await isEstimated(t, 'tier', 'ok', 1_000 * 250_000 + 1_000 * 1_000_000);
});

test('an answer with audio in it is unpriced', async (t) => {
  gateway.simulator.script({
    match: { textIncludes: 'in a voice' },
    action: {
      usage: {
        prompt_tokens: 1_000,
        completion_tokens: 1_000,
        completion_tokens_details: { audio_tokens: 900 },
      },
    },
  });
  t.is((await ask('voice', 'in a voice')).headers.get('x-gateway-cost-usd'), await estimatedOf('voice'));
  t.is((await onlyEntry('voice')).served?.price, null);
  t.is((await spendOf('voice')).unknown_bills, 1);
});

test('a call that was refused, or never sent, is billed nothing', async (t) => {
  gateway.simulator.script({ match: { textIncludes: 'refused' }, action: { status: 500 } });
  await ask('refused', 'refused');
  await ask('dead', 'never sent');
  for (const workspace of ['refused', 'dead']) {
    const entry = await onlyEntry(workspace);
    t.deepEqual(
      entry.attempts.map(({ estimate }) => estimate),
      [undefined],
    );
    t.like(await spendOf(workspace), { unknown_bills: 0, estimated_picodollars: '0' });
    t.is((await admin('GET', `/requests/req_${entry.id}`)).body.billed, 'exact');
  }
});

test('an estimate counts against the budget', async (t) => {
  gateway.simulator.script({ match: { textIncludes: 'eats it up' }, action: { empty200: true } });
  t.is((await ask('spent', 'eats it up')).status, 502);
  const { used } = await limitsOf('spent');
  t.is(used.reserved_picodollars, '0');
  t.is(BigInt(used.left_picodollars), 1_500_000_000n - BigInt(used.estimated_picodollars));
  t.true(BigInt(used.estimated_picodollars) > 0n);
  const refused = await ask('spent', 'again');
  t.is(refused.body.error.code, 'budget_exceeded');
  t.true(refused.body.error.message.includes(`${used.left_usd} USD of 0.001500 USD is left`));
});

test.serial('the metrics show estimates apart from costs', async (t) => {
  gateway.simulator.script({ match: { textIncludes: 'counted' }, action: { empty200: true } });
  const worker = gateway.workers[0] ?? t.fail();
  const before = sumOf(await scrape(worker), 'gateway_estimated_cost_usd_total', { workspace: 'demo' }) ?? 0;
  await gateway.chat({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'counted' }] });
  await until('it is counted', async () => {
    const now = sumOf(await scrape(worker), 'gateway_estimated_cost_usd_total', { workspace: 'demo' }) ?? 0;
    return now > before;
  });
  const api = gateway.apis[0] ?? t.fail();
  const month = sumOf(await scrape(api), 'gateway_workspace_month_estimated_usd', { workspace: 'demo' });
  t.true((month ?? 0) > 0);
  t.is(sumOf(await scrape(api), 'gateway_ledger_cost_usd_total', { workspace: 'demo' }), 0);
});
