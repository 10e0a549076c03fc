import type { ChatRequest } from '@sluice/shared/chat';
import { ERROR_STATUS, GatewayError } from '@sluice/shared/errors';
import { failureOf } from '@sluice/worker/providers/failure';
import { providers, responses } from '@sluice/worker/providers/index';
import { parseRetryAfter } from '@sluice/worker/providers/retry-after';
import { type Headers, UnusableResponse } from '@sluice/worker/providers/types';
import { cleanUpstreamText } from '@sluice/worker/providers/upstream-text';
import test from 'ava';
import fc from 'fast-check';

const KEY = 'sk-proj-CANARY-0123456789abcdef';

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const child of Object.values(value)) deepFreeze(child);
    Object.freeze(value);
  }
  return value;
}

/** Something of everything that both providers take. */
function fullRequest(): ChatRequest {
  return {
    model: 'fast',
    messages: [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        name: 'ann',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA', detail: 'low' } },
        ],
      },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"at":{"x":1}}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'a cat' },
      { role: 'developer', content: 'Now answer.' },
      { role: 'user', content: 'Well?' },
    ],
    temperature: 0.3,
    top_p: 0.9,
    max_tokens: 300,
    stop: ['END', 'STOP'],
    stream: false,
    seed: 7,
    user: 'u-1',
    tools: [
      { type: 'function', function: { name: 'look', parameters: { type: 'object', $defs: { a: {} } } } },
    ],
    tool_choice: 'required',
    parallel_tool_calls: false,
    response_format: { type: 'json_schema', json_schema: { name: 'r', schema: { type: 'object' } } },
    reasoning_effort: 'high',
  };
}

/** Values that JSON can carry, a good deal of them shaped like parts of a real answer. */
const fragment = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom('assistant', 'message', 'text', 'tool_use', 'stop', 'end_turn', null, -1, 1.5, [], {}),
);
const almostAnswer = fc.record(
  {
    type: fc.oneof(fc.constant('message'), fragment),
    role: fc.oneof(fc.constant('assistant'), fragment),
    stop_reason: fc.oneof(fc.constant('end_turn'), fragment),
    content: fc.oneof(
      fc.array(
        fc.record(
          {
            type: fc.constantFrom('text', 'tool_use', 'thinking'),
            text: fragment,
            id: fragment,
            name: fragment,
            input: fragment,
          },
          { requiredKeys: ['type'] },
        ),
      ),
      fragment,
    ),
    status: fc.oneof(fc.constantFrom('completed', 'incomplete', 'failed'), fragment),
    output: fc.oneof(
      fc.array(
        fc.record(
          {
            type: fc.constantFrom('message', 'function_call', 'reasoning'),
            content: fc.oneof(
              fc.array(
                fc.record({
                  type: fc.constantFrom('output_text', 'refusal'),
                  text: fragment,
                  refusal: fragment,
                  logprobs: fragment,
                }),
              ),
              fragment,
            ),
            call_id: fragment,
            name: fragment,
            arguments: fragment,
            summary: fragment,
          },
          { requiredKeys: ['type'] },
        ),
      ),
      fragment,
    ),
    choices: fc.oneof(
      fc.array(
        fc.record(
          {
            index: fragment,
            finish_reason: fc.oneof(fc.constant('stop'), fragment),
            message: fc.oneof(
              fc.record(
                {
                  role: fc.constant('assistant'),
                  content: fragment,
                  tool_calls: fragment,
                  refusal: fragment,
                },
                { requiredKeys: ['role'] },
              ),
              fragment,
            ),
          },
          { requiredKeys: [] },
        ),
      ),
      fragment,
    ),
    usage: fc.oneof(
      fc.dictionary(
        fc.constantFrom(
          'prompt_tokens',
          'completion_tokens',
          'total_tokens',
          'input_tokens',
          'output_tokens',
          'cache_read_input_tokens',
          'cache_creation_input_tokens',
        ),
        fc.oneof(fc.integer(), fc.double(), fragment),
      ),
      fragment,
    ),
  },
  { requiredKeys: [] },
);
const anyBody = fc.oneof(fc.anything(), fc.string(), fc.constant('<html>502</html>'), fragment, almostAnswer);

