import type { ChatRequest } from '@sluice/shared/chat';
import type { ChainEntry } from '@sluice/shared/queue/job';
import { providerFor } from '@sluice/worker/providers/index';
import { openai } from '@sluice/worker/providers/openai/index';
import { FailedResponse, UnusableResponse } from '@sluice/worker/providers/types';
import test from 'ava';

const messages: ChatRequest['messages'] = [{ role: 'user', content: 'hi' }];

function build(request: Partial<ChatRequest>, entry: Partial<ChainEntry> = {}) {
  return openai.buildRequest(
    { model: 'fast', messages, ...request },
    { provider: 'openai', model: 'gpt-4o', ...entry },
  );
}

function answer(message: Record<string, unknown> = {}, more: Record<string, unknown> = {}) {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'gpt-4o-2024-08-06',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'hello', ...message },
        finish_reason: 'stop',
        logprobs: null,
      },
    ],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
    ...more,
  };
}

test('every field passes as it came, unknown ones and nulls included', (t) => {
  const fields = {
    temperature: 0,
    top_p: null,
    n: 2,
    logprobs: true,
    logit_bias: { '50256': -100 },
    reasoning_effort: 'minimal',
    brand_new_field: { deep: [1] },
    messages: [
      {
        role: 'user' as const,
        name: 'ann',
        content: [{ type: 'input_audio', input_audio: { data: 'x', format: 'wav' } }],
      },
    ],
  };
  t.deepEqual(build(fields), { ...fields, model: 'gpt-4o' });
});

test('stream is left out, whether false or null', (t) => {
  t.false('stream' in build({ stream: false }));
  t.false('stream' in build({ stream: null }));
});

test("the entry's max_tokens caps whichever limit the caller sent", (t) => {
  t.deepEqual(build({ max_tokens: 500 }, { max_tokens: 100 }).max_tokens, 100);
  t.deepEqual(build({ max_tokens: 50 }, { max_tokens: 100 }).max_tokens, 50);
  const completion = build({ max_completion_tokens: 500 }, { max_tokens: 100 });
  t.is(completion.max_completion_tokens, 100);
  t.false('max_tokens' in completion);
  t.is(build({ max_tokens: 500 }).max_tokens, 500);
});

test("the entry's max_tokens is used when the caller sent none, in the field the model knows", (t) => {
  t.is(build({}, { max_tokens: 100 }).max_tokens, 100);
  t.is(build({ max_tokens: null }, { max_tokens: 100 }).max_tokens, 100);
  for (const model of ['o1', 'o3-mini', 'gpt-5', 'gpt-5.1', 'gpt-6-sol']) {
    const body = build({}, { model, max_tokens: 100 });
    t.is(body.max_completion_tokens, 100, model);
    t.false('max_tokens' in body, model);
  }
});

test('A server that may not know max_completion_tokens is sent max_tokens, within the limit of the entry', (t) => {
  const buildFor = (baseUrl: string, request: Partial<ChatRequest>, entry: Partial<ChainEntry> = {}) =>
    providerFor({ kind: 'openai', baseUrl, prices: 'openai' }).buildRequest(
      { model: 'fast', messages, ...request },
      { provider: 'other', model: 'mistral-large', ...entry },
    );
  for (const baseUrl of ['https://api.mistral.ai/v1', 'http://127.0.0.1:11434/v1']) {
    const limits = { max_completion_tokens: 500 };
    t.like(buildFor(baseUrl, limits), { max_tokens: 500, max_completion_tokens: undefined });
    t.like(buildFor(baseUrl, limits, { max_tokens: 100 }), { max_tokens: 100 });
    t.like(buildFor(baseUrl, { max_tokens: 5 }), { max_tokens: 5 });
    t.false('max_tokens' in buildFor(baseUrl, { max_completion_tokens: null }));
    t.false('max_completion_tokens' in buildFor(baseUrl, { max_completion_tokens: null }));
    // A proxy before OpenAI: its reasoning models refuse max_tokens.
    t.like(buildFor(baseUrl, limits, { model: 'o3-mini' }), { max_completion_tokens: 500 });
  }
  for (const baseUrl of [
    'https://api.openai.com/v1',
    'https://eu.api.openai.com/v1',
    'https://mine.openai.azure.com/openai/v1',
  ])
    t.like(buildFor(baseUrl, { max_completion_tokens: 500 }), { max_completion_tokens: 500 });
});

