/** One model's rule is not the caller's mistake: the next entry gets the request, and the caller is told what was changed. */
import { type Gateway, startGateway } from '../helpers/gateway.js';
import test from '../helpers/needs-redis.js';

let gateway: Gateway;
const claude = { provider: 'anthropic', model: 'claude-sonnet-5-5' };
const gpt = (model: string) => ({ provider: 'openai', model });

/** The simulator refuses under this address what the provider of the preset refuses. */
const simulated = (preset: string) => ({
  preset,
  base_url: `\${ANTHROPIC_BASE_URL}/${preset}/v1`,
  api_key: '${OPENAI_API_KEY}',
});

test.before(async () => {
  gateway = await startGateway({
    routes: {
      'claude-first': [claude, gpt('gpt-4o')],
      'claude-last': [gpt('gpt-4o-mini'), claude],
      'claude-only': [claude],
      'claude-twice': [{ ...claude, model: 'claude-opus-5-5' }, claude],
      dropped: [{ ...claude, drop: ['temperature'] }, gpt('gpt-4o')],
      renamed: [gpt('gpt-5.6')],
      unknown: [gpt('gpt-4.1'), gpt('gpt-4.1-mini')],
      taught: [gpt('gpt-4.1-nano'), gpt('gpt-4-turbo')],
      alone: [gpt('gpt-3.5-turbo')],
      mistral: [{ provider: 'mistral', model: 'mistral-medium-latest' }, gpt('gpt-4o')],
      grok: [{ provider: 'xai', model: 'grok-4.5' }, gpt('gpt-4o')],
    },
    providers: {
      openai: { circuit_failures: 0 },
      anthropic: { circuit_failures: 0 },
      ...Object.fromEntries(['mistral', 'xai'].map((preset) => [preset, simulated(preset)])),
    },
    workspaces: { other: { routes: { taught: [gpt('gpt-4.1-nano'), gpt('gpt-4-turbo')] } } },
  });
});
test.after.always(() => gateway?.stop());

const messages = [{ role: 'user', content: 'Hello' }];
const refusesTemperature = {
  status: 400,
  body: {
    type: 'error',
    error: { type: 'invalid_request_error', message: '`temperature` is deprecated for this model.' },
  },
};
const refusal = (param: string, code: string | null, message: string) => ({
  status: 400,
  body: { error: { message, type: 'invalid_request_error', param, code } },
});

const callsOf = (model: string) => gateway.simulator.calls.filter((call) => call.model === model);
const lastSent = (model: string) => callsOf(model).at(-1)?.body as Record<string, unknown> | undefined;
const lastOutcomes = async () => (await gateway.log()).at(-1)?.attempts.map(({ outcome }) => outcome) ?? [];

test.serial('a model that does not take a field is passed over, and the next entry serves', async (t) => {
  const { status, headers } = await gateway.chat({ model: 'claude-first', messages, temperature: 0 });
  t.is(status, 200);
  t.is(headers.get('x-gateway-model'), 'gpt-4o');
  t.is(headers.get('x-gateway-fallback-used'), 'true');
  t.is(headers.get('x-gateway-adapted'), null);
  t.deepEqual(await lastOutcomes(), ['unsupported', 'ok']);
  t.is((await gateway.log()).at(-1)?.attempts[0]?.why, 'temperature is fixed there');
  t.is(callsOf('claude-sonnet-5-5').length, 0);
  t.is(lastSent('gpt-4o')?.temperature, 0);
});

test.serial(
  'the last usable entry is called as the caller asked, and its 400 names field and entry',
  async (t) => {
    gateway.simulator.script({ match: { model: claude.model }, times: 1, action: refusesTemperature });
    const { status, body } = await gateway.chat({ model: 'claude-only', messages, temperature: 0 });
    t.is(status, 400);
    t.is(body.error.param, 'temperature');
    t.regex(body.error.message, /temperature.*deprecated.*anthropic\/claude-sonnet-5-5/);
    t.is(lastSent(claude.model)?.temperature, 0);
  },
);

test.serial('when no entry takes the request, each is asked: the facts may be old', async (t) => {
  const { status, body } = await gateway.chat({ model: 'claude-twice', messages, temperature: 0 });
  t.is(status, 400);
  t.is(body.error.param, 'temperature');
  t.deepEqual(await lastOutcomes(), ['refused_field', 'refused_field']);
});

test.serial('after an outage of the first entry, a model’s refusal is not the caller’s 400', async (t) => {
  gateway.simulator.script(
    { match: { model: 'gpt-4o-mini' }, times: 1, action: { status: 500 } },
    { match: { model: claude.model }, times: 1, action: refusesTemperature },
  );
  const { status, body } = await gateway.chat({ model: 'claude-last', messages, temperature: 0.2 });
  t.is(status, 502);
  t.is(body.error.code, 'provider_error');
  t.deepEqual(await lastOutcomes(), ['server_error', 'refused_field']);
});

test.serial('a direct model id is called unchanged', async (t) => {
  gateway.simulator.script({ match: { model: claude.model }, times: 1, action: refusesTemperature });
  const { status } = await gateway.chat({ model: claude.model, messages, temperature: 0 });
  t.is(status, 400);
  t.is(lastSent(claude.model)?.temperature, 0);
  gateway.simulator.script({ match: { model: 'gpt-5.6' }, times: 1, action: { status: 400 } });
  await gateway.chat({ model: 'gpt-5.6', messages, max_tokens: 5 });
  t.is(lastSent('gpt-5.6')?.max_tokens, 5);
});