/** Responses has neither of these. */
const LACKS = { stop: undefined, seed: undefined, messages: fullRequest().messages.map(withoutName) };

function withoutName<T extends { name?: unknown }>({ name: _, ...message }: T) {
  return message;
}

for (const [kind, provider] of Object.entries({ ...providers, responses })) {
  test(`${kind}: building a request leaves the input as it is and builds the same again`, (t) => {
    const isResponses = kind === 'responses';
    const request = deepFreeze({ ...fullRequest(), ...(isResponses ? LACKS : {}) } as ChatRequest);
    const entry = deepFreeze({ provider: kind, model: 'm-1', max_tokens: 100 });
    const before = JSON.stringify(request);
    const first = provider.buildRequest(request, entry);
    t.deepEqual(provider.buildRequest(request, entry), first);
    t.is(JSON.stringify(request), before);
    t.is(first.model, 'm-1');
    t.is(first[isResponses ? 'max_output_tokens' : 'max_tokens'], 100);
    t.false('stream' in first);
  });

  test(`${kind}: any request of the right shape is built or refused as invalid_request with a param`, (t) => {
    const message = fc.record(
      {
        role: fc.constantFrom('system', 'developer', 'user', 'assistant', 'tool'),
        content: fc.oneof(fc.string(), fc.array(fc.record({ type: fc.string(), text: fragment })), fragment),
        tool_calls: fragment,
        tool_call_id: fragment,
      },
      { requiredKeys: ['role'] },
    );
    const request = fc.record(
      {
        messages: fc.array(message),
        tools: fragment,
        tool_choice: fragment,
        response_format: fragment,
        reasoning_effort: fragment,
        n: fragment,
        logit_bias: fragment,
        modalities: fragment,
        stop: fc.oneof(fc.string(), fc.array(fc.string())),
      },
      { requiredKeys: ['messages'] },
    );
    fc.assert(
      fc.property(request, (fields) => {
        try {
          provider.buildRequest(deepFreeze({ model: 'fast', ...fields }) as ChatRequest, {
            provider: kind,
            model: 'm',
          });
        } catch (error) {
          if (!(error instanceof GatewayError)) throw error;
          if (error.code !== 'invalid_request' || error.param === null) throw error;
        }
      }),
    );
    t.pass();
  });

  test(`${kind}: a garbage 2xx body is an UnusableResponse and never another fault`, (t) => {
    const garbage = [
      undefined,
      null,
      '',
      '<html>',
      42,
      [],
      {},
      { error: { message: 'sorry' } },
      { type: 'error', error: { type: 'api_error', message: 'sorry' } },
      { choices: [], type: 'message', role: 'assistant', stop_reason: 'end_turn', content: null },
    ];
    for (const body of garbage)
      t.throws(() => provider.parseResponse(body), { instanceOf: UnusableResponse });
    fc.assert(
      fc.property(anyBody, (body) => {
        try {
          const { completion, usage } = provider.parseResponse(body, 0);
          const counts = [...Object.values(usage), completion.usage.total_tokens];
          if (!counts.every((count) => Number.isSafeInteger(count) && count >= 0))
            throw new Error('bad count');
          for (const { message } of completion.choices) {
            if (typeof message.content !== 'string' && message.content !== null)
              throw new Error('bad content');
          }
        } catch (error) {
          if (!(error instanceof UnusableResponse)) throw error;
        }
      }),
      { numRuns: 1000 },
    );
  });

  test(`${kind}: any status and body is a failure with a known code`, (t) => {
    const header = fc.oneof(
      fc.string(),
      fc.array(fc.string()),
      fc.constant(undefined),
      fc.integer().map(String),
    );
    const headers = fc.record({ 'retry-after': header, 'retry-after-ms': header }, { requiredKeys: [] });
    const errorBody = fc.record({
      error: fc.oneof(fragment, fc.record({ message: fragment, code: fragment })),
    });
    fc.assert(
      fc.property(
        fc.integer({ min: 100, max: 999 }),
        headers,
        fc.oneof(anyBody, errorBody),
        (status, h, body) => {
          const failure = provider.parseError(status, h as Headers, body, 0);
          if (!(failure.code in ERROR_STATUS)) throw new Error('unknown code');
          if (failure.message === '' || failure.message.length > 500) throw new Error('bad message');
          if (failure.retryAfterMs !== undefined && !(failure.retryAfterMs >= 0)) throw new Error('bad wait');
          if (failure.status !== status) throw new Error('status lost');
        },
      ),
    );
    t.pass();
  });

  test(`${kind}: no message shows a key that upstream quoted`, (t) => {
    const message = `Incorrect API key provided: ${KEY}, sent as "Authorization: Bearer ${KEY}".`;
    const bodies = [
      { error: { message, type: 'invalid_request_error', code: 'x', param: KEY } },
      { type: 'error', error: { type: 'authentication_error', message } },
      { error: message },
      { message },
      message,
    ];
    for (const status of [400, 401, 402, 403, 404, 413, 422, 429, 500, 503, 529]) {
      for (const body of bodies) {
        t.notRegex(JSON.stringify(provider.parseError(status, {}, body)), /CANARY/, `${status}`);
      }
    }
  });

  const outcomes = [
    [400, 'bad_request', 'invalid_request', false],
    [401, 'auth', 'provider_error', true],
    [402, 'auth', 'provider_error', true],
    [403, 'auth', 'provider_error', true],
    [404, 'model_not_found', 'model_not_found', true],
    [408, 'timeout', 'provider_timeout', true],
    [409, 'server_error', 'provider_error', true],
    [413, 'bad_request', 'invalid_request', false],
    [422, 'bad_request', 'invalid_request', false],
    [429, 'rate_limited', 'rate_limited', true],
    [500, 'server_error', 'provider_error', true],
    [502, 'server_error', 'provider_error', true],
    [503, 'overloaded', 'provider_unavailable', true],
    [504, 'server_error', 'provider_error', true],
    [529, 'overloaded', 'provider_unavailable', true],
    [302, 'bad_response', 'provider_error', true],
    [418, 'bad_response', 'provider_error', true],
    [600, 'bad_response', 'provider_error', true],
  ] as const;
  for (const [status, outcome, code, fallback] of outcomes) {
    test(`${kind}: a ${status} is ${outcome}, shown as ${code}`, (t) => {
      for (const body of [undefined, '<html>', { error: { message: 'words' } }]) {
        const failure = provider.parseError(status, {}, body);
        t.like(failure, { status, outcome, code, fallback });
        t.is(failure.coolDown, status === 429 ? 'model' : undefined);
        t.is(failure.retryAfterMs, undefined);
      }
    });
  }

  test(`${kind}: retry-after is kept for a 429 and for an overload, and means nothing elsewhere`, (t) => {
    const headers = { 'retry-after': '7' };
    for (const status of [429, 503, 529]) t.is(provider.parseError(status, headers, {}).retryAfterMs, 7000);
    for (const status of [400, 401, 500])
      t.is(provider.parseError(status, headers, {}).retryAfterMs, undefined);
  });

  test(`${kind}: the caller's own mistake is told in upstream's words`, (t) => {
    const body = {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'temperature:\n\ttoo high\u0007' },
    };
    t.is(provider.parseError(400, {}, body).message, 'temperature: too high');
  });

  test(`${kind}: a model list keeps ids and ignores entries that are none`, (t) => {
    const page = provider.parseModels({ data: [{ id: 'm-1' }, null, 'x', { id: 5 }, {}] });
    t.deepEqual(page, { models: [{ id: 'm-1', created: 0 }] });
    fc.assert(
      fc.property(anyBody, (body) => {
        try {
          provider.parseModels(body);
        } catch (error) {
          if (!(error instanceof UnusableResponse)) throw error;
        }
      }),
    );
    t.throws(() => provider.parseModels({}), { instanceOf: UnusableResponse });
  });
}

