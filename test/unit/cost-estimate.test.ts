/** What a request may cost at most: an upper bound, whatever it asks for and whoever serves it. */
import type { ChatRequest } from '@sluice/shared/chat';
import type { BudgetMode } from '@sluice/shared/contract/limits';
import type { ChainEntry } from '@sluice/shared/contract/route';
import { allowedOutput } from '@sluice/shared/registry/call-estimate';
import { CostEstimate } from '@sluice/shared/registry/cost-estimate';
import { loadShippedRegistry, parseRegistry } from '@sluice/shared/registry/model-registry';
import { costOf, likelyCostOf, priceFor } from '@sluice/shared/registry/price';
import test from 'ava';
import fc from 'fast-check';

const registry = parseRegistry({
  version: '1',
  unit: 'usd_per_million_tokens',
  models: [
    {
      id: 'gpt-big',
      provider: 'openai',
      prices: { input: 2, cached_input: 1, output: 10 },
      service_tiers: { priority: { input: 4, output: 20 }, flex: { input: 1, output: 5 } },
      context_window: 100_000,
      max_output_tokens: 50_000,
    },
    ...['gpt-4o-mini', 'ft:gpt-4o-mini', 'openai/gpt-4o-mini'].map((id) => ({
      ...{ id, provider: 'openai', prices: { input: 1, output: 1 }, max_output_tokens: 10 },
    })),
    {
      id: 'gpt-search',
      provider: 'openai',
      prices: { input: 1, output: 1 },
      fee_per_request: 0.025,
      max_output_tokens: 10,
    },
    { id: 'gpt-bare', provider: 'openai', prices: { input: 1, output: 1 } },
    {
      id: 'gpt-writes',
      provider: 'openai',
      prices: { input: 4, cached_input: 0.4, cache_write: 5, output: 20 },
      long_context: [{ above: 10_000, prices: { input: 8, output: 30 } }],
      context_window: 400_000,
      max_output_tokens: 1_000,
    },
    {
      id: 'gpt-peak',
      provider: 'openai',
      prices: { input: 1, output: 1 },
      time_bands: [
        { from: '01:00', to: '04:00', days: ['mon'], prices: { input: 2, output: 2 } },
        { from: '06:00', to: '10:00', prices: { input: 3, output: 3 } },
      ],
      max_output_tokens: 10,
    },
    {
      id: 'claude-big',
      provider: 'anthropic',
      prices: { input: 3, cached_input: 0.3, cache_write: 3.75, cache_write_1h: 6, output: 15 },
      context_window: 200_000,
      max_output_tokens: 64_000,
    },
  ],
});
const providers = new Map([
  ['openai', { kind: 'openai' as const, baseUrl: 'https://api.openai.com/v1', prices: 'openai' }],
  ['anthropic', { kind: 'anthropic' as const, baseUrl: 'https://api.anthropic.com', prices: 'anthropic' }],
  ['router', { kind: 'openai' as const, baseUrl: 'https://router.example/v1', prices: 'openai' }],
]);
const estimate = new CostEstimate(providers, () => registry);

const at = (model: string, more: Partial<ChainEntry> = {}): ChainEntry => ({
  provider: model.startsWith('claude') ? 'anthropic' : 'openai',
  model,
  ...more,
});
const ask = (more: Record<string, unknown> = {}): ChatRequest => ({
  model: 'm',
  service_tier: 'default',
  messages: [{ role: 'user', content: 'Hello' }],
  ...more,
});
/** A byte of what is sent is a token, and the provider may add a thousand. */
const promptOf = (request: ChatRequest) => Buffer.byteLength(JSON.stringify(request)) + 1_000;
/** In millionths of a dollar: tokens times USD per million. */
const cost = (chain: ChainEntry[], request: ChatRequest, mode: BudgetMode = 'strict') =>
  estimate.ofChain(chain, request, mode).cost / 1e6;