test('no token limit is made up', (t) => {
  t.deepEqual(build({}), { model: 'gpt-4o', messages });
});

test('a completion keeps what came, without id and model', (t) => {
  const { completion } = openai.parseResponse(
    answer(
      { annotations: [], refusal: null },
      {
        system_fingerprint: 'fp_1',
        usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3, extra: 4 },
      },
    ),
  );
  t.deepEqual(completion, {
    object: 'chat.completion',
    created: 1_700_000_000,
    system_fingerprint: 'fp_1',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'hello', annotations: [], refusal: null },
        finish_reason: 'stop',
        logprobs: null,
      },
    ],
    usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3, extra: 4 },
  });
});

test('tool calls pass, and content may be null or absent beside them', (t) => {
  const toolCalls = [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }];
  for (const content of [null, undefined]) {
    const { completion } = openai.parseResponse(answer({ content, tool_calls: toolCalls }));
    t.deepEqual(completion.choices[0]?.message, { role: 'assistant', content: null, tool_calls: toolCalls });
  }
});

test('reasoning or a refusal without content is an answer', (t) => {
  for (const said of [{ reasoning_content: 'Hm.' }, { reasoning: 'Hm.' }, { refusal: 'No.' }]) {
    const { completion } = openai.parseResponse(answer({ content: undefined, ...said }));
    t.deepEqual(completion.choices[0]?.message, { role: 'assistant', content: null, ...said });
  }
});

test('content in parts is joined, and thoughts are told from it', (t) => {
  const thinking = [
    { type: 'text', text: 'Two and ' },
    { type: 'text', text: 'two.' },
  ];
  const messageOf = (content: unknown, more = {}) =>
    openai.parseResponse(answer({ content, ...more })).completion.choices[0]?.message;
  t.deepEqual(
    messageOf([
      { type: 'thinking', thinking, closed: true },
      { type: 'text', text: 'It is ' },
      { type: 'reference', reference_ids: [1] },
      { type: 'text', text: 'four.' },
    ]),
    { role: 'assistant', content: 'It is four.', reasoning_content: 'Two and two.' },
  );
  t.deepEqual(messageOf([{ type: 'text', text: 'Four.' }]), { role: 'assistant', content: 'Four.' });
  t.deepEqual(messageOf([{ type: 'thinking', thinking: 'Hm.' }]), {
    role: 'assistant',
    content: null,
    reasoning_content: 'Hm.',
  });
  for (const content of [[], [{ type: 'reference' }], ['Four.'], [{ type: 'text', text: 4 }]])
    t.throws(() => messageOf(content), { instanceOf: UnusableResponse });
});

test('an answer that was cut or filtered before its first word is an empty one', (t) => {
  for (const finish_reason of ['length', 'content_filter'])
    for (const message of [{ role: 'assistant' }, { role: 'assistant', content: [] }]) {
      const body = answer({}, { choices: [{ index: 0, message, finish_reason }] });
      t.deepEqual(openai.parseResponse(body).completion.choices, [
        { index: 0, message: { role: 'assistant', content: '' }, finish_reason },
      ]);
    }
});

function failedIn(body: unknown): FailedResponse {
  try {
    openai.parseResponse(body);
  } catch (error) {
    if (error instanceof FailedResponse) return error;
    throw error;
  }
  throw new Error('it did not fail');
}

