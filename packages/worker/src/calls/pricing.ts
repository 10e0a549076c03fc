import { SIMULATED_PRICES } from '@sluice/shared/process/simulated-upstream';
import type { ModelRegistry } from '@sluice/shared/registry/model-registry';
import { costOf, formatUsd, likelyCostOf, type PriceUsed, priceFor } from '@sluice/shared/registry/price';
import type { Billed } from '../providers/types.js';
import { checkReported, type ReportedCost } from './reported-cost.js';

export interface Priced {
  /** Null when the registry has no price for the model, the service tier or audio. The cost is 0 then. */
  price: PriceUsed | null;
  /** Whole picodollars. */
  cost: number;
  costUsd: string;
  /** What it may have cost. Set when the model is known but the price of this answer is not. */
  estimate?: number;
  /** Set when the provider says what the call cost, and its configuration says that it is believed. */
  report?: ReportedCost;
}

export interface PriceCalls {
  /** `at`: when the answer was complete. `isReported`: what the provider reports is booked, as far as it can be true. */
  of(priceList: string, model: string, billed: Billed, at: number, isReported?: boolean): Priced;
  /** The price of a line in the provider's own batch. `factor`: its share of the normal price. */
  ofBatch(priceList: string, model: string, billed: Billed, at: number, factor: number): Priced;
}

const FREE = {
  ...{ input: 0, cachedInput: 0, cacheWrite: 0, cacheWrite1h: 0, output: 0 },
  ...{ registry: 'simulated', tier: 'simulated' },
};

export class Pricing implements PriceCalls {
  constructor(private readonly registry: () => ModelRegistry) {}

  of(priceList: string, model: string, billed: Billed, at: number, isReported = false): Priced {
    const { usage, serviceTier, hasAudio, reportedUsd } = billed;
    if (priceList === SIMULATED_PRICES) return { price: { ...FREE, model }, cost: 0, costUsd: formatUsd(0) };
    const facts = this.registry().find(priceList, model);
    const price = (facts && !hasAudio && priceFor(facts, usage, serviceTier, at)) || null;
    const cost = price ? costOf(price, usage) : 0;
    const priced: Priced = { price, cost, costUsd: formatUsd(cost) };
    if (facts && !price) priced.estimate = likelyCostOf(facts, usage, serviceTier, at);
    return isReported && reportedUsd !== undefined ? withReport(priced, reportedUsd) : priced;
  }

  /** The registry's own price of the tier `batch`, where it has one, is taken as it is. */
  ofBatch(priceList: string, model: string, { usage, hasAudio }: Billed, at: number, factor: number): Priced {
    const facts = priceList === SIMULATED_PRICES ? undefined : this.registry().find(priceList, model);
    if (!facts || hasAudio) return this.of(priceList, model, hasAudio ? { usage, hasAudio } : { usage }, at);
    const price =
      priceFor(facts, usage, 'batch', at) ?? reduced(priceFor(facts, usage, undefined, at), factor);
    const cost = price ? costOf(price, usage) : 0;
    return { price: price ?? null, cost, costUsd: formatUsd(cost) };
  }
}

/** A report that cannot be true is kept, and the list's price stands. */
function withReport(priced: Priced, usd: number): Priced {
  const report = checkReported(usd, priced.price ? priced.cost : undefined);
  if (!report) return priced;
  if (!report.isBooked) return { ...priced, report };
  const { reported: cost } = report;
  return { price: priced.price, cost, costUsd: formatUsd(cost), report };
}

/** Prices are whole picodollars, so that price and usage give the cost again. */
function reduced(price: PriceUsed | undefined, factor: number): PriceUsed | undefined {
  if (!price) return undefined;
  const part = (rate: number) => Math.round(rate * factor);
  return {
    ...price,
    input: part(price.input),
    cachedInput: part(price.cachedInput),
    cacheWrite: part(price.cacheWrite),
    cacheWrite1h: part(price.cacheWrite1h),
    output: part(price.output),
    tier: price.tier.replace(/^base/, 'batch'),
    ...(price.request === undefined ? {} : { request: part(price.request) }),
  };
}
