/** The OpenAPI document takes exactly the requests that the gateway takes. */
import { parseChatRequest } from '@sluice/api/chat/parse-chat-request';
import { openapi } from '@sluice/api/openapi/document';
import { parseConfig } from '@sluice/shared/config/config';
import { GatewayError } from '@sluice/shared/errors';
import { Ajv2020 } from 'ajv/dist/2020.js';
import test from 'ava';
import fc from 'fast-check';
import { ABSENT, damaged, pathsIn } from '../helpers/damage.js';

const { limits } = parseConfig({}, {}).request;
const isDescribed = new Ajv2020({ strict: true, allowUnionTypes: true }).compile(
  openapi.components.schemas.ChatRequest,
);

function isTaken(text: string): boolean {
  try {
    parseChatRequest(text, limits);
    return true;
  } catch (error) {
    if (error instanceof GatewayError) return false;
    throw error;
  }
}

const call = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } };
const FULL = {
  model: 'fast',
  messages: [
    { role: 'developer', content: 'Be brief.' },
    { role: 'system', content: 'Be kind.' },
    {
      role: 'user',
      name: 'ann',
      content: [
        { type: 'text', text: 'Hi' },
        { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'low' } },
        { type: 'input_audio', input_audio: {} },
      ],
    },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'function', name: 'look', content: 'a cat' },
    { role: 'tool', tool_call_id: 'call_1', content: 'a cat' },
  ],
  temperature: 1,
  max_tokens: 1,
  max_completion_tokens: 1,
  top_p: 1,
  stop: ['a'],
  stream: false,
  frequency_penalty: 0,
  presence_penalty: 0,
  logit_bias: {},
  logprobs: false,
  top_logprobs: 0,
  metadata: {},
  modalities: ['text'],
  n: 1,
  parallel_tool_calls: true,
  prompt_cache_key: 'a',
  reasoning_effort: 'low',
  response_format: { type: 'text' },
  safety_identifier: 'a',
  seed: 1,
  service_tier: 'auto',
  store: false,
  tool_choice: 'auto',
  tools: [
    { type: 'function', function: { name: 'look', description: 'Looks', parameters: {}, strict: true } },
    { type: 'custom', custom: {} },
  ],
  user: 'a',
  verbosity: 'low',
};

const DAMAGES: unknown[] = [
  ABSENT,
  null,
  true,
  0,
  1,
  -1,
  1.5,
  2 ** 53,
  '',
  'a',
  'user',
  'function',
  'text',
  '😀'.repeat(256),
  'a'.repeat(257),
  '😀'.repeat(257),
  [],
  ['a'],
  [1],
  [null],
  [{}],
  {},
  { type: 'text' },
  { toString: 1 },
];

test('a request is taken exactly when the document describes it, whatever is put in whichever place', (t) => {
  let taken = 0;
  let refused = 0;
  for (const path of pathsIn(FULL).filter((steps) => steps.length > 0)) {
    for (const damage of DAMAGES) {
      const body = damaged(FULL, path, damage);
      const text = JSON.stringify(body);
      const isFine = isTaken(text);
      t.is(isDescribed(JSON.parse(text)), isFine, `${path.join('.')}: ${text}`);
      if (isFine) taken++;
      else refused++;
    }
  }
  t.true(taken > 100 && refused > 100, `${taken} taken, ${refused} refused`);
});

test('so it is for requests with several damages, and for any JSON', (t) => {
  const damages = fc.array(
    fc.tuple(fc.constantFrom(...pathsIn(FULL)), fc.oneof(fc.constantFrom(...DAMAGES), fc.jsonValue())),
    { maxLength: 3 },
  );
  fc.assert(
    fc.property(damages, (list) => {
      let body: unknown = FULL;
      for (const [path, damage] of list) {
        try {
          body = damaged(body, path, damage);
        } catch {
          // An earlier damage has taken the place away.
        }
      }
      const text = JSON.stringify(body === ABSENT ? {} : body);
      t.is(isDescribed(JSON.parse(text)), isTaken(text), text);
    }),
    { numRuns: 2_000 },
  );
});
