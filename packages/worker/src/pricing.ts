import type { TokenUsage } from '@sluice/shared/chat';
import type { ModelRegistry } from '@sluice/shared/registry/model-registry';
import { costOf, formatUsd, type PriceUsed, priceFor } from '@sluice/shared/registry/price';

export interface Priced {
  /** Null when the registry does not know the model: the cost is then 0, and the log says why. */
  price: PriceUsed | null;
  /** Whole picodollars. */
  cost: number;
  costUsd: string;
}

export class Pricing {
  constructor(private readonly registry: () => ModelRegistry) {}

  of(providerKind: string, model: string, usage: TokenUsage, serviceTier?: string): Priced {
    const facts = this.registry().find(providerKind, model);
    const price = facts ? priceFor(facts, usage, serviceTier) : null;
    const cost = price ? costOf(price, usage) : 0;
    return { price, cost, costUsd: formatUsd(cost) };
  }
}