test('Without a limit of the caller or the entry, the answer may be as long as the model can make it', (t) => {
  const request = ask();
  t.is(cost([at('gpt-big')], request), promptOf(request) * 2 + 50_000 * 10);
});

test('The caller’s limit, the entry’s and the model’s hold together, and the lowest counts', (t) => {
  for (const [fields, entry, output] of [
    [{ max_tokens: 100 }, {}, 100],
    [{ max_completion_tokens: 100 }, {}, 100],
    [{ max_tokens: 100, max_completion_tokens: 200 }, {}, 200],
    [{ max_tokens: 100_000 }, {}, 50_000],
    [{ max_tokens: 100 }, { max_tokens: 10 }, 10],
    [{}, { max_tokens: 10 }, 10],
    [{ max_tokens: null }, {}, 50_000],
  ] as const) {
    const request = ask(fields);
    t.is(cost([at('gpt-big', entry)], request), promptOf(request) * 2 + output * 10, JSON.stringify(fields));
  }
});

test('Anthropic is asked for 1,024 tokens when nobody sets a limit', (t) => {
  const request = ask();
  t.is(cost([at('claude-big')], request), promptOf(request) * 3 + 1_024 * 15);
  t.is(
    cost([at('claude-big')], ask({ max_tokens: 2_000 })),
    promptOf(ask({ max_tokens: 2_000 })) * 3 + 2_000 * 15,
  );
});

test('Everything that is sent counts as prompt: tools, schemas and fields that nobody knows', (t) => {
  const long = 'x'.repeat(20_000);
  for (const fields of [
    { tools: [{ type: 'function', function: { name: 'f', description: long } }] },
    { response_format: { type: 'json_schema', json_schema: { name: 's', schema: { description: long } } } },
    { something_new: long },
    { messages: [{ role: 'user', content: long }] },
    { messages: [{ role: 'assistant', tool_calls: [{ function: { arguments: long } }] }] },
  ]) {
    const request = ask({ ...fields, max_tokens: 1 });
    t.is(cost([at('gpt-big')], request), promptOf(request) * 2 + 10);
    t.true(promptOf(request) > 20_000);
  }
});

test('A character of several bytes may be several tokens', (t) => {
  const request = ask({ messages: [{ role: 'user', content: '語'.repeat(1_000) }], max_tokens: 1 });
  t.true(cost([at('gpt-big')], request) >= 3_000 * 2);
});

test('A prompt is never longer than the model’s window', (t) => {
  const request = ask({ messages: [{ role: 'user', content: 'x'.repeat(1_000_000) }], max_tokens: 1 });
  t.is(cost([at('gpt-big')], request), 100_000 * 2 + 10);
});

test('The estimate takes the dearest hour in which the call may end', (t) => {
  const request = ask();
  const tokens = promptOf(request) + 10;
  const within = (from: string, until: string) => {
    const ends = { from: Date.parse(from), until: Date.parse(until) };
    return estimate.ofChain([at('gpt-peak')], request, 'strict', { ends }).cost / 1e6 / tokens;
  };
  // 2026-11-16 is a Monday.
  t.is(within('2026-11-16T00:30:00Z', '2026-11-16T00:59:00Z'), 1);
  t.is(within('2026-11-16T00:30:00Z', '2026-11-16T01:00:00Z'), 2);
  t.is(within('2026-11-17T00:30:00Z', '2026-11-17T05:59:00Z'), 1);
  t.is(within('2026-11-17T00:30:00Z', '2026-11-17T06:00:00Z'), 3);
  t.is(within('2026-11-16T03:59:00Z', '2026-11-16T04:30:00Z'), 2, 'it may end at once');
  t.is(within('2026-11-15T23:00:00Z', '2026-11-16T01:30:00Z'), 2, 'over midnight');
  t.is(within('2026-11-17T12:00:00Z', '2026-12-17T12:00:00Z'), 3, 'in the background');
  t.is(cost([at('gpt-peak')], request) / tokens, 3, 'at any time');
});

