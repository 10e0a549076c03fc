/** A worker dies in mid-call: what becomes of its requests is the route's to say, and two crashes are enough. */

import { type ChatAnswer, type Gateway, startProcesses } from '../helpers/gateway.js';
import { Hold } from '../helpers/hold.js';
import test from '../helpers/needs-redis.js';
import { until } from '../helpers/until.js';
import { callsFor } from '../helpers/upstream-calls.js';

const CHAIN = [{ provider: 'openai', model: 'gpt-4o-mini' }];
const hold = new Hold();
let gateway: Gateway;
let rerun: ChatAnswer;
let failed: ChatAnswer;
let poison: ChatAnswer;
let scarce: ChatAnswer;

function ask(text: string, model = 'rerun', key = gateway.key): Promise<ChatAnswer> {
  return gateway.chat({ model, messages: [{ role: 'user', content: text }] }, { key });
}

/** Kills the only worker, with the calls that it has under way, and starts another. */
async function crash(): Promise<void> {
  await gateway.workers.shift()?.end('SIGKILL');
  await gateway.addWorker();
}

test.before(async () => {
  gateway = await startProcesses({
    // A worker that starts on a busy machine takes its time.
    providers: { openai: { max_wait_ms: 120_000 } },
    routes: { rerun: CHAIN, careful: { on_crash: 'fail', chain: CHAIN } },
    // Enough for one call, and not for two.
    workspaces: { scarce: { limits: { budget_usd_per_month: 0.03 } } },
    simulator: { latencyMs: hold.latency },
  });
  const answers = [
    ask('run again'),
    ask('not again', 'careful'),
    ask('poison'),
    ask('too dear', 'gpt-4o-mini', gateway.keys.scarce),
  ];
  await until('four calls', () => hold.held.length === 4);
  await crash();
  await until('two of them again', () => hold.held.length === 6);
  scarce = (await answers[3]) as ChatAnswer;
  hold.held.find(({ call }) => call === callsFor(gateway.simulator, 'run again')[1])?.release();
  [rerun, failed] = (await Promise.all(answers.slice(0, 2))) as [ChatAnswer, ChatAnswer];
  await crash();
  poison = (await answers[2]) as ChatAnswer;
});
test.after.always(async () => {
  hold.release();
  await gateway?.stop();
});

async function outcomesOf({ headers }: ChatAnswer): Promise<string[][]> {
  const entries = (await gateway.log()).filter(({ id }) => `req_${id}` === headers.get('x-request-id'));
  return entries.map(({ attempts }) => attempts.map(({ outcome }) => outcome));
}

test('by default another worker calls again, and the log has the lost call', async (t) => {
  t.is(rerun.status, 200);
  t.is(callsFor(gateway.simulator, 'run again').length, 2);
  t.is(rerun.headers.get('x-gateway-attempts'), '2');
  t.is(rerun.headers.get('x-gateway-queue-ms'), '0', 'the time of the lost call is no time in the queue');
  t.deepEqual(await outcomesOf(rerun), [['unknown', 'ok']]);
});

test('on a route with on_crash: fail nobody calls again, and an SDK is told not to', async (t) => {
  t.is(failed.status, 502);
  t.is(failed.body.error.code, 'provider_outcome_unknown');
  t.is(failed.headers.get('x-should-retry'), 'false');
  t.regex(
    failed.body.error.message,
    /\w+\/\S+ was interrupted\)\. The provider may have answered and billed the call\. It was not called again, because its route says on_crash: fail\./,
  );
  t.is(callsFor(gateway.simulator, 'not again').length, 1);
  t.deepEqual(await outcomesOf(failed), [['unknown']]);
});

test('it is not called again when the budget does not cover a second call', async (t) => {
  t.is(scarce.status, 502);
  t.is(scarce.body.error.code, 'provider_outcome_unknown');
  t.regex(scarce.body.error.message, /the budget of this workspace does not cover a second call/);
  t.is(callsFor(gateway.simulator, 'too dear').length, 1);
  t.deepEqual(await outcomesOf(scarce), [['unknown']]);
});

test('a request that has taken two workers with it is not given to a third', async (t) => {
  t.is(poison.status, 502);
  t.is(poison.body.error.code, 'provider_outcome_unknown');
  t.regex(poison.body.error.message, /because the request has already stopped two workers/);
  t.is(callsFor(gateway.simulator, 'poison').length, 2);
  t.deepEqual(await outcomesOf(poison), [['unknown', 'unknown']]);
  hold.release();
  t.is((await ask('the next one')).status, 200);
});
