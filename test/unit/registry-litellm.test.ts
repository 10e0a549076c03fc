import { looksLikeLitellm, parseLitellm } from '@sluice/shared/registry/litellm';
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
    'gpt-azure': facts({ litellm_provider: 'azure' }),
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
