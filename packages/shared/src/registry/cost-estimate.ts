import type { ChatRequest } from '../chat.js';
import type { ProviderConfig } from '../config/provider.js';
import type { BudgetMode } from '../contract/limits.js';
import { isOpenaiItself } from '../contract/price-lists.js';
import type { ChainEntry } from '../contract/route.js';
import {
  type Circumstances,
  type EndsWithin,
  estimateCall,
  type PricedEntry,
  type TokensTaken,
} from './call-estimate.js';
import { unknownFieldOf } from './known-fields.js';
import { estimateLine, type LineEstimate, type MeasuredLine, type PastUse } from './line-estimate.js';
import type { ModelRegistry } from './model-registry.js';
import { measurePrompt, type PromptSize } from './prompt-size.js';

export type ProviderFacts = Pick<ProviderConfig, 'kind' | 'baseUrl' | 'prices' | 'maker'>;

/** Estimates the cost of a request or of one call, with this process's providers and registry. */
export class CostEstimate {
  constructor(
    private readonly providers: ReadonlyMap<string, ProviderFacts>,
    private readonly registry: () => ModelRegistry,
  ) {}

  /**
   * The estimate of a whole request, in picodollars. A strict estimate adds up all calls of the chain, because a call that is
   * cut off may be billed although the next one is made. An expected estimate is the dearest call. `unpriced` says in words
   * what has no price. Such calls count as 0.
   */
  ofChain(
    chain: readonly ChainEntry[],
    request: ChatRequest,
    mode: BudgetMode,
    known?: Circumstances,
  ): { cost: number; unpriced?: string } {
    const prompt = measurePrompt(request);
    const estimates = chain.map((entry) => ({
      entry,
      amount: this.#ofEntry(entry, request, prompt, mode, known),
    }));
    const costs = estimates.map(({ entry, amount }) => {
      if (typeof amount === 'string') return 0;
      return mode === 'strict' ? amount * (1 + (entry.retries ?? 0)) : amount;
    });
    const cost = mode === 'strict' ? costs.reduce((sum, each) => sum + each, 0) : Math.max(...costs);
    const unpriced = estimates.map(({ amount }) => amount).find((amount) => typeof amount === 'string');
    return {
      cost: Math.min(cost, Number.MAX_SAFE_INTEGER),
      ...(unpriced === undefined ? {} : { unpriced }),
    };
  }

  /** The estimate of one call in picodollars. 0 when the call has no price. `soFar`: what it has taken at least. */
  ofCall(
    request: ChatRequest,
    entry: ChainEntry,
    mode: BudgetMode = 'expected',
    ends?: EndsWithin,
    soFar?: TokensTaken,
  ): number {
    const amount = this.#ofEntry(entry, request, measurePrompt(request), mode, { ends, soFar });
    return typeof amount === 'string' ? 0 : amount;
  }

  /** Whether the entry's model has a cheaper tier that the gateway may choose, or cheaper hours. */
  mayBeCheaper({ provider, model }: ChainEntry): boolean {
    const prices = this.providers.get(provider)?.prices;
    const facts = prices === undefined ? undefined : this.registry().find(prices, model);
    return (
      facts !== undefined && (facts.bandTables !== undefined || facts.priceTable[0].serviceTiers.has('flex'))
    );
  }

  /** Why the entry's model takes no request of this kind. */
  misfit(entry: ChainEntry, isEmbedding: boolean): string | undefined {
    const { maker, prices = 'openai' } = this.providers.get(entry.provider) ?? {};
    return this.registry().misfit(maker ?? prices, entry, isEmbedding);
  }

  /** What a line of a batch will cost at this entry. A text says why nobody knows. */
  ofLine(
    entry: ChainEntry,
    line: MeasuredLine,
    past: PastUse | undefined,
    ends: EndsWithin,
  ): LineEstimate | string {
    return estimateLine(this.#priced(entry), line, past, ends);
  }

  /** A field of the request that the gateway does not know and that an entry of the chain may act on. */
  unknownField(chain: readonly ChainEntry[], request: ChatRequest): string | undefined {
    const field = unknownFieldOf(request);
    return chain.some(({ provider }) => takesAnyField(this.providers.get(provider))) ? field : undefined;
  }

  #ofEntry(
    entry: ChainEntry,
    request: ChatRequest,
    prompt: PromptSize,
    mode: BudgetMode,
    known: Circumstances | undefined,
  ): number | string {
    return estimateCall(this.#priced(entry), request, prompt, mode, known);
  }

  #priced(entry: ChainEntry): PricedEntry {
    const provider = this.providers.get(entry.provider);
    const { kind, prices } = provider ?? { kind: 'openai', prices: 'openai' };
    const facts = this.registry().find(prices, entry.model);
    return { entry, kind, takesAnyField: takesAnyField(provider), facts };
  }
}

/** OpenAI refuses unknown fields, and the gateway leaves them out for Anthropic. Any other server may act on them. */
function takesAnyField(provider: ProviderFacts | undefined): boolean {
  return provider?.kind !== 'anthropic' && !isOpenaiItself(provider?.baseUrl ?? '');
}
