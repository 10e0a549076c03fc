import type { ProviderConfig } from '@sluice/shared/config/provider';
import { isOpenaiItself } from '@sluice/shared/contract/price-lists';
import type { ProviderKind } from '@sluice/shared/contract/provider';
import { anthropicBatches } from './anthropic/batches.js';
import { anthropic } from './anthropic/index.js';
import { openaiBatches } from './openai/batches.js';
import { embeddings } from './openai/embeddings.js';
import { openai, openaiCompatible, strictlyCompatible } from './openai/index.js';
import { plainChunks } from './openai/stream.js';
import { responsesFormat } from './responses/index.js';
import type { BatchFormat, Provider } from './types.js';

export const providers = { openai, anthropic } satisfies Record<ProviderKind, Provider>;

export const batchFormats = {
  openai: openaiBatches,
  anthropic: anthropicBatches,
} satisfies Record<ProviderKind, BatchFormat>;

export { embeddings };

/** The other way to OpenAI's models, and to those of the servers that have the same endpoint. */
export const responses: Provider = { ...openai, ...responsesFormat };

/** Servers that answer 400 or 422 to fields of messages that they do not know. */
const STRICT: ReadonlySet<string> = new Set(['cerebras', 'groq', 'mistral']);

const mistral: Provider = { ...strictlyCompatible, stream: plainChunks };

/** Whose prices a server has tells who it is, also behind a proxy. */
export function providerFor({
  kind,
  baseUrl,
  prices,
}: Pick<ProviderConfig, 'kind' | 'baseUrl' | 'prices'>): Provider {
  if (kind !== 'openai' || isOpenaiItself(baseUrl)) return providers[kind];
  if (prices === 'mistral') return mistral;
  return STRICT.has(prices) ? strictlyCompatible : openaiCompatible;
}
