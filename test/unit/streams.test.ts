/** Answers in pieces: whatever the pieces are and wherever their bytes are cut, the caller gets what the whole answer says. */

import { isDeepStrictEqual } from 'node:util';
import { anthropic } from '@sluice/simulator/anthropic';
import type { Dialect } from '@sluice/simulator/dialect';
import { openai } from '@sluice/simulator/openai';
import { openaiResponses } from '@sluice/simulator/responses';
import { anthropic as claude } from '@sluice/worker/providers/anthropic/index';
import { responses as byResponses, providerFor } from '@sluice/worker/providers/index';
import { parseAnswer } from '@sluice/worker/providers/json';
import { openai as gpt, openaiCompatible } from '@sluice/worker/providers/openai/index';
import { type SseEvent, SseReader } from '@sluice/worker/providers/sse';
import type { Assembler, ParsedResponse, Provider } from '@sluice/worker/providers/types';
import test from 'ava';
import fc from 'fast-check';

const NOW = 1_800_000_000_000;

function eventsOf(parts: readonly Uint8Array[]): SseEvent[] {
  const events: SseEvent[] = [];
  const reader = new SseReader((event) => events.push(event));
  for (const part of parts) reader.push(part);
  reader.end();
  return events;
}

/** The bytes, cut before each of the places. */
function cutAt(bytes: Buffer, places: readonly number[]): Buffer[] {
  const ends = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  return [...ends, bytes.length].map((end, i) => bytes.subarray(ends[i - 1] ?? 0, end));
}

function assembled(provider: Provider, parts: readonly Uint8Array[]): Assembler {
  const assembler = provider.stream?.assemble();
  if (!assembler) throw new Error('the provider does not stream');
  for (const event of eventsOf(parts)) assembler.take(event);
  return assembler;
}

/** What the caller gets, or why nobody gets anything. */
function read(provider: Provider, body: unknown): ParsedResponse | string {
  try {
    return provider.parseResponse(body, NOW);
  } catch (error) {
    return String(error);
  }
}

const text = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }));
const tokens = fc.nat(100_000);
const id = fc.stringMatching(/^[a-z0-9_]{1,24}$/);
const name = fc.stringMatching(/^[a-z_]{1,16}$/);
const json = fc.jsonValue({ maxDepth: 3 });
const input = fc.dictionary(name, json, { maxKeys: 4 });
const logprob = fc.record({
  token: text,
  logprob: fc.constantFrom(-0.5, -1e-7, 0),
  bytes: fc.array(fc.nat(255)),
  top_logprobs: fc.array(fc.record({ token: text, logprob: fc.constantFrom(-2.25, -9999) }), {
    maxLength: 2,
  }),
});

const toolCall = fc.record({
  id,
  type: fc.constant('function'),
  function: fc.record({ name, arguments: input.map((value) => JSON.stringify(value)) }),
});
const chatMessage = fc.oneof(
  fc.record({ content: text, refusal: fc.constant(null), annotations: fc.constant([]) }),
  fc.record({ content: fc.constant(null), refusal: text, annotations: fc.constant([]) }),
  fc.record({
    content: text,
    refusal: fc.constant(null),
    reasoning_content: text,
    annotations: fc.array(fc.record({ type: fc.constant('url_citation'), url: text }), { maxLength: 2 }),
  }),
  fc.record({
    content: fc.constant(null),
    refusal: fc.constant(null),
    annotations: fc.constant([]),
    tool_calls: fc.array(toolCall, { minLength: 1, maxLength: 3 }),
  }),
);
const completion = fc
  .record({
    id,
    created: fc.integer({ min: 1, max: 2_000_000_000 }),
    model: id,
    messages: fc.array(chatMessage, { minLength: 1, maxLength: 3 }),
    logprobs: fc.option(
      fc.record({ content: fc.array(logprob, { maxLength: 4 }), refusal: fc.constant(null) }),
    ),
    finish: fc.constantFrom('stop', 'length', 'tool_calls', 'content_filter'),
    service_tier: fc.constantFrom('default', 'flex', null),
    usage: fc.record({
      prompt_tokens: tokens,
      completion_tokens: tokens,
      total_tokens: tokens,
      prompt_tokens_details: fc.record({ cached_tokens: tokens, audio_tokens: fc.constant(0) }),
    }),
  })
  .map(({ messages, logprobs, finish, ...rest }) => ({
    ...rest,
    object: 'chat.completion',
    system_fingerprint: 'fp',
    choices: messages.map((message, index) => ({
      index,
      message: { role: 'assistant', ...message },
      logprobs,
      finish_reason: finish,
    })),
  }));

