/**
 * The outside of the gateway, word by word: the OpenAPI document, and what is said about every wrong gateway.yaml and every
 * wrong chat request. `WRITE_FIXTURES=1` writes a change that is meant.
 */

import { openapiAt } from '@sluice/admin/openapi/document';
import { parseChatRequest } from '@sluice/api/chat/parse-chat-request';
import { readAddedProvider } from '@sluice/shared/config/added-provider';
import { ConfigError, parseConfig, parseConfigText } from '@sluice/shared/config/config';
import { mistakeText } from '@sluice/shared/contract/mistakes';
import { GatewayError } from '@sluice/shared/errors';
import test from 'ava';
import { stringify } from 'yaml';
import { ABSENT, damaged, pathsIn, refusalsOf } from '../helpers/damage.js';
import { isAsInFixture } from '../helpers/fixture.js';

test('the OpenAPI document is the one that is on file', (t) => {
  const { paths, components, ...head } = openapiAt('https://gateway.example', { messages: 10_000 });
  const parts = { head, ...paths, ...components.schemas, securitySchemes: components.securitySchemes };
  const lines = Object.entries(parts).map(([name, part]) => `${name}: ${JSON.stringify(inOrder(part))}\n`);
  isAsInFixture(t, 'contract/openapi.txt', lines.sort().join(''));
});

/** With the fields of every object in alphabetical order. */
function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, child]) => [key, inOrder(child)]));
}

const ENTRY = {
  provider: 'acme',
  model: 'm-1',
  timeout_ms: 1,
  max_tokens: 1,
  retries: 0,
  drop: ['seed'],
  rename: { top_k: 'top_p' },
};
const RATES = {
  requests_per_minute: 1,
  tokens_per_minute: 1,
  input_tokens_per_minute: 1,
  output_tokens_per_minute: 1,
};
/** Every field of gateway.yaml. */
const FILE = {
  providers: {
    acme: {
      preset: 'openai',
      kind: 'openai',
      base_url: 'https://acme.example/v1',
      path: '/chat',
      models_path: '/models',
      query: { version: '2' },
      headers: { 'x-team': 'search' },
      auth: { header: 'x-acme-key', scheme: 'Key' },
      rename_models: { 'm-1': 'acme-1' },
      prices: 'openai',
      keys: [
        { name: 'one', api_key: '${ONE}', weight: 1, limits: { ...RATES, models: { 'm-*': RATES } } },
        { name: 'two', api_key: '${TWO}' },
      ],
      limits: { ...RATES, models: { 'm-*': RATES } },
      concurrency: 1,
      max_wait_ms: 1,
      max_backlog: 1,
      timeout_ms: 1,
      cooldown_ms: 0,
      max_cooldown_ms: 1,
      circuit_failures: 0,
      circuit_open_ms: 1,
      check_answers: 'always',
      batch_price_factor: 0.5,
    },
    files: {
      kind: 'openai',
      base_url: 'https://files.example',
      auth: { token_file: '/run/token', token_lifetime_ms: 1000 },
    },
    commands: {
      kind: 'anthropic',
      base_url: 'https://commands.example',
      anthropic_version: '2023-06-01',
      auth: { token_command: ['print-token', '--now'] },
    },
    amazon: { preset: 'bedrock', region: 'eu-west-1', auth: { sigv4: true, service: 'bedrock' } },
    google: { preset: 'vertex', project: 'p', location: 'global' },
    azure: { preset: 'azure', resource: 'r', api_key: '${AZURE}' },
  },
  workspaces: [
    {
      id: 'demo',
      name: 'Demo',
      keys: [{ name: 'default', value: '${GATEWAY_KEY}', priority: 'normal', max_priority: 'interactive' }],
      models: ['fast', 'gpt-*'],
      limits: {
        requests_per_minute: 1,
        tokens_per_minute: 1,
        concurrent_requests: 1,
        budget_usd_per_month: 0.5,
        budget: 'strict',
        unpriced_models: 'refuse',
        weight: 1,
        batches_over_budget: 'wait',
      },
      routes: {
        fast: [ENTRY, { one_of: [{ ...ENTRY, weight: 1 }, ENTRY] }],
        safe: { chain: [ENTRY], on_crash: 'fail', provider_batches: true },
      },
    },
    { id: 'other' },
  ],
  request: {
    deadline_ms: 1,
    max_body_bytes: 1024,
    max_bytes_in_flight: 2048,
    max_bytes_in_flight_per_workspace: 2048,
    max_answer_bytes_in_flight: 1024,
    max_kept_answer_bytes: 0,
    receive_timeout_ms: 1,
    max_depth: 16,
    max_keys: 1,
    max_elements: 1,
    max_messages: 1,
    max_parts: 1,
  },
  request_log: { max_entries: 1, max_refusals_per_minute: 1, metric_tags: ['team'] },
  archive: { keep_requests: '90d', keep_spend: 'forever', max_redis_bytes: 1024 },
  registry: { url: 'https://prices.example/models.json', refresh_hours: 1.5, allow_private_addresses: true },
  cors: { origins: ['https://app.example'] },
  files: { max_file_bytes: 1024, max_bytes_per_workspace: 0, max_files_per_workspace: 0 },
  batches: { lines_in_flight: 1, max_active_per_workspace: 0, provider_poll_ms: 100 },
  webhooks: { allow_private_addresses: true, max_per_workspace: 0, timeout_ms: 100, first_retry_ms: 10 },
  access: {
    console_url: 'https://console.example',
    oidc: {
      issuer: 'https://id.example',
      client_id: 'sluice',
      client_secret: '${OIDC_SECRET}',
      scopes: 'openid',
      groups_claim: 'groups',
      label: 'Acme',
    },
    proxy: { addresses: ['10.0.0.0/8'], user_header: 'x-user', groups_header: 'x-groups' },
    groups: { staff: { role: 'viewer', workspaces: ['demo'] } },
    add_providers: false,
  },
};

