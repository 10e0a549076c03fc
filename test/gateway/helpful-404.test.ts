import { type Gateway, startGateway } from '../helpers/gateway.js';
import test from '../helpers/needs-redis.js';
import { assertRefusal } from '../helpers/refusal.js';
import { sdkFor } from '../helpers/sdk.js';
import { until } from '../helpers/until.js';

let gateway: Gateway;
test.before(async () => {
  const chain = [{ provider: 'openai', model: 'gpt-4o-mini' }];
  gateway = await startGateway({
    routes: {
      'ops-summary': chain,
      'ops-review': chain,
      fast: chain,
      stale: [{ provider: 'openai', model: 'gpt-4o-mni' }],
    },
    workspaces: { tight: { models: ['fast', 'gpt-4o'], routes: { fast: chain, 'fast-2': chain } } },
  });
});
test.after.always(() => gateway?.stop());

async function messageAt(t: Parameters<typeof assertRefusal>[0], path: string): Promise<string> {
  const response = await fetch(gateway.url + path, { method: 'POST' });
  const { status, headers } = response;
  const refusal = assertRefusal(t, { status, headers, text: await response.text() }, path);
  t.is(refusal.code, 'not_found', path);
  t.regex(refusal.message, /Served here: POST \/v1\/chat\/completions, .*GET \/v1\/models, /, path);
  return refusal.message;
}

test('a path of an API that is not served says so, and how to reach the one that is', async (t) => {
  for (const path of ['/v1/responses', '/responses', '/v1/responses/resp_1', '//v1/responses']) {
    const message = await messageAt(t, path);
    t.regex(message, /Responses API is not served/, path);
    t.regex(message, /chat\.completions\.create/, path);
  }
  t.regex(await messageAt(t, '/v1/completions'), /older completions API is not served/);
  t.regex(await messageAt(t, '/v1/images/generations'), /This API is not served/);
  t.regex(await messageAt(t, '/v1/messages'), /Messages API is not served/);
});

test('a path that misses the base URL says what the base URL is', async (t) => {
  for (const path of [
    '/chat/completions',
    '//v1/chat/completions',
    '/v1//chat/completions',
    '/v1/v1/models',
    '/models',
  ])
    t.regex(await messageAt(t, path), /base URL to the gateway’s address and \/v1/, path);
  t.notRegex(await messageAt(t, '/nothing'), /base URL/);
});

const ask = (model: string) => gateway.chat({ model, messages: [{ role: 'user', content: 'Hi' }] });

test('a mistyped alias is told the nearest one, whether the gateway or the provider does not know it', async (t) => {
  const own = await ask('fst');
  t.is(own.status, 404);
  t.regex(own.body.error.message, /Did you mean `fast`\?$/);

  gateway.simulator.script({ match: { model: 'ops-sumary' }, action: { status: 404 } });
  const upstream = await ask('ops-sumary');
  t.like(upstream.body.error, { code: 'model_not_found', param: 'model' });
  t.regex(upstream.body.error.message, /Did you mean `ops-summary`/);
  t.true(
    gateway.simulator.calls.some(({ model }) => model === 'ops-sumary'),
    'o… is OpenAI’s',
  );
});

test('a provider that is not configured is not taken for a model of OpenAI', async (t) => {
  t.is((await ask('ollama/llama3')).status, 404);
  t.false(gateway.simulator.calls.some(({ model }) => model === 'ollama/llama3'));
});

test('a model that has no chat completions is called by the other endpoint, and suggested like any other', async (t) => {
  await until('the list of the provider', async () =>
    (await sdkFor(gateway).models.list()).data.some(({ id }) => id === 'o1-pro'),
  );
  for (const model of ['o1-pro', 'gpt-5-pro', 'gpt-5.1-codex-mini', 'o4-mini-deep-research-2025-06-26']) {
    t.is((await ask(model)).status, 200, model);
    const call = gateway.simulator.calls.find((each) => each.model === model);
    t.is(call?.path, '/v1/responses', model);
  }
  gateway.simulator.script({ match: { model: 'o1-prp' }, action: { status: 404 } });
  t.regex((await ask('o1-prp')).body.error.message, /o1-pro/);
});

test('a mistyped model id is told the nearest ids', async (t) => {
  const { status, body } = await ask('gtp-4o-mini');
  t.is(status, 404);
  t.regex(body.error.message, /`gpt-4o-mini`/);
});

test('a route to a model that the provider does not know says which model there is', async (t) => {
  gateway.simulator.script({ match: { model: 'gpt-4o-mni' }, action: { status: 404 } });
  const { body } = await ask('stale');
  t.is(body.error.code, 'model_not_found');
  t.regex(body.error.message, /`gpt-4o-mini`/);
});

test('GET /v1/models/{id} tells the nearest models, too', async (t) => {
  const response = await fetch(`${gateway.url}/v1/models/ops-sumary`, {
    headers: { authorization: `Bearer ${gateway.key}` },
  });
  t.is(response.status, 404);
  const { error } = (await response.json()) as { error: { message: string } };
  t.regex(error.message, /Did you mean `ops-summary`/);
});

test('a workspace is told only of models that it may use', async (t) => {
  const inTight = (model: string) =>
    gateway.chat({ model, messages: [{ role: 'user', content: 'Hi' }] }, { key: gateway.keys.tight ?? '' });
  t.regex((await inTight('fast-2')).body.error.message, /Did you mean `fast`\?$/);
  t.regex((await inTight('gpt-4oo')).body.error.message, /Did you mean `gpt-4o`\?$/);
});

test('a name that is like none is told none', async (t) => {
  for (const model of ['something-entirely-different', 'x'.repeat(256)])
    t.notRegex((await ask(model)).body.error.message, /Did you mean/);
});
