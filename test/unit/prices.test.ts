/** The shipped price lists beside the package that their prices come from, figure by figure. */
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { nameOf, readAdditions } from '@sluice/prices/additions';
import { buildRegistry, dayOf } from '@sluice/prices/build-registry';
import { cellsOf, describeChanges } from '@sluice/prices/cells';
import { buildOtherLists } from '@sluice/prices/other-lists';
import { packageFacts } from '@sluice/prices/package-facts';
import { parseConfigText } from '@sluice/shared/config/config';
import { PRESETS } from '@sluice/shared/contract/presets';
import { OTHER_PRICE_LISTS } from '@sluice/shared/contract/price-lists';
import { parseRegistryDocument } from '@sluice/shared/registry/document';
import { loadShippedRegistry } from '@sluice/shared/registry/model-registry';
import { costOf, formatUsd, priceFor } from '@sluice/shared/registry/price';
import test from 'ava';

const additions = readAdditions();
const shipped = loadShippedRegistry().toJSON();
const file = new URL('../../../packages/shared/data/other-prices.json', import.meta.url);
const others = parseRegistryDocument(JSON.parse(readFileSync(file, 'utf8')));
const day = dayOf(shipped.version);

/** `long_context[0].prices.input` is a cell of `long_context`, which is listed as a whole. */
const listedAs = (cell: string) => /^(long_context|time_bands)/.exec(cell)?.[0] ?? cell;

/** Of models that the package knows: what the registry has otherwise. */
const differences = [...shipped.models, ...others.models].flatMap((model) => {
  const known = packageFacts(model.provider, model.id, day);
  if (!known) return [];
  const { prices, long_context, context_window, time_bands, fee_per_request, capabilities } = model;
  const steps = long_context?.map(({ above, prices }) => ({ above, prices }));
  const ours = cellsOf({
    prices,
    ...(time_bands ? { time_bands } : {}),
    ...(known.fee_per_request === undefined || fee_per_request === undefined ? {} : { fee_per_request }),
    ...(steps ? { long_context: steps } : {}),
    ...(context_window === undefined ? {} : { context_window }),
    ...(known.capabilities && capabilities ? { capabilities } : {}),
  });
  const theirs = cellsOf(known);
  return [...new Set([...ours.keys(), ...theirs.keys()])]
    .filter((cell) => ours.get(cell) !== theirs.get(cell))
    .map((cell) => ({ model: nameOf(model), cell, ours: ours.get(cell), theirs: theirs.get(cell) }));
});

test('The shipped registry is what npm run prices makes', (t) => {
  t.deepEqual(describeChanges(shipped, buildRegistry(additions, shipped.version)), []);
  t.deepEqual(shipped, buildRegistry(additions, shipped.version));
});

test('The prices of other providers are those of the package', (t) => {
  t.deepEqual(describeChanges(others, buildOtherLists(additions, others.version)), []);
  t.deepEqual(
    [...new Set(others.models.map(({ provider }) => provider))].sort(),
    [...OTHER_PRICE_LISTS].sort(),
  );
  const registry = loadShippedRegistry();
  t.is(registry.find('groq', 'llama-3.3-70b-versatile')?.prices.input, 0.59);
  t.is(registry.find('openai', 'llama-3.3-70b-versatile'), undefined);
  t.is(registry.find('nobody', 'llama-3.3-70b-versatile'), undefined);
});

test('A provider’s address says whose prices it has, and the configuration may say otherwise', (t) => {
  const pricesOf = (fields: string) =>
    parseConfigText(`providers: { p: { kind: openai, ${fields} } }`, {}).providers.get('p')?.prices;
  t.is(pricesOf('base_url: "https://api.groq.com/openai/v1"'), 'groq');
  t.is(pricesOf('base_url: "https://generativelanguage.googleapis.com/v1beta/openai"'), 'google');
  t.is(pricesOf('base_url: "http://127.0.0.1:8000/v1"'), 'openai');
  t.is(pricesOf('base_url: "https://api.groq.com.example.com/v1"'), 'openai');
  t.is(pricesOf('base_url: "http://proxy.internal/v1", prices: mistral'), 'mistral');
  t.throws(() => pricesOf('base_url: "http://proxy.internal/v1", prices: mistrall'), {
    message: /did you mean mistral/,
  });
});

test('Every figure that differs from the package is listed with its reason', (t) => {
  const isListed = (model: string, cell: string) =>
    additions.differs.some((each) => each.model === model && each.cell === listedAs(cell));
  t.deepEqual(
    differences.filter(({ model, cell }) => !isListed(model, cell)),
    [],
  );
  t.true(additions.differs.every(({ reason }) => reason.endsWith('.')));
});