test('a failure without a response has a code and may fall back', (t) => {
  t.like(failureOf('connection'), { code: 'provider_error', fallback: true });
  t.like(failureOf('timeout'), { code: 'provider_timeout', fallback: true });
  t.like(failureOf('bad_response', 200), { code: 'provider_error', fallback: true, status: 200 });
  t.false('status' in failureOf('connection'));
});

test('retry-after is read as milliseconds, as seconds or as a date', (t) => {
  const now = Date.parse('2026-11-15T00:00:00Z');
  t.is(parseRetryAfter({ 'retry-after-ms': '250', 'retry-after': '9' }, now), 250);
  t.is(parseRetryAfter({ 'retry-after': '0.5' }, now), 500);
  t.is(parseRetryAfter({ 'retry-after': ['3', '4'] }, now), 3000);
  t.is(parseRetryAfter({ 'retry-after': 'Sun, 15 Nov 2026 00:00:30 GMT' }, now), 30_000);
  t.is(parseRetryAfter({ 'retry-after': 'Sat, 14 Nov 2026 00:00:00 GMT' }, now), 0);
  t.is(parseRetryAfter({ 'retry-after': '0' }, now), 0);
});

test('a retry-after that is none is ignored and an endless one is cut to a day', (t) => {
  t.is(parseRetryAfter({}, 0), undefined);
  t.is(parseRetryAfter({ 'retry-after': 'soon' }, 0), undefined);
  t.is(parseRetryAfter({ 'retry-after': '-5' }, 0), undefined);
  t.is(parseRetryAfter({ 'retry-after': '2026-12-01' }, 0), undefined);
  t.is(parseRetryAfter({ 'retry-after': '999999999' }, 0), 86_400_000);
});

