/**
 * What a request may cost at most, before anyone has counted its tokens: for holding back enough of a budget. It is made
 * to err upwards, and settling replaces it by the true cost.
 */
import type { ChatRequest } from '@sluice/shared/chat';
import type { ProviderConfig } from '@sluice/shared/config/config';
import type { ChainEntry } from '@sluice/shared/queue/job';
import type { ModelRegistry } from '@sluice/shared/registry/model-registry';
import { costOf, priceFor } from '@sluice/shared/registry/price';

/** English has about four characters a token; other languages and code have fewer. */
const BYTES_PER_TOKEN = 3;
/** When neither the caller nor the route says how long the answer may be. */
const ASSUMED_OUTPUT_TOKENS = 4_096;
const ANTHROPIC_DEFAULT_OUTPUT_TOKENS = 1_024;

export class CostEstimate {
  constructor(
    private readonly providers: ReadonlyMap<string, ProviderConfig>,
    private readonly registry: () => ModelRegistry,
  ) {}

  /** Picodollars: the dearest entry of the chain, since any of them may serve. */
  of(chain: readonly ChainEntry[], request: ChatRequest): number {
    const promptTokens = Math.ceil(Buffer.byteLength(JSON.stringify(request.messages)) / BYTES_PER_TOKEN);
    const choices = typeof request.n === 'number' ? request.n : 1;
    const asked = request.max_completion_tokens ?? request.max_tokens ?? undefined;
    return Math.max(...chain.map((entry) => this.#ofEntry(entry, promptTokens, asked, choices)));
  }

  #ofEntry(entry: ChainEntry, promptTokens: number, asked: number | undefined, choices: number): number {
    const kind = this.providers.get(entry.provider)?.kind ?? 'openai';
    const facts = this.registry().find(kind, entry.model);
    if (!facts) return 0;
    const assumed = kind === 'anthropic' ? ANTHROPIC_DEFAULT_OUTPUT_TOKENS : ASSUMED_OUTPUT_TOKENS;
    const limit = Math.min(
      entry.max_tokens ?? Number.POSITIVE_INFINITY,
      facts.max_output_tokens ?? Number.POSITIVE_INFINITY,
    );
    const output = Math.min(asked ?? entry.max_tokens ?? assumed, limit) * choices;
    const usage = { input: promptTokens, cachedInput: 0, cacheWrite: 0, cacheWrite1h: 0, output };
    return costOf(priceFor(facts, usage), usage);
  }
}
