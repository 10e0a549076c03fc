import { toPicodollars } from '../contract/model.js';
import type { ModelPrices, RegistryModel } from './document.js';
import type { BandTable, Priceable, PriceStep, PriceTable, PriceUsed, Rates } from './price.js';

/** Every price a model can be billed at, worked out once when a registry is loaded. */
export function buildPrices({ time_bands: bands, ...model }: RegistryModel, registry: string): Priceable {
  const priceTable = buildPriceTable(model, registry, '');
  if (!bands) return { priceTable };
  const { long_context: _, service_tiers: __, ...rest } = model;
  const bandTables = bands.map((band): BandTable => {
    const { from, to: _to, days: _days, ...prices } = band;
    return { band, table: buildPriceTable({ ...rest, ...prices }, registry, `_from_${from}`) };
  });
  return { priceTable, bandTables };
}

function buildPriceTable(model: RegistryModel, registry: string, hours: string): PriceTable {
  const fee = model.fee_per_request ? { request: Math.round(model.fee_per_request * 1e12) } : {};
  const label = (rates: Rates, tier: string): PriceUsed =>
    Object.freeze({ model: model.id, registry, tier: tier + hours, ...rates, ...fee });
  const base = fillBase(model.prices, model.provider);
  const tiers = Object.entries(model.service_tiers ?? {}).map(
    ([name, prices]) => [name, fillTier(prices, base)] as const,
  );

  const first: PriceStep = {
    above: 0,
    base: label(base, 'base'),
    serviceTiers: new Map(tiers.map(([name, rates]) => [name, label(rates, name)])),
    guessedTiers: new Map(),
  };
  const longer = (model.long_context ?? []).map(({ above, prices, service_tiers = {} }): PriceStep => {
    const long = fillTier(prices, base);
    const labelled = (name: string, rates: Rates) => [name, label(rates, `${name}_above_${above}`)] as const;
    const known = Object.entries(service_tiers).map(([name, own]) => labelled(name, fillTier(own, long)));
    // A tier without a long-context price of its own likely keeps the discount or surcharge it has on short prompts.
    const guessed = tiers.filter(([name]) => !Object.hasOwn(service_tiers, name));
    return {
      above,
      base: label(long, `base_above_${above}`),
      serviceTiers: new Map(known),
      guessedTiers: new Map(guessed.map(([name, tier]) => labelled(name, scale(long, tier, base)))),
    };
  });
  return [first, ...longer];
}

/**
 * A token that is read from or written to the cache is a prompt token. Without its own price it costs what input costs, as
 * OpenAI's older models charge nothing extra for writing. Only Anthropic sells one-hour writes, at twice the input price
 * of every model.
 */
function fillBase(prices: ModelPrices, provider: RegistryModel['provider']): Rates {
  const input = picodollars(prices.input);
  const cacheWrite = picodollars(prices.cache_write) ?? input;
  return {
    input,
    cachedInput: picodollars(prices.cached_input) ?? input,
    cacheWrite,
    cacheWrite1h: picodollars(prices.cache_write_1h) ?? (provider === 'anthropic' ? 2 * input : cacheWrite),
    output: picodollars(prices.output),
  };
}

/** A cache price is a fixed part of the input price. One that a tier leaves out follows the tier's input price. */
function fillTier(prices: ModelPrices, base: Rates): Rates {
  const input = picodollars(prices.input);
  return {
    input,
    cachedInput: picodollars(prices.cached_input) ?? times(input, base.cachedInput, base.input),
    cacheWrite: picodollars(prices.cache_write) ?? times(input, base.cacheWrite, base.input),
    cacheWrite1h: picodollars(prices.cache_write_1h) ?? times(input, base.cacheWrite1h, base.input),
    output: picodollars(prices.output),
  };
}

function scale(long: Rates, tier: Rates, base: Rates): Rates {
  return {
    input: times(long.input, tier.input, base.input),
    cachedInput: times(long.cachedInput, tier.cachedInput, base.cachedInput),
    cacheWrite: times(long.cacheWrite, tier.cacheWrite, base.cacheWrite),
    cacheWrite1h: times(long.cacheWrite1h, tier.cacheWrite1h, base.cacheWrite1h),
    output: times(long.output, tier.output, base.output),
  };
}

/** `rate · part / whole`, rounded to a picodollar. A free base has no ratio, so the rate stays. */
function times(rate: number, part: number, whole: number): number {
  return whole === 0 ? rate : Math.round((rate * part) / whole);
}

function picodollars(price: number): number;
function picodollars(price: number | undefined): number | undefined;
function picodollars(price: number | undefined): number | undefined {
  if (price === undefined) return undefined;
  const rate = toPicodollars(price);
  if (rate === undefined) throw new Error(`price ${price} was not validated`);
  return rate;
}
