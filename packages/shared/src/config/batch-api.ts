import type { EndpointConfig } from './provider.js';

/** Where a provider's own batch API is, as paths after the base URL. `files` is only for kind openai. */
export interface BatchApi {
  batches: string;
  files: string;
}

/** Undefined when the provider cannot have a batch API that the gateway speaks. Whether it has one shows at the first call. */
export function batchApiOf({
  kind,
  path,
  auth,
  anthropicVersion,
}: Pick<EndpointConfig, 'kind' | 'path' | 'auth' | 'anthropicVersion'>): BatchApi | undefined {
  if (auth.sigv4 || anthropicVersion !== undefined || path.includes('{model}')) return undefined;
  if (kind === 'anthropic')
    return path.endsWith('/messages') ? { batches: `${path}/batches`, files: '' } : undefined;
  const chat = '/chat/completions';
  if (!path.endsWith(chat)) return undefined;
  const before = path.slice(0, -chat.length);
  return { batches: `${before}/batches`, files: `${before}/files` };
}
