import type { ProviderConfig, ProviderKind } from '@sluice/shared/config/config';
import { isOpenaiItself } from '@sluice/shared/config/price-lists';
import { anthropic } from './anthropic/index.js';
import { openai, openaiCompatible } from './openai/index.js';
import type { Provider } from './types.js';

export const providers = { openai, anthropic } satisfies Record<ProviderKind, Provider>;

export function providerFor({ kind, baseUrl }: Pick<ProviderConfig, 'kind' | 'baseUrl'>): Provider {
  return kind === 'openai' && !isOpenaiItself(baseUrl) ? openaiCompatible : providers[kind];
}