test('Every choice is paid for', (t) => {
  const request = ask({ n: 5, max_tokens: 100 });
  t.is(cost([at('gpt-big')], request), promptOf(request) * 2 + 500 * 10);
});

test('An image counts as the most that one can, however few bytes its address has or many its data', (t) => {
  const image = (url: string) => ({ type: 'image_url', image_url: { url } });
  const withImages = (...urls: string[]) =>
    ask({ messages: [{ role: 'user', content: urls.map(image) }], max_tokens: 1 });
  const data = `data:image/png;base64,${'A'.repeat(500_000)}`;
  const [none, one, two] = [withImages(), withImages('https://x/a.png'), withImages(data, data)];
  const images = (request: ChatRequest, model: string, rate: number) =>
    (cost([at(model)], request) - cost([at(model)], none)) / rate;
  t.true(images(one, 'gpt-big', 2) >= 25_000 && images(one, 'gpt-big', 2) < 25_100);
  t.true(images(two, 'gpt-big', 2) >= 50_000 && images(two, 'gpt-big', 2) < 50_200);
  t.true(images(two, 'claude-big', 3) >= 10_000 && images(two, 'claude-big', 3) < 10_200);
  t.true(images(one, 'gpt-4o-mini', 1) >= 50_000, 'it counts an image many times over');
  for (const model of ['ft:gpt-4o-mini:acme::1', 'openai/gpt-4o-mini', 'gpt-4o-mini-2024-07-18'])
    t.true(images(one, model, 1) >= 50_000, model);
});

test('A file may fill the window', (t) => {
  const file = { type: 'file', file: { file_data: 'data:application/pdf;base64,AAAA' } };
  const request = ask({ messages: [{ role: 'user', content: [file] }], max_tokens: 1 });
  t.is(cost([at('gpt-big')], request), 100_000 * 2 + 10);
  t.is(cost([at('gpt-bare')], request), 2_000_000 + 1);
});

test('The dearest of the base price and the tier that is asked for counts', (t) => {
  const of = (service_tier: string | null | undefined, mode: BudgetMode = 'strict') => {
    const short = ask({ service_tier, max_tokens: 1 });
    const long = ask({ service_tier, max_tokens: 2 });
    return cost([at('gpt-big')], long, mode) - cost([at('gpt-big')], short, mode);
  };
  t.is(of('priority'), 20);
  // Whoever asks for it may get the default tier.
  t.is(of('flex'), 10);
  t.is(of('default'), 10);
  // The account may be set to any tier.
  for (const tier of ['auto', null, undefined]) {
    t.is(of(tier), 20);
    t.is(of(tier, 'expected'), 10);
  }
});

test('A tier without a price is unpriced, and so are audio, searches and tools that the provider runs', (t) => {
  for (const fields of [
    { service_tier: 'ultrafast' },
    { modalities: ['text', 'audio'] },
    { audio: { voice: 'alloy' } },
    { messages: [{ role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'AA' } }] }] },
    { messages: [{ role: 'assistant', audio: { id: 'audio_1' } }] },
    { web_search_options: {} },
    { tools: [{ type: 'web_search' }] },
  ]) {
    const { unpriced } = estimate.ofChain([at('gpt-big')], ask(fields), 'strict');
    t.regex(unpriced ?? '', /^openai\/gpt-big has no known price for /, JSON.stringify(fields));
  }
  t.is(estimate.ofChain([at('gpt-big')], ask({ web_search_options: null }), 'strict').unpriced, undefined);
  const { unpriced } = estimate.ofChain([at('gpt-big'), at('gpt-unknown')], ask(), 'strict');
  t.is(unpriced, 'openai/gpt-unknown has no known price');
});

