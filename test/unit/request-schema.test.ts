/** The OpenAPI document describes exactly the requests and inputs that the gateway takes. */

import { openapi } from '@sluice/admin/openapi/document';
import { parseChatRequest } from '@sluice/api/chat/parse-chat-request';
import { parseConfig } from '@sluice/shared/config/config';
import * as contract from '@sluice/shared/contract/all';
import { read } from '@sluice/shared/contract/mistakes';
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
  'messages',
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
  { messages: 'a' },
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

const FIELDS = { drop: ['seed'], rename: { top_k: 'top_p' } };
const ENTRY = { provider: 'openai', model: 'gpt-4o', timeout_ms: 1, max_tokens: 1, retries: 0, ...FIELDS };
const LIMITS = {
  requests_per_minute: 1,
  tokens_per_minute: 1,
  concurrent_requests: 1,
  budget_usd_per_month: 0.5,
  budget: 'strict',
  unpriced_models: 'allow',
  weight: 1,
  batches_over_budget: 'wait',
};
const END = '2999-01-31T12:00:00Z';
/** Inputs of the admin api whose rules JSON Schema can say. */
const INPUTS: [contract.Shape, unknown][] = [
  [contract.workspaceInput, { id: 'a', name: 'A', models: ['*'], limits: LIMITS }],
  [contract.shardChange, { open: false }],
  [contract.moveInput, { shard: 1, wait_seconds: 60 }],
  [contract.workspaceChange, { name: 'A', models: ['*'], limits: LIMITS }],
  [contract.keyChange, { name: 'a', expires_at: END, priority: 'normal', max_priority: 'normal' }],
  [contract.keyQuestion, { values: ['a'] }],
  [contract.rotation, { grace_seconds: 1, expires_at: END }],
  [contract.routeInput, { chain: [ENTRY, { one_of: [{ ...ENTRY, weight: 1 }, ENTRY] }], on_crash: 'fail' }],
  [contract.routeInput, [ENTRY]],
  [contract.tokenInput, { name: 'a', role: 'viewer', workspaces: ['a'], expires_at: END }],
  [contract.webhookInput, { url: 'https://a.example', events: ['batch.failed'] }],
  [contract.secretInput, { api_key: 'a' }],
  [contract.providerQuestion, { model: 'a' }],
];

test('an input of the admin api is taken exactly when the document describes it', (t) => {
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
  ajv.addFormat('date-time', (text) => contract.moment.is(text));
  const resolvable = (schema: unknown) =>
    JSON.parse(JSON.stringify(schema).replaceAll('"#/components/schemas/', '"openapi#/$defs/'));
  ajv.addSchema({ $id: 'openapi', $defs: resolvable(openapi.components.schemas) });
  let taken = 0;
  let refused = 0;
  for (const [shape, good] of INPUTS) {
    const isDescribed = ajv.compile(resolvable(shape.json));
    // Null in the place of a field that may be left out is taken, too. The document does not offer that.
    for (const path of pathsIn(good))
      for (const damage of DAMAGES.filter((each) => each !== null)) {
        const input = damaged(good, path, damage);
        if (input === ABSENT) continue;
        const { mistakes } = read(shape, input);
        const about = `${shape.component?.name} ${path.join('.')}: ${JSON.stringify(input)}`;
        t.is(isDescribed(input), mistakes.length === 0, about);
        if (mistakes.length === 0) taken++;
        else refused++;
      }
  }
  t.true(taken > 100 && refused > 500, `${taken} taken, ${refused} refused`);
});
