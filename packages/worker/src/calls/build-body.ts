import type { ChatRequest } from '@sluice/shared/chat';
import { writeExactly } from '@sluice/shared/json/exact';
import type { ChainEntry } from '@sluice/shared/queue/job';
import type { Provider } from '../providers/types.js';
import type { Endpoint } from './endpoint.js';
import { heldMessages, putMessages } from './held-messages.js';

/** The body of a call. Throws GatewayError for what the provider's format cannot express. */
export function buildBody(
  { provider, endpoint }: { provider: Provider; endpoint: Endpoint },
  request: ChatRequest,
  entry: ChainEntry,
): string | Buffer {
  const write = (from: ChatRequest) =>
    writeExactly(endpoint.adapt(provider.buildRequest(from, entry), entry.model));
  const held = heldMessages(request);
  if (!held || !provider.passesMessages?.(held.json)) return write(request);
  return putMessages(write(held.outline), held.json);
}