const FILE_DAMAGES: unknown[] = [
  ...[ABSENT, null, true, -1, 1e13, 1.25, '', 'a b', 'nomral', '${UNSET}', '${ZERO:-0}', '${'],
  ...[[], ['a', 'a'], { nmae: 1, 'sk-12345': 1 }],
];

function mistakesIn(file: unknown): string | undefined {
  try {
    parseConfigText(stringify(file), {}, 'gateway.yaml');
    return undefined;
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes.map(mistakeText).join(' | ');
    throw error;
  }
}

const provider = (more: object) => ({ providers: { p: { kind: 'openai', base_url: 'http://x', ...more } } });
const workspace = (more: object) => ({ workspaces: [{ id: 'x', ...more }] });
const route = (more: unknown) => workspace({ routes: { r: more } });
const plain = { provider: 'openai', model: 'm' };
const many = (count: number, prefix: string) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`${prefix}${i}`, 'x']));
/** Files with fields that do not go together, or with names that operators choose. */
const ODD_FILES: unknown[] = [
  { providers: {} },
  { providers: { 'A b': { preset: 'openai' } } },
  { providers: { p: { preset: 'opnai' } } },
  { providers: { p: { preset: 'azure', base_url: 'https://{foo}.example/{resource}' } } },
  ...['azure', 'bedrock', 'vertex', 'vertex-anthropic'].map((preset) => ({ providers: { p: { preset } } })),
  ...['authorization', 'Content-Type', 'x-ä', 'x-1', 'a:sk-12'].flatMap((name) => [
    provider({ headers: { [name]: 'x' } }),
    provider({ headers: { [name]: [] } }),
  ]),
  ...['api_key', 'a b', 'v2', 'x'.repeat(65)].flatMap((name) => [
    provider({ query: { [name]: 2 } }),
    provider({ query: { [name]: '' } }),
  ]),
  provider({ headers: many(33, 'x-') }),
  provider({ query: many(33, 'v-') }),
  provider({ rename_models: many(1001, 'm-') }),
  provider({ rename_models: { 'a b': 'x', 'm-1': 'a b', 'm.1': 7 } }),
  provider({ limits: { models: { 'a b': { requests_per_minute: 0 }, 'm.1': {}, 'm-1': 7 } } }),
  provider({ auth: { token_file: '/a', token_command: ['a'] }, api_key: '${A}', keys: [{ name: 'a' }] }),
  provider({ auth: { sigv4: true }, keys: [{ name: 'a' }] }),
  provider({ auth: 'none', api_key: '${A}' }),
  provider({ auth: 'some' }),
  provider({ anthropic_version: '2023-06-01' }),
  provider({
    keys: [{ name: 'a', api_key: '${A}' }, { name: 'a', api_key: 'sk-1' }, { name: 'B' }, { name: 'B' }],
  }),
  provider({ keys: Array.from({ length: 65 }, (_, i) => ({ name: `k${i}` })) }),
  provider({ api_key: 'sk-1' }),
  provider({ api_key: '${A}-${B}' }),
  provider({ models_path: 'none', path: 'none' }),
  provider({ base_url: 'http://u:p@x/' }),
  provider({ base_url: 'ftp://x' }),
  { workspaces: [{ id: 'a' }, { id: 'a' }, { id: '' }, { id: '' }] },
  workspace({ keys: [{ name: 'k' }, { name: 'k', value: '${A}' }, { name: 'l', value: 'gw_live_1' }] }),
  workspace({ keys: [{ name: 'k', priority: 'interactive', max_priority: 'background' }] }),
  workspace({
    keys: [
      { name: 'k', priority: 'interactive' },
      { name: 'l', max_priority: 'background' },
    ],
  }),
  workspace({ keys: [{ name: 'k', priority: 'interactiv', max_priority: 'background' }] }),
  workspace({ models: Array(257).fill('m') }),
  workspace({ routes: { 'a b': [plain], 'sk-1 x': 'm', 'f.1': 'm' } }),
  route('gpt-4o'),
  route(['gpt-4o', { one_of: 'gpt-4o' }, { one_of: ['gpt-4o', plain] }]),
  route(Array(9).fill(plain)),
  route([{ one_of: [plain] }, { one_of: Array(9).fill(plain) }, { one_of: [plain, plain], weight: 1 }]),
  route([
    { ...plain, weight: 1 },
    { ...plain, prvider: 1 },
  ]),
  route(Array(3).fill({ one_of: Array(6).fill(plain) })),
  route({ chain: [{ one_of: [plain, plain] }], provider_batches: true }),
  route({ chain: [], provider_batches: true, on_crash: 'reurn' }),
  route({
    chain: [
      { provider: 'opena', model: 'm' },
      { provider: 'added', model: 'm' },
    ],
  }),
  {
    providers: { p: 1 },
    ...route([
      { provider: 'p', model: 'm' },
      { provider: 'q', model: 'm' },
    ]),
  },
  { request: { max_body_bytes: 4096, max_bytes_in_flight: 2048, max_bytes_in_flight_per_workspace: 500 } },
  { request: { max_body_bytes: 1, max_bytes_in_flight: 2048 } },
  { request_log: { metric_tags: ['a', 'b c', ...Array(7).fill('d')] } },
  { request_log: { metric_tags: ['a', 'b c', 7] } },
  { cors: { origins: ['https://x/path', 'HTTPS://X.example:443', '*', 7] } },
  { access: { oidc: { issuer: 'http://id.example', client_id: 'x' } } },
  { access: { console_url: 'https://x/console', oidc: { issuer: 'http://localhost:1', client_id: 'x' } } },
  { access: { proxy: { addresses: ['10.0.0.0/33', '::1/128', '1.2.3', '1.2.3.4/8/8'] } } },
  { access: { groups: { 'a b': { role: 'admin' }, 'c.d': { rloe: 'admin' } }, console_url: 'x' } },
  { archive: { keep_requests: '0d', keep_spend: 90 } },
];