const block = fc.oneof(
  fc.record({ type: fc.constant('text'), text }),
  fc.record({
    type: fc.constant('text'),
    text,
    citations: fc.array(fc.record({ type: fc.constant('char_location'), cited_text: text }), {
      minLength: 1,
      maxLength: 2,
    }),
  }),
  fc.record({ type: fc.constant('tool_use'), id, name, input }),
  fc.record({ type: fc.constant('thinking'), thinking: text, signature: id }),
  fc.record({ type: fc.constant('redacted_thinking'), data: id }),
);
const message = fc.record({
  id,
  type: fc.constant('message'),
  role: fc.constant('assistant'),
  model: id,
  content: fc.array(block, { maxLength: 4 }),
  stop_reason: fc.constantFrom('end_turn', 'max_tokens', 'tool_use', 'stop_sequence', 'refusal'),
  stop_sequence: fc.option(text),
  usage: fc.record({
    input_tokens: tokens,
    cache_creation_input_tokens: tokens,
    cache_read_input_tokens: tokens,
    cache_creation: fc.record({ ephemeral_5m_input_tokens: tokens, ephemeral_1h_input_tokens: tokens }),
    output_tokens: tokens,
    service_tier: fc.constant('standard'),
  }),
});

const item = fc.oneof(
  fc.record({
    id,
    type: fc.constant('message'),
    role: fc.constant('assistant'),
    content: fc.array(
      fc.oneof(
        fc.record({ type: fc.constant('output_text'), text, logprobs: fc.array(logprob, { maxLength: 2 }) }),
        fc.record({ type: fc.constant('refusal'), refusal: text }),
      ),
      { maxLength: 3 },
    ),
  }),
  fc.record({ id, type: fc.constant('function_call'), call_id: id, name, arguments: text }),
  fc.record({
    id,
    type: fc.constant('reasoning'),
    summary: fc.array(fc.record({ type: fc.constant('summary_text'), text }), { maxLength: 2 }),
  }),
);
const response = fc.record({
  id,
  object: fc.constant('response'),
  created_at: fc.integer({ min: 1, max: 2_000_000_000 }),
  status: fc.constantFrom('completed', 'incomplete'),
  error: fc.constant(null),
  incomplete_details: fc.option(
    fc.record({ reason: fc.constantFrom('max_output_tokens', 'content_filter') }),
  ),
  output: fc.array(item, { minLength: 1, maxLength: 4 }),
  service_tier: fc.constant('default'),
  usage: fc.record({ input_tokens: tokens, output_tokens: tokens }),
});

type Way = [
  name: string,
  provider: Provider,
  dialect: Dialect,
  answers: fc.Arbitrary<Record<string, unknown>>,
];
const WAYS: Way[] = [
  ['chat completions', gpt, openai, completion],
  ['messages', claude, anthropic, message],
  ['responses', byResponses, openaiResponses, response],
];

