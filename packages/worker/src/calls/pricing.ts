import { SIMULATED_PRICES } from '@sluice/shared/process/simulated-upstream';
import type { ModelRegistry } from '@sluice/shared/registry/model-registry';
import { costOf, dearestCostOf, formatUsd, type PriceUsed, priceFor } from '@sluice/shared/registry/price';
import type { ParsedResponse } from '../providers/types.js';

/** The parts of an answer that decide its price. */
type Billed = Pick<ParsedResponse, 'usage' | 'serviceTier' | 'hasAudio'>;

export interface Priced {
  /** Null when the registry has no price for the model, the service tier or audio. The cost is 0 then. */
  price: PriceUsed | null;
  /** Whole picodollars. */
  cost: number;
  costUsd: string;
  /** The cost at the model's dearest price. Set when the model is known but the price of this answer is not. */
  estimate?: number;
}

export interface PriceCalls {
  of(priceList: string, model: string, billed: Billed): Priced;
}

const FREE = {
  ...{ input: 0, cachedInput: 0, cacheWrite: 0, cacheWrite1h: 0, output: 0 },
  ...{ registry: 'simulated', tier: 'simulated' },
};

export class Pricing implements PriceCalls {
  constructor(private readonly registry: () => ModelRegistry) {}

  of(priceList: string, model: string, { usage, serviceTier, hasAudio }: Billed): Priced {
    if (priceList === SIMULATED_PRICES) return { price: { ...FREE, model }, cost: 0, costUsd: formatUsd(0) };
    const facts = this.registry().find(priceList, model);
    const price = (facts && !hasAudio && priceFor(facts, usage, serviceTier)) || null;
    const cost = price ? costOf(price, usage) : 0;
    const priced: Priced = { price, cost, costUsd: formatUsd(cost) };
    if (facts && !price) priced.estimate = dearestCostOf(facts, usage);
    return priced;
  }
}