test('Nothing is listed that does not differ', (t) => {
  const stale = additions.differs.filter(
    (listed) =>
      !differences.some(({ model, cell }) => model === listed.model && listedAs(cell) === listed.cell),
  );
  t.deepEqual(stale, []);
});

test('The package knows nearly all models of the registry, and most of their figures are its own', (t) => {
  const known = shipped.models.filter(({ provider, id }) => packageFacts(provider, id, day));
  const figures = known.flatMap(({ provider, id }) => [...cellsOf(packageFacts(provider, id, day) ?? {})]);
  t.log(
    `${known.length} of ${shipped.models.length} models, ${figures.length} figures, ${differences.length} differ`,
  );
  t.true(known.length > 100);
  t.true(figures.length > 500);
});

test('The package’s prices by prompt length become long-context steps', (t) => {
  const facts = packageFacts('openai', 'gpt-5.4', '2026-11-15');
  t.deepEqual(facts?.long_context, [
    { above: 272_000, prices: { input: 5, cached_input: 0.5, output: 22.5 } },
  ]);
  t.is(packageFacts('openai', 'gpt-nobody-knows', '2026-11-15'), undefined);
});

test('Every provider with a preset has its prices from the package, and nothing differs unexplained', (t) => {
  const lists = Object.values(PRESETS).flatMap(({ kind, prices = kind }) =>
    prices === 'free' ? [] : [prices],
  );
  const all = [...shipped.models, ...others.models];
  for (const list of new Set(lists)) {
    const models = all.filter(({ provider }) => provider === list);
    const known = models.filter(({ id }) => packageFacts(String(list), id, day));
    const cells = known.flatMap(({ id }) => [...cellsOf(packageFacts(String(list), id, day) ?? {})]);
    const differ = differences.filter(({ model }) => model.startsWith(`${list}/`));
    t.log(
      `${list}: ${known.length} of ${models.length} models, ${cells.length} figures, ${differ.length} differ`,
    );
    t.true(known.length > 0, `${list} has no prices`);
  }
});

test('DeepSeek’s prices double in its peak hours, from Monday to Friday', (t) => {
  const registry = loadShippedRegistry();
  const tokens = {
    input: 1_000_000,
    cachedInput: 1_000_000,
    cacheWrite: 0,
    cacheWrite1h: 0,
    output: 1_000_000,
  };
  const usd = (model: string, time: string) => {
    const facts = registry.find('deepseek', model);
    const price = facts && priceFor(facts, tokens, undefined, Date.parse(time));
    return price && formatUsd(costOf(price, tokens));
  };
  for (const [model, low, peak] of [
    ['deepseek-flash', '0.753000', '1.506000'],
    ['deepseek-v4-flash', '0.753000', '1.506000'],
    ['deepseek-v4-pro', '2.662000', '5.324000'],
  ] as const) {
    // A Tuesday, and the Saturday after it.
    for (const time of ['2026-11-17T01:00:00Z', '2026-11-17T03:59:59Z', '2026-11-17T09:00:00Z'])
      t.is(usd(model, time), peak, `${model} ${time}`);
    for (const time of [
      '2026-11-17T00:59:59Z',
      '2026-11-17T05:00:00Z',
      '2026-11-17T10:00:00Z',
      '2026-11-21T02:00:00Z',
    ])
      t.is(usd(model, time), low, `${model} ${time}`);
  }
});

test('The price of the day is taken where the package has several', (t) => {
  t.is(packageFacts('openai', 'gpt-5.6', '2026-08-20')?.prices.input, 5);
  t.is(packageFacts('openai', 'gpt-5.6', '2026-08-22')?.prices.input, 4);
});

test('Every model says how long its prompt and its answer may be, whence its figures are, and from when', (t) => {
  const incomplete = shipped.models.filter(
    ({ context_window, max_output_tokens, capabilities, source, as_of }) =>
      context_window === undefined ||
      (max_output_tokens === undefined && !capabilities?.includes('embeddings')) ||
      !source ||
      !as_of,
  );
  t.deepEqual(incomplete.map(nameOf), []);
});

test('A change is told as the figure, what it was and what it is', (t) => {
  const [first, ...others] = shipped.models;
  if (!first) return t.fail();
  const after = {
    ...shipped,
    models: [{ ...first, prices: { ...first.prices, input: 999 } }, ...others.slice(1)],
  };
  const name = others[0] && nameOf(others[0]);
  t.deepEqual(describeChanges(shipped, after), [
    `~ ${nameOf(first)} prices.input: ${first.prices.input} → 999`,
    `- ${name}`,
  ]);
  t.true(isDeepStrictEqual(describeChanges(shipped, shipped), []));
});
