/** A chat by OpenAI's Responses API: what is sent, what comes back, and what cannot be said. */
import { readFileSync } from 'node:fs';
import type { ChatMessage, ChatRequest } from '@sluice/shared/chat';
import { GatewayError } from '@sluice/shared/errors';
import type { ChainEntry } from '@sluice/shared/queue/job';
import { apiOf } from '@sluice/shared/registry/model-facts';
import { loadShippedRegistry } from '@sluice/shared/registry/model-registry';
import type { Upstream } from '@sluice/worker/calls/call-provider';
import { ModelApis } from '@sluice/worker/calls/model-apis';
import { Pricing } from '@sluice/worker/calls/pricing';
import { responses } from '@sluice/worker/providers/index';
import { parseError } from '@sluice/worker/providers/parse-error';
import {
  DROPPED_FIELDS,
  REFUSED_FIELDS,
  SAME_FIELDS,
  TRANSLATED_FIELDS,
} from '@sluice/worker/providers/responses/fields';
import { FailedResponse, UnusableResponse } from '@sluice/worker/providers/types';
import test, { type ExecutionContext } from 'ava';

const hi: ChatMessage = { role: 'user', content: 'hi' };

function build(request: Partial<ChatRequest>, entry: Partial<ChainEntry> = {}) {
  return responses.buildRequest(
    { model: 'fast', messages: [hi], ...request },
    { provider: 'openai', model: 'gpt-5.6', ...entry },
  );
}

function refuses(t: ExecutionContext, request: object, param: string): void {
  const error = t.throws(() => build(request as Partial<ChatRequest>), { instanceOf: GatewayError });
  t.like(error, { code: 'invalid_request', param });
}

const text = (value: string) => ({ type: 'output_text', text: value, annotations: [] });
const said = (...content: object[]) => ({ type: 'message', role: 'assistant', content });
const answer = (output: object[], more: object = {}) => ({
  object: 'response',
  created_at: 1_700_000_000,
  status: 'completed',
  output,
  usage: { input_tokens: 10, output_tokens: 5 },
  ...more,
});
const choiceOf = (body: unknown) => responses.parseResponse(body).completion.choices[0];

test('fields keep their value under the name that Responses has for them, and nothing is stored', (t) => {
  const same = {
    ...{ temperature: 1, top_p: 1, service_tier: 'flex', metadata: { a: 'b' }, user: 'u' },
    ...{ safety_identifier: 's', prompt_cache_key: 'k', parallel_tool_calls: true },
  };
  t.deepEqual(
    build({
      ...same,
      max_completion_tokens: 100,
      verbosity: 'low',
      reasoning_effort: 'high',
      reasoning: { summary: 'auto' },
      logprobs: true,
      top_logprobs: 2,
      response_format: { type: 'json_object' },
    }),
    {
      ...same,
      model: 'gpt-5.6',
      input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] }],
      store: false,
      max_output_tokens: 100,
      top_logprobs: 2,
      include: ['message.output_text.logprobs'],
      text: { format: { type: 'json_object' }, verbosity: 'low' },
      reasoning: { summary: 'auto', effort: 'high' },
    },
  );
  t.is(build({ max_tokens: 300 }, { max_tokens: 50 }).max_output_tokens, 50);
  t.is(build({}, { max_tokens: 50 }).max_output_tokens, 50);
});

test('messages are items in their order: texts, refusals, calls and their results', (t) => {
  const messages = [
    { role: 'system', content: 'Be brief.' },
    hi,
    { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }], reasoning_content: 'thoughts' },
    { role: 'developer', content: 'Go on.' },
    {
      role: 'assistant',
      content: 'Looking.',
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }],
    },
    { role: 'tool', tool_call_id: 'c1', name: 'f', content: [{ type: 'text', text: 'done' }] },
    { role: 'assistant', content: '' },
  ] as ChatMessage[];
  t.deepEqual(build({ messages }).input, [
    { type: 'message', role: 'system', content: [{ type: 'input_text', text: 'Be brief.' }] },
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] },
    { type: 'message', role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
    { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Go on.' }] },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Looking.' }] },
    { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{"a":1}' },
    { type: 'function_call_output', call_id: 'c1', output: [{ type: 'input_text', text: 'done' }] },
  ]);
});

