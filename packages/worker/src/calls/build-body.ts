import type { ChatRequest } from '@sluice/shared/chat';
import { writeExactly } from '@sluice/shared/json/exact';
import type { ChainEntry } from '@sluice/shared/queue/job';
import type { Provider } from '../providers/types.js';
import type { Endpoint } from './endpoint.js';
import { heldMessages, putMessages } from './held-messages.js';

/** The body of a call, with `more` in it. Throws GatewayError for what the provider's format cannot express. */
export function buildBody(
  { provider, endpoint }: { provider: Provider; endpoint: Endpoint },
  request: ChatRequest,
  entry: ChainEntry,
  more?: Readonly<Record<string, unknown>>,
): string | Buffer {
  const write = (from: ChatRequest) => {
    const body = endpoint.adapt(provider.buildRequest(from, entry), entry.model);
    return writeExactly(more ? Object.assign(body, more) : body);
  };
  const held = heldMessages(request);
  if (!held || !provider.passesMessages?.(held.json)) return write(request);
  return putMessages(write(held.outline), held.json);
}