test('A field that the gateway does not know is unpriced, unless the provider is known not to act on it', (t) => {
  const unpriced = (provider: string, model: string, fields: object) =>
    estimate.ofChain([at(model, { provider })], ask({ ...fields }), 'strict').unpriced;
  for (const [field, value] of Object.entries({
    models: ['o1'],
    plugins: [{ id: 'web' }],
    search_parameters: {},
  })) {
    const fields = { [field]: value };
    t.is(unpriced('router', 'gpt-big', fields), `router/gpt-big has no known price for the field ${field}`);
    t.is(unpriced('openai', 'gpt-big', fields), undefined, 'OpenAI refuses it');
    t.is(unpriced('anthropic', 'claude-big', fields), undefined, 'it is not sent');
  }
  t.is(unpriced('router', 'gpt-big', { top_k: 4, seed: 1, models: null }), undefined);
  const long = unpriced('router', 'gpt-big', { ['x'.repeat(10_000)]: 1 }) ?? '';
  t.true(long.length > 0 && long.length < 200);
});

test('A search model has a fee for each request, and may be asked to search', (t) => {
  const request = ask({ web_search_options: {} });
  t.is(estimate.ofChain([at('gpt-search')], request, 'strict').unpriced, undefined);
  t.is(cost([at('gpt-search')], request), 25_000 + promptOf(request) + 10);
});

test('A prompt may be written to the cache, and be long enough for the long-context price', (t) => {
  const request = ask({ max_tokens: 100 });
  t.is(cost([at('gpt-writes')], request), promptOf(request) * 5 + 100 * 20);
  const long = ask({ max_tokens: 100, messages: [{ role: 'user', content: 'x'.repeat(20_000) }] });
  t.is(cost([at('gpt-writes')], long), promptOf(long) * 10 + 100 * 30);
  const marked = ask({
    max_tokens: 100,
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'a', cache_control: { type: 'ephemeral' } }] },
    ],
  });
  t.is(cost([at('claude-big')], marked), promptOf(marked) * 6 + 100 * 15);
});

test('What a predicted answer gets wrong is paid for too', (t) => {
  const prediction = { type: 'content', content: 'x'.repeat(1_000) };
  const request = ask({ prediction, max_tokens: 10 });
  const predicted = Buffer.byteLength(JSON.stringify(prediction));
  t.is(cost([at('gpt-big')], request), promptOf(request) * 2 + (10 + predicted) * 10);
});

test('A strict estimate has every call of the chain, an expected one the dearest', (t) => {
  const request = ask({ max_tokens: 100 });
  const chain = [at('gpt-big', { retries: 2 }), at('claude-big')];
  const prompt = promptOf(request);
  t.is(cost(chain, request), 3 * (prompt * 2 + 1_000) + (prompt * 3 + 1_500));
  const usual = Math.ceil((prompt - 1_000) / 3);
  t.is(cost(chain, request, 'expected'), usual * 3 + 1_500);
});

test('An expected estimate assumes 4,096 tokens where the answer may be longer', (t) => {
  const usual = Math.ceil((promptOf(ask()) - 1_000) / 3);
  t.is(cost([at('gpt-big')], ask(), 'expected'), usual * 2 + 4_096 * 10);
});

test('An expected estimate takes what answers of the route usually have, within the limits of the call', (t) => {
  const usual = Math.ceil((promptOf(ask()) - 1_000) / 3);
  const cut = Math.ceil((promptOf(ask({ max_tokens: 10 })) - 1_000) / 3);
  const of = (usualOutput: number, mode: 'strict' | 'expected', more = {}) =>
    estimate.ofChain([at('gpt-big')], ask(more), mode, { usualOutput }).cost / 1e6;
  t.is(of(90, 'expected'), usual * 2 + 90 * 10);
  t.is(of(90, 'expected', { max_tokens: 10 }), cut * 2 + 10 * 10);
  t.is(of(8_000, 'expected'), usual * 2 + 8_000 * 10);
  t.is(of(90, 'strict'), of(8_000, 'strict'));
});