for (const [title, provider, dialect, answers] of WAYS) {
  const asks = provider.stream?.ask ?? {};
  // Of several choices the first may be complete before the others begin.
  const alone = answers.filter(({ choices }) => !Array.isArray(choices) || choices.length === 1);
  const streamed = (answer: Record<string, unknown>) =>
    Buffer.from(dialect.pieces(answer, { ...asks }).join(': alive\n\n'));

  test(`1,000 ${title} that are read in pieces are those that are read whole`, (t) => {
    fc.assert(
      fc.property(answers, fc.array(fc.nat(), { maxLength: 20 }), (answer, places) => {
        const whole = parseAnswer(JSON.stringify(answer));
        const assembler = assembled(provider, cutAt(streamed(answer), places));
        return (
          assembler.isComplete && isDeepStrictEqual(read(provider, assembler.body()), read(provider, whole))
        );
      }),
      { numRuns: 1_000 },
    );
    t.pass();
  });

  test(`${title} may be cut at every byte`, (t) => {
    const short = fc
      .sample(answers, { numRuns: 200, seed: 33 })
      .filter((each) => streamed(each).length < 3_000);
    for (const answer of short.slice(-4)) {
      const bytes = streamed(answer);
      const whole = read(provider, parseAnswer(JSON.stringify(answer)));
      const every = cutAt(
        bytes,
        Array.from({ length: bytes.length }, (_, i) => i),
      );
      t.deepEqual(read(provider, assembled(provider, every).body()), whole);
      const events = eventsOf([bytes]);
      for (let place = 0; place < bytes.length; place++) t.deepEqual(eventsOf(cutAt(bytes, [place])), events);
    }
  });

  test(`${title} that break off anywhere are no answer, and what has come counts`, (t) => {
    const [answer = {}] = fc.sample(alone, { numRuns: 1, seed: 7 });
    const pieces = dialect.pieces(answer, { ...asks });
    let output = 0;
    for (let n = 0; n < pieces.length - 2; n++) {
      const assembler = assembled(provider, [Buffer.from(pieces.slice(0, n).join(''))]);
      t.false(assembler.isComplete);
      t.is(typeof read(provider, assembler.body()), 'string', `after ${n} of ${pieces.length}`);
      t.true(assembler.soFar().output >= output);
      output = assembler.soFar().output;
    }
  });

  test(`${title} that end at any byte are the whole answer, or none`, (t) => {
    const [answer = {}] = fc.sample(
      alone.filter((each) => streamed(each).length < 3_000),
      { numRuns: 1, seed: 34 },
    );
    const bytes = streamed(answer);
    // The last pieces have the usage and the end of the stream.
    const messageOf = (given: ParsedResponse | string) =>
      typeof given === 'string' ? given : given.completion.choices;
    const whole = messageOf(read(provider, parseAnswer(JSON.stringify(answer))));
    t.not(typeof whole, 'string');
    let answered = 0;
    for (let end = 0; end < bytes.length; end++) {
      const got = messageOf(read(provider, assembled(provider, [bytes.subarray(0, end)]).body()));
      if (typeof got === 'string') continue;
      answered++;
      t.deepEqual(got, whole, `after ${end} of ${bytes.length} bytes`);
    }
    t.true(answered < bytes.length / 2);
  });

  test(`${title} with bytes that are no events are no answer, and never throw`, (t) => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            fc.string(),
            json.map((value) => JSON.stringify(value)),
          ),
          { maxLength: 5 },
        ),
        (lines) => {
          const assembler = assembled(provider, [
            Buffer.from(lines.map((line) => `data: ${line}\n\n`).join('')),
          ]);
          return typeof read(provider, assembler.body()) === 'string';
        },
      ),
    );
    t.pass();
  });
}

test('events are read as the standard has them', (t) => {
  const lines =
    '\ufeff: comment\r\nevent: a\rdata:one\ndata:  two\nid: 7\nretry: 5\n\n\n:x\n\ndata\n\nevent: lost\n\ndata: last';
  const expected = [
    { name: 'a', data: 'one\n two' },
    { name: '', data: 'last' },
  ];
  const bytes = Buffer.from(lines);
  for (let place = 0; place <= bytes.length; place++) t.deepEqual(eventsOf(cutAt(bytes, [place])), expected);
});

const chunk = (delta: unknown, more: object = {}) =>
  `data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, delta, finish_reason: null, ...more }] })}\n\n`;
const readChunks = (provider: Provider, ...chunks: string[]) => {
  const body = assembled(provider, [Buffer.from(chunks.join(''))]).body();
  const answer = read(provider, body);
  return typeof answer === 'string' ? answer : answer.completion.choices[0];
};
const STOP = chunk({}, { finish_reason: 'stop' });

test('what an event holds counts, however little its lines have', (t) => {
  const reader = new SseReader(() => {});
  const lines = Buffer.from('data:\n'.repeat(10_000));
  for (let i = 0; i < 100; i++) reader.push(lines);
  t.true(reader.held >= 10_000_000);
  reader.push(Buffer.from('\n'));
  t.is(reader.held, 0);
});