test('upstream text is shown on one line, without control characters, secrets or more than 500 characters', (t) => {
  t.is(cleanUpstreamText('a\r\n\tb\u0000\u202ec'), 'a bc');
  t.is(cleanUpstreamText('key sk-proj-***abc was wrong'), 'key [redacted] was wrong');
  t.is(cleanUpstreamText('sent Bearer abc.def now'), 'sent [redacted] now');
  t.is(cleanUpstreamText('in organization org-Abc123xyz on it'), 'in organization [redacted] on it');
  t.is(cleanUpstreamText('a task-force at risk-level'), 'a task-force at risk-level');
  const long = cleanUpstreamText('😀'.repeat(5000));
  t.true(long.length <= 500);
  t.notRegex(long, /[\ud800-\udbff](?![\udc00-\udfff])/);
});

test('a retry-after date is counted from the answer’s own date, whatever the clock here says', (t) => {
  const headers = {
    date: 'Sun, 15 Nov 2026 12:00:00 GMT',
    'retry-after': 'Sun, 15 Nov 2026 12:00:07 GMT',
  };
  t.is(parseRetryAfter(headers, 0), 7_000);
  t.is(parseRetryAfter(headers, Date.parse('Sun, 15 Nov 2026 12:10:00 GMT')), 7_000);
  const { date: _, ...dateless } = headers;
  t.is(parseRetryAfter(dateless, Date.parse('Sun, 15 Nov 2026 12:00:03 GMT')), 4_000);
});

test('a 429 that says this request is too large is a refusal of that request and no cool-down', (t) => {
  const tpm =
    'Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 42000.';
  const openaiFailure = providers.openai.parseError(
    429,
    { 'retry-after': '86400' },
    {
      error: { message: tpm, type: 'tokens', code: 'rate_limit_exceeded', param: null },
    },
  );
  const anthropicFailure = providers.anthropic.parseError(
    429,
    {},
    {
      type: 'error',
      error: {
        type: 'rate_limit_error',
        message: 'Request too large: it exceeds your limit of input tokens per minute.',
      },
    },
  );
  for (const failure of [openaiFailure, anthropicFailure]) {
    t.like(failure, { outcome: 'request_too_large', code: 'request_too_large', fallback: true, status: 429 });
    t.is(failure.coolDown, undefined);
    t.is(failure.retryAfterMs, undefined);
    t.notRegex(failure.message, /org-x/);
  }
});