test('an error in a 200 is a failure with the status that stands inside', (t) => {
  const error = { code: 429, message: 'Slow down.' };
  t.like(failedIn({ error }), { status: 429, error, billed: undefined });
  t.like(failedIn({ error: { ...error, code: '402' } }), { status: 402 });
  t.like(failedIn({ error: 'no' }), { status: 200, error: 'no' });
  t.like(failedIn({ error: { message: 'no', code: 'overloaded' } }), { status: 200 });
  const beside = failedIn(answer({ content: 'Hel' }, { error }));
  t.like(beside, { status: 429, error });
  t.like(beside.billed, { usage: { input: 10, output: 5 } });
  for (const none of [null, '', {}]) t.is(openai.parseResponse(answer({}, { error: none })).usage.input, 10);
});

test('a choice that failed is a failure, however much was written', (t) => {
  const choice = { index: 0, message: { role: 'assistant', content: 'Hel' }, finish_reason: 'error' };
  const error = { code: 503, message: 'No provider.' };
  t.like(failedIn({ choices: [{ ...choice, error }] }), {
    status: 503,
    error,
    billed: { usage: { output: 0 } },
  });
  t.like(failedIn({ choices: [choice], error }), { status: 503, error });
  t.like(failedIn(answer({}, { choices: [choice] })), { status: 502 });
});

test('an answer that is cut, refused or nameless is unusable', (t) => {
  const unusable = [
    answer({ content: undefined }),
    answer({ content: undefined, reasoning_content: null }),
    answer({ content: 5 }),
    answer({ role: 'user' }),
    answer({ tool_calls: [{ id: 'x' }] }),
    answer({ tool_calls: 'none' }),
    answer({}, { choices: [] }),
    answer({}, { choices: {} }),
    answer(
      {},
      { choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: null }] },
    ),
    answer({}, { choices: [{ index: 0, finish_reason: 'stop' }] }),
  ];
  for (const body of unusable) t.throws(() => openai.parseResponse(body), { instanceOf: UnusableResponse });
});

test('an answer without a date gets the time it came', (t) => {
  t.is(openai.parseResponse(answer({}, { created: undefined }), 5_999).completion.created, 5);
});

test('cached and cache-written tokens are counted once, apart from the input', (t) => {
  const usage = {
    prompt_tokens: 100,
    completion_tokens: 20,
    total_tokens: 120,
    prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 },
    completion_tokens_details: { reasoning_tokens: 15 },
  };
  t.deepEqual(openai.parseResponse(answer({}, { usage })).usage, {
    input: 10,
    cachedInput: 60,
    cacheWrite: 30,
    cacheWrite1h: 0,
    output: 20,
  });
});

test('cached tokens are read where DeepSeek and Moonshot put them', (t) => {
  for (const cached of [
    { prompt_cache_hit_tokens: 60, prompt_cache_miss_tokens: 40 },
    { cached_tokens: 60 },
  ]) {
    const usage = { prompt_tokens: 100, completion_tokens: 20, ...cached };
    t.like(openai.parseResponse(answer({}, { usage })).usage, { input: 40, cachedInput: 60, output: 20 });
  }
  const both = {
    prompt_tokens: 100,
    prompt_cache_hit_tokens: 60,
    prompt_tokens_details: { cached_tokens: 60 },
  };
  t.like(openai.parseResponse(answer({}, { usage: both })).usage, { input: 40, cachedInput: 60 });
});

test('absent or absurd usage counts as none and never as a negative', (t) => {
  const none = { input: 0, cachedInput: 0, cacheWrite: 0, cacheWrite1h: 0, output: 0 };
  for (const usage of [undefined, null, 'x', [], { prompt_tokens: -5, completion_tokens: Number.NaN }]) {
    const parsed = openai.parseResponse(answer({}, { usage }));
    t.deepEqual(parsed.usage, none);
    t.like(parsed.completion.usage, { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 });
  }
  const details = { cached_tokens: 50, cache_write_tokens: 50 };
  const tooMuch = openai.parseResponse(
    answer({}, { usage: { prompt_tokens: 10, prompt_tokens_details: details } }),
  );
  t.deepEqual(tooMuch.usage, { ...none, cachedInput: 10 });
});

test('a missing total is the sum', (t) => {
  const { completion } = openai.parseResponse(
    answer({}, { usage: { prompt_tokens: 3, completion_tokens: 4 } }),
  );
  t.is(completion.usage.total_tokens, 7);
});