test.serial('a field gets the name that the model wants, and a header and the log say so', async (t) => {
  const { status, headers } = await gateway.chat({ model: 'renamed', messages, max_tokens: 5 });
  t.is(status, 200);
  t.is(headers.get('x-gateway-adapted'), 'renamed max_tokens to max_completion_tokens');
  t.is(headers.get('x-gateway-fallback-used'), 'false');
  const sent = lastSent('gpt-5.6');
  t.is(sent?.max_completion_tokens, 5);
  t.is(sent?.max_tokens, undefined);
  t.deepEqual((await gateway.log()).at(-1)?.attempts.at(-1)?.adapted, [
    'renamed max_tokens to max_completion_tokens',
  ]);
});

test.serial('what the operator drops for an entry is dropped', async (t) => {
  const { status, headers } = await gateway.chat({ model: 'dropped', messages, temperature: 0 });
  t.is(status, 200);
  t.is(headers.get('x-gateway-model'), claude.model);
  t.is(headers.get('x-gateway-adapted'), 'dropped temperature');
});

test.serial('a 400 about the model goes to the next entry, and one about the request does not', async (t) => {
  gateway.simulator.script({
    match: { model: 'gpt-4.1' },
    times: 1,
    action: refusal('seed', 'unknown_parameter', "Unknown parameter: 'seed'."),
  });
  t.is((await gateway.chat({ model: 'unknown', messages, seed: 1 })).status, 200);
  t.deepEqual(await lastOutcomes(), ['refused_field', 'ok']);
  gateway.simulator.script({
    match: { model: 'gpt-4.1' },
    times: 1,
    action: refusal(
      'temperature',
      'decimal_above_max_value',
      "Invalid 'temperature': decimal above maximum value.",
    ),
  });
  t.is((await gateway.chat({ model: 'unknown', messages, temperature: 2 })).status, 400);
  t.deepEqual(await lastOutcomes(), ['bad_request']);
});

test.serial(
  'a refusal is remembered once two workspaces have met it, and only while another entry is left',
  async (t) => {
    const words = "Unsupported parameter: 'top_p' is not supported with this model.";
    const refuse = (model: string) =>
      gateway.simulator.script({
        match: { model },
        times: 1,
        action: refusal('top_p', 'unsupported_parameter', words),
      });
    const ask = async (key?: string) => {
      await gateway.chat({ model: 'taught', messages, top_p: 0.5 }, key === undefined ? {} : { key });
      return lastOutcomes();
    };
    for (let times = 0; times < 2; times++) {
      refuse('gpt-4.1-nano');
      t.deepEqual(await ask(), ['refused_field', 'ok']);
    }
    refuse('gpt-4.1-nano');
    t.deepEqual(await ask(gateway.keys.other), ['refused_field', 'ok']);
    t.deepEqual(await ask(), ['unsupported', 'ok']);
    t.is((await gateway.log()).at(-1)?.attempts[0]?.why, 'top_p was refused by it a moment ago');
    t.is((await gateway.chat({ model: 'taught', messages })).headers.get('x-gateway-model'), 'gpt-4.1-nano');
  },
);

test.serial('a conversation with tools that another model began goes on at Mistral', async (t) => {
  const call = {
    id: 'call_abcdefghijklmnopqrstuvwx',
    type: 'function',
    function: { name: 'get_weather', arguments: '{"city":"Paris"}' },
  };
  const { status, headers } = await gateway.chat({
    model: 'mistral',
    messages: [
      ...[{ role: 'developer', content: 'Be brief.' }, ...messages],
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: call.id, content: '21 °C' },
    ],
  });
  t.is(status, 200);
  t.is(headers.get('x-gateway-provider'), 'mistral');
  t.is(headers.get('x-gateway-adapted'), 'sent role developer as system; replaced ids of tool calls');
  const sent = (lastSent('mistral-medium-latest')?.messages ?? []) as {
    tool_calls?: { id: string }[];
    tool_call_id?: string;
  }[];
  t.regex(sent[3]?.tool_call_id ?? '', /^[a-zA-Z0-9]{9}$/);
  t.is(sent[2]?.tool_calls?.[0]?.id, sent[3]?.tool_call_id);
});

test.serial('null is as good as nothing for a server that refuses names that it does not know', async (t) => {
  const nothing = { seed: null, user: null, stream_options: null, max_completion_tokens: null };
  const { headers } = await gateway.chat({ model: 'mistral', messages, ...nothing });
  t.is(headers.get('x-gateway-provider'), 'mistral');
  t.is(headers.get('x-gateway-adapted'), null);
});

test.serial('a field that a provider names keeps nobody else from the model', async (t) => {
  for (const param of ['constructor', 'messages', 'model']) {
    for (const key of [gateway.key, gateway.keys.other]) {
      gateway.simulator.script({
        match: { model: 'gpt-4.1-nano' },
        times: 1,
        action: refusal(param, 'unknown_parameter', `Unknown parameter: '${param}'.`),
      });
      const own: object = param === 'constructor' ? { constructor: 1 } : {};
      await gateway.chat({ model: 'taught', messages, ...own }, key === undefined ? {} : { key });
    }
    const { headers } = await gateway.chat({ model: 'taught', messages });
    t.is(headers.get('x-gateway-model'), 'gpt-4.1-nano', param);
  }
});

test.serial('a penalty of 0 is left out for a model that takes none, and any other is not', async (t) => {
  const zero = await gateway.chat({ model: 'grok', messages, presence_penalty: 0, frequency_penalty: 0 });
  t.is(zero.headers.get('x-gateway-model'), 'grok-4.5');
  t.is(zero.headers.get('x-gateway-adapted'), 'dropped presence_penalty; dropped frequency_penalty');
  const some = await gateway.chat({ model: 'grok', messages, presence_penalty: 0.5 });
  t.is(some.headers.get('x-gateway-model'), 'gpt-4o');
  t.is(lastSent('gpt-4o')?.presence_penalty, 0.5);
});