function brief(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length <= 300 ? text : `${text.slice(0, 300)}…`;
}

test('whatever is wrong in gateway.yaml is said in the words that are on file', async (t) => {
  t.is(mistakesIn(FILE), undefined);
  const { providers, workspaces, ...settings } = FILE;
  // One part after the other, because a small file is read sooner.
  const parts = [{ providers }, { providers: { acme: { preset: 'openai' } }, workspaces }, settings];
  const lines: string[] = [];
  for (const part of parts) lines.push(...(await refusalsOf(part, FILE_DAMAGES, mistakesIn)));
  lines.push(...ODD_FILES.map((file) => `${brief(file)}: ${mistakesIn(file)}\n`));
  t.true(lines.length > 1000);
  isAsInFixture(t, 'contract/wrong-files.txt', lines.join(''));
});

test('odd values in the settings of an added provider are mistakes, and nothing throws', (t) => {
  const { keys, ...settings } = FILE.providers.acme;
  t.deepEqual(readAddedProvider('acme', settings, new Map([['', 'id']])).mistakes, []);
  for (const path of pathsIn({ ...settings, keys }).slice(1))
    for (const odd of [{ toString: 1 }, ...JSON.parse('[{"then":1},{"__proto__":1}]'), [null], null, 1]) {
      const { provider, mistakes } = readAddedProvider(
        'acme',
        damaged({ ...settings, keys }, path, odd) as Record<string, unknown>,
        new Map(),
      );
      t.is(provider, undefined);
      t.true(mistakes.length > 0);
    }
});

const call = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } };
const CHAT = {
  model: 'fast',
  messages: [
    { role: 'user', name: 'ann', content: [{ type: 'image_url', image_url: { url: 'u', detail: 'low' } }] },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'call_1', content: [{ type: 'text', text: 'a cat' }] },
    { role: 'function', name: 'look', content: 'a cat' },
  ],
  temperature: 1,
  max_tokens: 1,
  stop: ['a'],
  stream: false,
  logit_bias: {},
  modalities: ['text'],
  response_format: { type: 'text' },
  tool_choice: 'auto',
  tools: [
    { type: 'function', function: { name: 'look', description: 'Looks', parameters: {}, strict: true } },
  ],
};
const CHAT_DAMAGES: unknown[] = [ABSENT, null, true, 0, 1.5, '', 'usr', 'a'.repeat(257), [], [1], {}];

const { limits } = parseConfig({}, {}).request;
function refusalOf(body: unknown): string | undefined {
  try {
    parseChatRequest(JSON.stringify(body), limits);
    return undefined;
  } catch (error) {
    if (error instanceof GatewayError) return `${error.code} ${error.param}: ${error.message}`;
    throw error;
  }
}

test('whatever is wrong in a chat request is said in the words that are on file', async (t) => {
  t.is(refusalOf(CHAT), undefined);
  const lines = await refusalsOf(CHAT, CHAT_DAMAGES, refusalOf);
  t.true(lines.length > 100);
  isAsInFixture(t, 'contract/wrong-requests.txt', lines.join(''));
});
