import { looksLikeLitellm, parseLitellm } from '@sluice/shared/registry/litellm';
import { costOf, formatUsd, priceFor } from '@sluice/shared/registry/price';
import { buildPrices } from '@sluice/shared/registry/price-table';
import test from 'ava';

const facts = (more = {}) => ({
  litellm_provider: 'anthropic',
  mode: 'chat',
  input_cost_per_token: 3e-6,
  output_cost_per_token: 1.5e-5,
  ...more,
});
const modelsOf = (map: Record<string, Record<string, unknown>>) => parseLitellm(map, '2026-11-15').models;

test('the map is told apart from our own shape and from anything else', (t) => {
  t.true(looksLikeLitellm({ 'gpt-4o': facts() }));
  for (const other of [
    null,
    [],
    'x',
    {},
    { version: '1', unit: 'u', models: [] },
    { a: { b: 1 } },
    { a: null },
  ])
    t.false(looksLikeLitellm(other));
});

test('cache prices are taken, and a one-hour price that cannot be right is left to the rule', (t) => {
  const [right, wrong] = modelsOf({
    'claude-a': facts({
      cache_read_input_token_cost: 3e-7,
      cache_creation_input_token_cost: 3.75e-6,
      cache_creation_input_token_cost_above_1hr: 6e-6,
    }),
    'claude-b': facts({
      input_cost_per_token: 2.5e-7,
      output_cost_per_token: 1.25e-6,
      cache_creation_input_token_cost_above_1hr: 6e-6,
    }),
  });
  t.deepEqual(right?.prices, {
    input: 3,
    cached_input: 0.3,
    cache_write: 3.75,
    cache_write_1h: 6,
    output: 15,
  });
  t.deepEqual(wrong?.prices, { input: 0.25, output: 1.25 });
  t.is(wrong && buildPrices(wrong, 'v').priceTable[0].base.cacheWrite1h, 500_000);
});

test('long-context prices and service tiers are taken where input and output are both known', (t) => {
  const [model] = modelsOf({
    'gpt-long': facts({
      litellm_provider: 'openai',
      input_cost_per_token_above_272k_tokens: 6e-6,
      output_cost_per_token_above_272k_tokens: 2.25e-5,
      cache_read_input_token_cost_above_272k_tokens: 6e-7,
      input_cost_per_token_above_272k_tokens_priority: 1.2e-5,
      output_cost_per_token_above_272k_tokens_priority: 4.5e-5,
      input_cost_per_token_above_128k_tokens: 4e-6,
      input_cost_per_token_priority: 6e-6,
      output_cost_per_token_priority: 3e-5,
      input_cost_per_token_flex: 1.5e-6,
    }),
  });
  t.deepEqual(model?.long_context, [
    {
      above: 272_000,
      prices: { input: 6, cached_input: 0.6, output: 22.5 },
      service_tiers: { priority: { input: 12, output: 45 } },
    },
  ]);
  t.deepEqual(model?.service_tiers, { priority: { input: 6, output: 30 } });
});

test('one entry per model: its own name wins over the one with the provider before it', (t) => {
  const models = modelsOf({
    'openai/gpt-a': facts({ litellm_provider: 'openai', input_cost_per_token: 9e-6 }),
    'gpt-a': facts({ litellm_provider: 'openai' }),
    'anthropic/claude-a': facts(),
    'us/claude-b': facts(),
    'claude-draw': facts({ mode: 'image_generation' }),
    'claude-half': { litellm_provider: 'anthropic', mode: 'chat', input_cost_per_token: 1e-6 },
    'gpt-oci': facts({ litellm_provider: 'oci' }),
    'groq/absurd': facts({ litellm_provider: 'groq', input_cost_per_token: 3 }),
  });
  t.deepEqual(
    models.map(({ id, prices }) => [id, prices.input]),
    [
      ['gpt-a', 3],
      ['claude-a', 3],
    ],
  );
});

test('a model that embeds has no price of output, and says what it does', (t) => {
  const [model] = modelsOf({
    'text-embedding-a': facts({ litellm_provider: 'openai', mode: 'embedding', output_cost_per_token: 0 }),
  });
  t.deepEqual(model?.capabilities?.includes('embeddings'), true);
  t.is(model?.prices.output, 0);
});

test('a map with an impossible price is refused as a whole', (t) => {
  t.throws(() => modelsOf({ 'gpt-a': facts({ litellm_provider: 'openai', input_cost_per_token: 3 }) }), {
    name: 'InvalidRegistry',
    message: /must be at most/,
  });
});

test('every price list is read, by the provider’s own names of models', (t) => {
  const map = {
    'groq/llama-3.3-70b-versatile': facts({ litellm_provider: 'groq' }),
    'groq/openai/gpt-oss-20b': facts({ litellm_provider: 'groq' }),
    'openrouter/anthropic/claude-sonnet-4': facts({ litellm_provider: 'openrouter' }),
    'bedrock/us-east-1/anthropic.claude-v2': facts({ litellm_provider: 'bedrock' }),
    'anthropic.claude-v2': facts({ litellm_provider: 'bedrock' }),
    'xai/grok-4': facts({ litellm_provider: 'xai' }),
    'gemini/gemini-3-pro': facts({ litellm_provider: 'gemini' }),
    'gemini-3-pro': facts({ litellm_provider: 'vertex_ai-language-models', input_cost_per_token: 1e-6 }),
    'oci/other': facts({ litellm_provider: 'oci' }),
    constructor: facts({ litellm_provider: 'constructor' }),
  };
  t.deepEqual(
    modelsOf(map).map(({ provider, id, prices }) => `${provider}/${id} ${prices.input}`),
    [
      'groq/llama-3.3-70b-versatile 3',
      'groq/openai/gpt-oss-20b 3',
      'openrouter/anthropic/claude-sonnet-4 3',
      'aws/anthropic.claude-v2 3',
      'x-ai/grok-4 3',
      'google/gemini-3-pro 1',
    ],
  );
});

test('prices of some hours become bands', (t) => {
  const [model] = modelsOf({
    'deepseek/deepseek-v4-flash': facts({
      litellm_provider: 'deepseek',
      off_peak_pricing: {
        input_cost_per_token: 1.5e-6,
        output_cost_per_token: 7.5e-6,
        windows: [
          { hours_utc: ['00:00-01:00', '10:00-00:00', 'noon'], weekdays: [1, 2, 3, 4, 5] },
          { hours_utc: '00:00-00:00', weekdays: [6, 7] },
          'never',
        ],
      },
    }),
  });
  const usage = { input: 1_000_000, cachedInput: 0, cacheWrite: 0, cacheWrite1h: 0, output: 0 };
  const usd = (time: string) => {
    const price = model && priceFor(buildPrices(model, 'v'), usage, undefined, Date.parse(time));
    return price && formatUsd(costOf(price, usage));
  };
  // A Tuesday and a Saturday.
  t.is(usd('2026-11-17T02:00:00Z'), '3.000000');
  for (const time of ['2026-11-17T00:59:59Z', '2026-11-17T23:59:59Z', '2026-11-21T02:00:00Z'])
    t.is(usd(time), '1.500000', time);
});
