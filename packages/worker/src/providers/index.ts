import type { ProviderKind } from '@sluice/shared/config/config';
import { anthropic } from './anthropic/index.js';
import { openai } from './openai/index.js';
import type { Provider } from './types.js';

export const providers = { openai, anthropic } satisfies Record<ProviderKind, Provider>;