test('everything that is kept of a stream counts, whatever field it is in', (t) => {
  const text = 'x'.repeat(1_000);
  const kept: Record<string, [Provider, (i: number) => string]> = {
    'fields of the answer': [openaiCompatible, (i) => `data: ${JSON.stringify({ [`f${i}`]: text })}\n\n`],
    'fields of a choice': [openaiCompatible, (i) => chunk({}, { [`f${i}`]: text })],
    'fields of a tool call': [openaiCompatible, () => chunk({ tool_calls: [{ index: 0, more: text }] })],
    'fields of a message': [
      claude,
      (i) => `data: ${JSON.stringify({ type: 'message_delta', delta: { [`f${i}`]: text } })}\n\n`,
    ],
  };
  for (const [what, [provider, line]] of Object.entries(kept)) {
    const assembler = assembled(provider, [
      Buffer.from(Array.from({ length: 900 }, (_, i) => line(i)).join('')),
    ]);
    t.true(assembler.held >= 900_000, `${what}: ${assembler.held}`);
  }
  // The same field again takes no more.
  const usage = () => `data: ${JSON.stringify({ usage: { prompt_tokens: 7, text } })}\n\n`;
  const again = assembled(openaiCompatible, [Buffer.from(Array.from({ length: 900 }, usage).join(''))]);
  t.true(again.held < 10_000, String(again.held));
});

test('long lists in a stream are read in a time that grows with their length', (t) => {
  const items = Array.from({ length: 200_000 }, (_, index) => ({ index }));
  const lists = [chunk({ content: items }), chunk({ content: items })];
  t.is(typeof readChunks(openaiCompatible, ...lists, STOP), 'string');
  const details = [chunk({ details: items }), chunk({ details: items })];
  t.truthy(readChunks(openaiCompatible, ...details, chunk({ content: 'x' }), STOP));
  const citation = JSON.stringify({
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'citations_delta', citation: { cited_text: 'x' } },
  });
  const begin = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } };
  const events = [
    `data: ${JSON.stringify({ type: 'message_start', message: { id: 'm', content: [] } })}\n\n`,
    `data: ${JSON.stringify(begin)}\n\n`,
    `data: ${citation}\n\n`.repeat(100_000),
  ];
  const body = assembled(claude, [Buffer.from(events.join(''))]).body() as {
    content: { citations: unknown[] }[];
  };
  t.is(body.content[0]?.citations.length, 100_000);
});

test('tool calls of servers that send them in their own way', (t) => {
  const call = (fields: object) => chunk({ tool_calls: [fields] });
  const whole = { id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } };
  const calls = (...chunks: string[]) => {
    const choice = readChunks(openaiCompatible, ...chunks, STOP);
    return typeof choice === 'string' ? choice : choice?.message.tool_calls;
  };
  // The name again with every piece, no index, an index that begins at 1, and two calls that take turns.
  t.deepEqual(
    calls(
      call({ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '{"x"' } }),
      call({ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: ':1}' } }),
    ),
    [whole],
  );
  t.deepEqual(calls(call(whole), call({ ...whole, id: 'b' })), [whole, { ...whole, id: 'b' }]);
  t.deepEqual(calls(call({ index: 1, ...whole })), [whole]);
  t.deepEqual(
    calls(
      call({ index: 1, id: 'b', type: 'function', function: { name: 'g', arguments: '' } }),
      call({ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '{"x"' } }),
      call({ index: 1, function: { arguments: '{}' } }),
      call({ index: 0, function: { arguments: ':1}' } }),
    ),
    [whole, { id: 'b', type: 'function', function: { name: 'g', arguments: '{}' } }],
  );
});

test('thoughts of Mistral in parts, numbers as they are written, and fields that nobody knows', (t) => {
  const mistral = providerFor({ kind: 'openai', baseUrl: 'https://api.mistral.ai/v1', prices: 'mistral' });
  t.deepEqual(mistral.stream?.ask, { stream: true });
  const thought = (text: string) => ({ type: 'thinking', thinking: [{ type: 'text', text }] });
  t.like(
    readChunks(
      mistral,
      chunk({ role: 'assistant', content: '' }),
      chunk({ content: [thought('I '), thought('see')] }),
      chunk({ content: 'Yes' }),
      chunk({ content: [{ type: 'text', text: '.' }] }),
      STOP,
    ),
    { message: { role: 'assistant', content: 'Yes.', reasoning_content: 'I see' } },
  );
  const body = assembled(openaiCompatible, [
    Buffer.from('data: {"choices":[{"delta":{"content":"a","__proto__":{"x":1}}}],"cost":1.10}\n\n'),
    Buffer.from('data: {"choices":[{"delta":{"content":"b"},"finish_reason":"stop"}],"cost":null}\n\n'),
  ]).body() as Record<string, unknown>;
  t.deepEqual(body.cost, parseAnswer('{"cost":1.10}') && (parseAnswer('{"cost":1.10}') as typeof body).cost);
  t.is(({} as Record<string, unknown>).x, undefined);
});

