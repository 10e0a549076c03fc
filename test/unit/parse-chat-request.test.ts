import { parseChatRequest } from '@sluice/api/chat/parse-chat-request';
import { parseConfig } from '@sluice/shared/config/config';
import { GatewayError } from '@sluice/shared/errors';
import test from 'ava';

const SECRET = 'the-value-of-the-caller-that-nobody-else-is-to-read';
const user = { role: 'user', content: 'Hello' };
const { limits } = parseConfig({}, {}).request;
const valid = { model: 'fast', messages: [user] };

function refusalOf(body: unknown, ownLimits = limits): GatewayError {
  try {
    parseChatRequest(typeof body === 'string' ? body : JSON.stringify(body), ownLimits);
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error('the request was taken');
}

const MISTAKES: readonly [mistake: string, body: unknown, param: string | null, message: string][] = [
  ['a body that is an array', [valid], null, 'The body must be a JSON object.'],
  ['a body that is a string', JSON.stringify(SECRET), null, 'The body must be a JSON object.'],
  ['a body that is a number', '1', null, 'The body must be a JSON object.'],
  ['a body that is null', 'null', null, 'The body must be a JSON object.'],
  ['no body', '', null, 'The body is empty. Send a JSON object.'],
  ['a body that is not JSON', `{"model":"${SECRET}`, null, 'The body is not valid JSON (line 1, column 62).'],
  ['a later line', `${'\n'.repeat(70_000)} {x`, null, 'The body is not valid JSON (line 70001, column 3).'],
  ['no model', { messages: [user] }, 'model', 'model is required.'],
  ['a model of null', { ...valid, model: null }, 'model', 'model must be a string.'],
  ['an empty model', { ...valid, model: '' }, 'model', 'model must have 1 to 256 characters.'],
  [
    'a model that is too long',
    { ...valid, model: SECRET.repeat(10) },
    'model',
    'model must have 1 to 256 characters.',
  ],
  ['no messages', { model: 'fast' }, 'messages', 'messages is required.'],
  ['empty messages', { ...valid, messages: [] }, 'messages', 'messages must not be empty.'],
  ['messages as a string', { ...valid, messages: SECRET }, 'messages', 'messages must be an array.'],
  [
    'messages as an object that cannot be printed',
    { ...valid, messages: { toString: 1, valueOf: 2 } },
    'messages',
    'messages must be an array.',
  ],
  [
    'a message that cannot be printed inside one that can',
    { ...valid, messages: [user, [{ toString: SECRET }]] },
    'messages[1]',
    'messages[1] must be an object.',
  ],
  [
    'a message that is a string',
    { ...valid, messages: [user, SECRET] },
    'messages[1]',
    'messages[1] must be an object.',
  ],
  [
    'a role that does not exist',
    { ...valid, messages: [{ role: SECRET, content: '' }] },
    'messages[0].role',
    'messages[0].role must be one of developer, system, user, assistant, tool, function.',
  ],
  ['no role', { ...valid, messages: [{ content: '' }] }, 'messages[0].role', 'messages[0].role is required.'],
  [
    'no content',
    { ...valid, messages: [user, { role: 'user' }] },
    'messages[1].content',
    'messages[1].content is required.',
  ],
  [
    'content that is an object',
    { ...valid, messages: [{ role: 'user', content: { text: SECRET } }] },
    'messages[0].content',
    'messages[0].content must be a string or an array of parts.',
  ],
  [
    'content without any part',
    { ...valid, messages: [{ role: 'user', content: [] }] },
    'messages[0].content',
    'messages[0].content must not be empty.',
  ],
  [
    'a part without a type',
    { ...valid, messages: [{ role: 'user', content: [{ text: SECRET }] }] },
    'messages[0].content[0].type',
    'messages[0].content[0].type is required.',
  ],
  [
    'a text part whose text is a number',
    { ...valid, messages: [{ role: 'user', content: [{ type: 'text', text: 123456 }] }] },
    'messages[0].content[0].text',
    'messages[0].content[0].text must be a string.',
  ],
  [
    'an image part whose image_url is a string',
    { ...valid, messages: [{ role: 'user', content: [{ type: 'image_url', image_url: SECRET }] }] },
    'messages[0].content[0].image_url',
    'messages[0].content[0].image_url must be an object.',
  ],
  [
    'a tool message without the id of its call',
    { ...valid, messages: [{ role: 'tool', content: SECRET }] },
    'messages[0].tool_call_id',
    'messages[0].tool_call_id is required.',
  ],
  [
    'a tool call of another type',
    {
      ...valid,
      messages: [{ role: 'assistant', tool_calls: [{ id: 'a', type: SECRET, function: {} }] }],
    },
    'messages[0].tool_calls[0].type',
    'messages[0].tool_calls[0].type must be "function".',
  ],
  [
    'a temperature as text',
    { ...valid, temperature: SECRET },
    'temperature',
    'temperature must be a number.',
  ],
  [
    'a temperature as text of two lines',
    { ...valid, temperature: `a, but received: b\n${SECRET}` },
    'temperature',
    'temperature must be a number.',
  ],
  [
    'max_tokens of 0',
    { ...valid, max_tokens: 0 },
    'max_tokens',
    'max_tokens must be from 1 to 9007199254740991.',
  ],
  [
    'max_tokens beyond all whole numbers',
    { ...valid, max_tokens: 1e308 },
    'max_tokens',
    'max_tokens must be from 1 to 9007199254740991.',
  ],
  ['n beyond all models', { ...valid, n: 1_001 }, 'n', 'n must be from 1 to 1000.'],
  ['max_tokens of 1.5', { ...valid, max_tokens: 1.5 }, 'max_tokens', 'max_tokens must be an integer.'],
  [
    'stop with a number in it',
    { ...valid, stop: [SECRET, 1] },
    'stop',
    'stop must be a string or an array of strings.',
  ],
  ['stream as text', { ...valid, stream: 'true' }, 'stream', 'stream must be a boolean.'],
  [
    'tools without a function',
    { ...valid, tools: [{ type: 'function' }] },
    'tools[0].function',
    'tools[0].function is required.',
  ],
  [
    'a tool choice of true',
    { ...valid, tool_choice: true },
    'tool_choice',
    'tool_choice must be a string or an object.',
  ],
  [
    'a temperature out of range',
    '{"model":"fast","messages":[{"role":"user","content":"Hi"}],"temperature":1e400}',
    'temperature',
    'temperature must be a number.',
  ],
];

for (const [mistake, body, param, message] of MISTAKES) {
  test(`${mistake} is refused with its path and what is expected`, (t) => {
    const refusal = refusalOf(body);
    t.like(refusal.toBody().error, { message, type: 'invalid_request', code: 'invalid_request', param });
  });
}

test('the role function passes, with its name and a content that may be null', (t) => {
  for (const content of ['21 °C', null]) {
    const body = { ...valid, messages: [user, { role: 'function', name: 'get_weather', content }] };
    t.deepEqual(
      parseChatRequest(JSON.stringify(body), limits),
      body as unknown as ReturnType<typeof parseChatRequest>,
    );
  }
  const nameless = { ...valid, messages: [user, { role: 'function', content: 'x' }] };
  t.is(refusalOf(nameless).param, 'messages[1].name');
});

test('a long key of the caller is not sent back in full', (t) => {
  const refusal = refusalOf(
    { ...valid, metadata: { [SECRET.repeat(20)]: [1, 2, 3] } },
    { ...limits, elements: 2 },
  );
  t.true(JSON.stringify(refusal.toBody()).length < 500);
  t.regex(refusal.param ?? '', /^metadata\.the-value/);
});

const nested = (levels: number, open: string, close: string) =>
  `${JSON.stringify(valid).slice(0, -1)},"extra":${open.repeat(levels - 1)}1${close.repeat(levels - 1)}}`;

test('64 levels are taken and 65 are refused, in arrays and in objects', (t) => {
  for (const [open, close] of [
    ['[', ']'],
    ['{"a":', '}'],
  ] as const) {
    t.notThrows(() => parseChatRequest(nested(64, open, close), limits));
    t.is(refusalOf(nested(65, open, close)).message, 'The body is nested more than 64 levels deep.');
    t.is(refusalOf(nested(100_000, open, close)).message, 'The body is nested more than 64 levels deep.');
  }
});

const LARGE: readonly [what: string, body: object, excess: object, param: string | null, message: string][] =
  [
    [
      'elements',
      { ...valid, x: { y: [1, 'a,b', [], ['[,,,']] } },
      { elements: 5 },
      'x.y[3]',
      'The body has more than 5 elements in its arrays.',
    ],
    [
      'keys',
      { ...valid, x: [0, { 'a:': ':::', b: {} }] },
      { keys: 6 },
      'x[1]',
      'The body has more than 6 keys in its objects.',
    ],
    ['levels', valid, { depth: 2 }, 'messages[0]', 'The body is nested more than 2 levels deep.'],
    [
      'messages',
      { ...valid, messages: [user, user, user] },
      { messages: 2 },
      'messages',
      'messages has more than 2 messages.',
    ],
    [
      'content parts',
      {
        ...valid,
        messages: [
          user,
          ...Array(2).fill({ role: 'user', content: Array(2).fill({ type: 'text', text: 'a' }) }),
        ],
      },
      { parts: 3 },
      'messages[2].content',
      'The messages have more than 3 content parts.',
    ],
  ];

for (const [what, body, excess, param, message] of LARGE) {
  test(`one more of its ${what} than allowed is refused by name, and as many as allowed are taken`, (t) => {
    t.like(refusalOf(body, { ...limits, ...excess }).toBody().error, {
      code: 'invalid_request',
      message,
      param,
    });
    const [[limit, most]] = Object.entries(excess) as [[string, number]];
    t.notThrows(() => parseChatRequest(JSON.stringify(body), { ...limits, [limit]: most + 1 }));
  });
}

test('streaming is refused before the rest is looked at', (t) => {
  t.like(refusalOf({ stream: true }).toBody().error, { code: 'not_implemented', param: 'stream' });
});

test('null stands for absent in optional fields, and unknown fields are taken', (t) => {
  const body = {
    ...valid,
    temperature: null,
    stop: null,
    tools: null,
    user: null,
    toString: 1,
    something: {},
  };
  t.deepEqual(parseChatRequest(JSON.stringify(body), limits), body as never);
});