test('the tier that served is reported', (t) => {
  t.is(openai.parseResponse(answer({}, { service_tier: 'flex' })).serviceTier, 'flex');
  t.is(openai.parseResponse(answer()).serviceTier, undefined);
});

test('a prompt over the context may go to the next entry', (t) => {
  const bodies = [
    {
      error: {
        message: 'too long',
        type: 'invalid_request_error',
        code: 'context_length_exceeded',
        param: 'messages',
      },
    },
    { error: { message: 'x', code: 'string_above_max_length', param: 'messages[0].content' } },
    { error: { message: 'x', code: 400, type: 'exceed_context_size_error' } },
    { object: 'error', message: "This model's maximum context length is 4096 tokens.", code: 400 },
  ];
  for (const body of bodies) {
    t.like(openai.parseError(400, {}, body), {
      outcome: 'context_length',
      code: 'invalid_request',
      fallback: true,
    });
  }
  const user = { error: { message: 'x', code: 'string_above_max_length', param: 'user' } };
  t.like(openai.parseError(400, {}, user), { outcome: 'bad_request', fallback: false, param: 'user' });
});

test('an unknown model is not found at 400, 403 and 404', (t) => {
  for (const status of [400, 403, 404]) {
    const failure = openai.parseError(status, {}, { error: { message: 'no', code: 'model_not_found' } });
    t.like(failure, { outcome: 'model_not_found', code: 'model_not_found', fallback: true });
  }
});

test('an account without credit cools the whole provider down', (t) => {
  const quota = {
    error: { message: 'You exceeded your current quota', type: 'insufficient_quota', code: null },
  };
  t.like(openai.parseError(429, {}, quota), {
    outcome: 'rate_limited',
    code: 'rate_limited',
    coolDown: 'provider',
  });
  const limit = { error: { message: 'Billing hard limit', code: 'billing_hard_limit_reached' } };
  t.like(openai.parseError(400, {}, limit), {
    outcome: 'auth',
    code: 'provider_error',
    coolDown: 'provider',
  });
});

test('an error that is a string is read', (t) => {
  t.is(openai.parseError(400, {}, { error: 'bad temperature' }).message, 'bad temperature');
});

test('an error by field names the field and says what is wrong with it', (t) => {
  const detail = [
    {
      type: 'extra_forbidden',
      loc: ['body', 'messages', 0, 'content'],
      msg: 'Input should be a valid string',
      input: 'the prompt',
    },
    { loc: ['body', 'store'], msg: 'Extra inputs are not permitted', input: false },
  ];
  const message =
    'messages[0].content: Input should be a valid string; store: Extra inputs are not permitted';
  for (const body of [
    { object: 'error', message: { detail }, type: 'invalid_request_error', param: null, code: null },
    { detail },
  ])
    t.like(openai.parseError(422, {}, body), {
      outcome: 'refused_field',
      message,
      param: 'messages[0].content',
      said: message,
    });
  t.is(openai.parseError(400, {}, { detail: 'Not here.' }).message, 'Not here.');
  const key = 'sk-proj-CANARY-0123456789abcdef';
  const long = [{ loc: ['body', key, 'x'.repeat(900)], msg: `${key} ${'y'.repeat(9_000)}` }];
  const failure = openai.parseError(422, {}, { detail: long });
  t.notRegex(JSON.stringify(failure), /CANARY/);
  t.true(failure.message.length <= 500 && (failure.param ?? '').length <= 500);
  for (const odd of [[], [null], [{}], [{ loc: 'x', msg: 5 }], {}, 5, [[]]])
    t.is(openai.parseError(422, {}, { detail: odd }).outcome, 'bad_request');
});

test('the model list is one page', (t) => {
  t.deepEqual(
    openai.parseModels({ object: 'list', data: [{ id: 'gpt-4o', object: 'model', created: 1_715_367_049 }] }),
    {
      models: [{ id: 'gpt-4o', created: 1_715_367_049 }],
    },
  );
});