test('an error in the middle is told as the error that it is', (t) => {
  const failed = (provider: Provider, dialect: Dialect, answer: Record<string, unknown>, status: number) => {
    const pieces = dialect.pieces(answer, {}).slice(0, 4);
    const events = [...pieces, dialect.errorPiece(dialect.statusRefusal(status), 'req')].join('');
    const assembler = assembled(provider, [Buffer.from(events)]);
    try {
      provider.parseResponse(assembler.body(), NOW);
      return 'ok';
    } catch (error) {
      const { status: told, error: body } = error as { status: number; error: unknown };
      return provider.parseError(told, {}, { error: body }, NOW).outcome;
    }
  };
  const [chat = {}] = fc.sample(completion, { numRuns: 1, seed: 3 });
  const [said = {}] = fc.sample(message, { numRuns: 1, seed: 3 });
  const [answered = {}] = fc.sample(response, { numRuns: 1, seed: 3 });
  t.is(failed(gpt, openai, chat, 429), 'rate_limited');
  t.is(failed(claude, anthropic, said, 529), 'overloaded');
  t.is(failed(byResponses, openaiResponses, answered, 429), 'rate_limited');
});

test('arguments of a tool that are cut by the token limit are none, and elsewhere they are no answer', (t) => {
  const events = (reason: string) =>
    [
      { type: 'message_start', message: { type: 'message', role: 'assistant', content: [], usage: {} } },
      {
        type: 'content_block_start',
        index: 0,
        content_block: { type: 'tool_use', id: 'a', name: 'f', input: {} },
      },
      {
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'input_json_delta', partial_json: '{"x": "unfin' },
      },
      { type: 'message_delta', delta: { stop_reason: reason }, usage: { output_tokens: 9 } },
      { type: 'message_stop' },
    ]
      .map((event) => `data: ${JSON.stringify(event)}\n\n`)
      .join('');
  const answer = (reason: string) => read(claude, assembled(claude, [Buffer.from(events(reason))]).body());
  t.like(answer('max_tokens'), { usage: { output: 9 } });
  t.is(typeof answer('tool_use'), 'string');
});

test('events of Responses in any order, twice and of unknown types are the answer that its last event is about', (t) => {
  const [answer = {}] = fc.sample(
    response.filter(({ output }) => new Set(output.map(({ type }) => type)).size > 2),
    { numRuns: 1, seed: 5 },
  );
  const { output = [] } = answer as { output?: object[] };
  const whole = read(byResponses, parseAnswer(JSON.stringify(answer)));
  t.not(typeof whole, 'string');
  const items = output.map((item, i) => ({ type: 'response.output_item.done', output_index: i, item }));
  const noise = [
    { type: 'response.created', response: { id: 'other', status: 'in_progress', output: [] } },
    { type: 'response.reasoning_summary_text.delta', delta: 'Hm', output_index: 7 },
    { type: 'response.brand_new.event', sequence_number: -1, item: { type: 'message' }, output_index: 0 },
    { type: 'response.output_text.delta', delta: { not: 'a text' } },
    { type: null },
    {},
  ];
  // Some servers tell the items only one by one.
  for (const told of [output, []]) {
    const last = { type: 'response.completed', response: { ...answer, output: told } };
    fc.assert(
      fc.property(
        fc.shuffledSubarray([...items, ...items, ...noise], { minLength: items.length * 2 + noise.length }),
        (events) => {
          const text = [...events, last].map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
          const assembler = assembled(byResponses, [Buffer.from(text)]);
          return assembler.isComplete && isDeepStrictEqual(read(byResponses, assembler.body()), whole);
        },
      ),
    );
  }
  t.pass();
});