test('tools are flat, and only those are strict that say so', (t) => {
  const tools = [
    {
      type: 'function',
      function: { name: 'f', description: 'd', strict: true, parameters: { type: 'object' } },
    },
    { type: 'function', function: { name: 'g' } },
  ];
  const named = { type: 'function', function: { name: 'f' } };
  t.like(build({ tools, tool_choice: named }), {
    tools: [
      { type: 'function', name: 'f', description: 'd', strict: true, parameters: { type: 'object' } },
      { type: 'function', name: 'g', strict: false, parameters: { type: 'object', properties: {} } },
    ],
    tool_choice: { type: 'function', name: 'f' },
  });
  const allowed = { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [named] } };
  t.deepEqual(build({ tools, tool_choice: allowed }).tool_choice, {
    type: 'allowed_tools',
    mode: 'auto',
    tools: [{ type: 'function', name: 'f' }],
  });
});

test('what cannot be said is an error that names the field', (t) => {
  const part = (content: object) => ({ messages: [{ role: 'user', content: [content] }] });
  refuses(t, { n: 2 }, 'n');
  refuses(t, { stop: 'x' }, 'stop');
  refuses(t, { seed: 7 }, 'seed');
  refuses(t, { presence_penalty: 1 }, 'presence_penalty');
  refuses(t, { logit_bias: { 1: 2 } }, 'logit_bias');
  refuses(t, { prediction: {} }, 'prediction');
  refuses(t, { modalities: ['text', 'audio'] }, 'modalities');
  refuses(t, { store: true }, 'store');
  refuses(t, { top_k: 4 }, 'top_k');
  refuses(t, { max_tokens: 5 }, 'max_tokens');
  refuses(t, { tools: [{ type: 'web_search' }] }, 'tools[0]');
  refuses(t, { messages: [{ ...hi, name: 'ann' }] }, 'messages[0].name');
  refuses(t, { messages: [{ role: 'function', name: 'f', content: 'x' }] }, 'messages[0].name');
  refuses(
    t,
    part({ type: 'input_audio', input_audio: { data: 'x', format: 'wav' } }),
    'messages[0].content[0]',
  );
  t.notThrows(() =>
    build({ n: 1, stop: null, seed: null, presence_penalty: 0, store: false, logit_bias: {} } as object),
  );
});

test('texts and calls of several items are one message', (t) => {
  const call = { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' };
  const body = answer([
    { type: 'reasoning', summary: [{ type: 'summary_text', text: 'One.' }, { text: 'Two.' }] },
    said(text('a'), text('b')),
    said(text('c')),
    call,
  ]);
  t.deepEqual(choiceOf(body), {
    index: 0,
    message: {
      role: 'assistant',
      content: 'abc',
      refusal: null,
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }],
      reasoning_content: 'One.\n\nTwo.',
    },
    logprobs: null,
    finish_reason: 'tool_calls',
  });
  t.is(responses.parseResponse(body).completion.created, 1_700_000_000);
  const refused = choiceOf(answer([said({ type: 'refusal', refusal: 'No.' })]));
  t.like(refused, { finish_reason: 'stop', message: { content: null, refusal: 'No.' } });
  const likely = [{ token: 'a', logprob: -1, bytes: [97], top_logprobs: [] }];
  t.deepEqual(choiceOf(answer([said({ ...text('a'), logprobs: likely })]))?.logprobs, {
    content: likely,
    refusal: null,
  });
});

test('an answer that was cut says why', (t) => {
  const cut = (reason: string, output: object[]) =>
    choiceOf(answer(output, { status: 'incomplete', incomplete_details: { reason } }));
  t.like(cut('max_output_tokens', [said(text('half'))]), {
    finish_reason: 'length',
    message: { content: 'half' },
  });
  t.like(cut('max_output_tokens', []), { finish_reason: 'length', message: { content: '' } });
  t.is(cut('content_filter', [])?.finish_reason, 'content_filter');
});

test('an answer that failed means what its code says, and what was written is billed', (t) => {
  const failed = (code: string) =>
    answer([], {
      status: 'failed',
      error: { code, message: 'Sorry.' },
      usage: { input_tokens: 3, output_tokens: 1 },
    });
  for (const [code, status] of [
    ['server_error', 500],
    ['rate_limit_exceeded', 429],
    ['invalid_prompt', 400],
  ] as const) {
    const error = t.throws(() => responses.parseResponse(failed(code)), { instanceOf: FailedResponse });
    t.like(error, { status, billed: { usage: { input: 3, output: 1 } } });
  }
  for (const body of [
    answer([]),
    answer([], { status: 'in_progress' }),
    { ...answer([]), output: undefined },
  ])
    t.throws(() => responses.parseResponse(body), { instanceOf: UnusableResponse });
});