test('No bill within the limits is higher than the strict estimate, for any model of the shipped registry', (t) => {
  const shipped = loadShippedRegistry();
  const ofShipped = new CostEstimate(providers, () => shipped);
  const shares = fc.tuple(fc.nat(100), fc.nat(100), fc.nat(100), fc.nat(100));
  const bill = fc.record({
    model: fc.constantFrom(...shipped.models),
    content: fc.string({ unit: 'grapheme', maxLength: 2_000 }),
    length: fc.constantFrom(1, 300, 150_000),
    max_tokens: fc.option(fc.integer({ min: 1, max: 200_000 })),
    entryLimit: fc.option(fc.integer({ min: 1, max: 200_000 })),
    n: fc.integer({ min: 1, max: 4 }),
    tier: fc.nat(3),
    account: fc.nat(3),
    asTier: fc.boolean(),
    shares,
  });
  t.notThrows(() =>
    fc.assert(
      fc.property(
        bill,
        ({ model, content, length, max_tokens, entryLimit, n, tier, account, asTier, shares }) => {
          const isOpenai = model.provider === 'openai';
          const tiers = isOpenai ? [undefined, ...model.priceTable[0].serviceTiers.keys()] : [undefined];
          const asked = tiers[tier];
          const request = ask({
            messages: [{ role: 'user', content: content.repeat(length).slice(0, 300_000) }],
            max_tokens,
            ...(isOpenai ? { n } : {}),
            service_tier: asked,
          });
          const entry = {
            ...at(model.id),
            provider: model.provider,
            ...(entryLimit ? { max_tokens: entryLimit } : {}),
          };
          // All that the bounds allow, split in any way between what is new, read from the cache and written to it.
          const prompt = Math.min(promptOf(request), model.context_window ?? 0);
          const total = shares.reduce((sum, share) => sum + share, 0) || 1;
          const [cachedInput = 0, cacheWrite = 0] = shares.map((share) =>
            isOpenai ? Math.floor((prompt * share) / total) : 0,
          );
          const byDefault = isOpenai ? Number.POSITIVE_INFINITY : 1_024;
          const limit = Math.min(
            max_tokens ?? entryLimit ?? byDefault,
            entryLimit ?? Number.POSITIVE_INFINITY,
            model.max_output_tokens ?? 0,
          );
          const input = prompt - cachedInput - cacheWrite;
          const usage = {
            input,
            cachedInput,
            cacheWrite,
            cacheWrite1h: 0,
            output: limit * (isOpenai ? n : 1),
          };
          // Whoever asks for a tier may get the default one; whoever asks for none gets that of the account.
          const served = asked ?? tiers[account % tiers.length];
          const price = priceFor(model, usage, asTier ? served : undefined);
          const { cost, unpriced } = ofShipped.ofChain([entry], request, 'strict');
          const bill = price ? costOf(price, usage) : likelyCostOf(model, usage, served);
          return unpriced === undefined && bill <= cost;
        },
      ),
      { numRuns: 500 },
    ),
  );
});

test('What a call may write is limited by its caller, its entry or Anthropic’s default, for every choice', (t) => {
  const most = (fields: object, kind = 'openai', max_tokens?: number) =>
    allowedOutput({ model: 'm', messages: [], ...fields }, kind, {
      provider: 'p',
      model: 'm',
      ...(max_tokens === undefined ? {} : { max_tokens }),
    });
  t.is(most({}), Number.POSITIVE_INFINITY);
  t.is(most({ max_tokens: 128 }), 128);
  t.is(most({ max_tokens: 128, max_completion_tokens: 200 }), 200);
  t.is(most({ max_tokens: 128, n: 3 }), 384);
  t.is(most({ max_tokens: 128, n: 3 }, 'anthropic'), 128);
  t.is(most({}, 'anthropic'), 1_024);
  t.is(most({ max_tokens: 128 }, 'openai', 50), 50);
  t.is(most({ max_tokens: 5, prediction: 'a' }), 8);
});