test('usage with cached and reasoning tokens is in the common format and has the exact price', (t) => {
  const usage = {
    input_tokens: 1_000,
    input_tokens_details: { cached_tokens: 600 },
    output_tokens: 200,
    output_tokens_details: { reasoning_tokens: 150 },
  };
  const read = responses.parseResponse(answer([said(text('a'))], { usage, service_tier: 'default' }));
  t.deepEqual(read.completion.usage, {
    prompt_tokens: 1_000,
    completion_tokens: 200,
    total_tokens: 1_200,
    prompt_tokens_details: { cached_tokens: 600, cache_write_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 150 },
  });
  const registry = loadShippedRegistry();
  const {
    input,
    cached_input: cached = Number.NaN,
    output,
  } = registry.find('openai', 'gpt-5')?.prices ?? {
    input: 0,
    output: 0,
  };
  const { cost } = new Pricing(() => registry).of('openai', 'gpt-5', read, 0);
  t.is(cost, Math.round((400 * input + 600 * cached + 200 * output) * 1e6));
});

test('docs/translation.md says what becomes of each field at Responses', (t) => {
  const page = readFileSync(new URL('../../../docs/translation.md', import.meta.url), 'utf8');
  const section = page.slice(page.indexOf('## By the Responses API'));
  const fields = [
    ...SAME_FIELDS,
    ...TRANSLATED_FIELDS,
    ...Object.keys(DROPPED_FIELDS),
    ...Object.keys(REFUSED_FIELDS),
  ];
  t.deepEqual(
    fields.filter((field) => !section.includes(`\`${field}\``)),
    [],
  );
});

test('the facts of a model say by which endpoint it is called', (t) => {
  const apis = {
    'gpt-4o': 'chat',
    'gpt-5': 'chat',
    'gpt-5.4': 'responses_with_tools',
    'gpt-5.5-2026-05-01': 'responses_with_tools',
    'gpt-5.6-sol': 'responses_with_tools',
    'gpt-5-pro': 'responses',
    'gpt-5.1-codex-max': 'responses',
    'o3-deep-research': 'responses',
  };
  for (const [model, api] of Object.entries(apis)) t.is(String(apiOf('openai', model)), api, model);
  t.is(apiOf('azure', 'gpt-5-pro'), 'responses');
  t.is(apiOf('free', 'gpt-5.6'), 'chat');
});

const error = (message: string, param: string | null, code: string | null = null) => ({
  error: { message, type: 'invalid_request_error', param, code },
});
const SAYS = 'To use function tools, use /v1/responses.';

test('a refusal that names the other endpoint is known by its field, and by having no code', (t) => {
  const needed = (status: number, body: unknown) => parseError(status, {}, body).needsResponses;
  t.is(needed(400, error(SAYS, 'reasoning_effort')), 'with_tools');
  t.is(needed(404, error('This model is only supported in v1/responses.', 'model')), 'always');
  t.is(needed(400, error(SAYS, 'reasoning_effort', 'unsupported_value')), undefined);
  t.is(needed(400, error(SAYS, 'messages')), undefined);
  t.is(needed(400, error('Bad effort.', 'reasoning_effort')), undefined);
  t.is(needed(500, error(SAYS, 'model')), undefined);
});

test('one workspace’s refusal teaches itself, a second one’s all, and both are forgotten', (t) => {
  let now = 0;
  const apis = new ModelApis(
    () => now,
    () => loadShippedRegistry(),
  );
  const config = { kind: 'openai', prices: 'openai', responsesPath: '/responses' };
  const other = { provider: responses, config } as unknown as Upstream;
  const upstream = { provider: {}, config, responses: other } as unknown as Upstream;
  const entry = { provider: 'openai', model: 'gpt-4.1' };
  const tools = [{ type: 'function', function: { name: 'f' } }];
  const goes = (workspace: string, fields: object = { tools }) =>
    apis.of(upstream, entry, { model: 'm', messages: [hi], ...fields } as ChatRequest, { workspace }) ===
    other;
  const refused = parseError(400, {}, error(SAYS, 'reasoning_effort'));
  t.false(goes('a'));
  t.is(apis.afterRefusal(upstream, entry, refused, 'a'), other);
  t.true(goes('a'));
  t.false(goes('b'));
  t.false(goes('a', {}));
  t.false(goes('a', { tools, reasoning_effort: 'none' }));
  t.is(apis.afterRefusal(upstream, entry, refused, 'b'), other);
  t.true(goes('c'));
  t.is(apis.afterRefusal(other, entry, refused, 'b'), undefined);
  t.is(apis.afterRefusal(upstream, { ...entry, api: 'chat' }, refused, 'b'), undefined);
  now = 11 * 60_000;
  t.false(goes('a'));
});
