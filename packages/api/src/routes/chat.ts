import type { Clock } from '@sluice/shared/clock';
import { GatewayError } from '@sluice/shared/errors';
import type { Middleware } from 'koa';
import type { Authenticated } from '../authenticate.js';
import type { DirectoryCache } from '../directory-cache.js';
import type { Dispatcher } from '../dispatcher.js';
import { parseChatRequest } from '../parse-chat-request.js';
import type { Identified } from '../request-id.js';
import { resolveModel } from '../resolve-model.js';

export interface ChatParts {
  dispatcher: Dispatcher;
  directory: DirectoryCache;
  providers: ReadonlyMap<string, unknown>;
  clock: Clock;
  /** The longest a request may take, in ms. */
  deadlineMs: number;
}

/** POST /v1/chat/completions */
export function createChatRoute(parts: ChatParts): Middleware<Authenticated & Identified> {
  const { dispatcher, directory, providers, clock, deadlineMs } = parts;
  return async (ctx) => {
    const { key, requestId } = ctx.state;
    const request = parseChatRequest(ctx.request.body);
    const resolved = await resolveModel(request.model, key.workspace, directory, providers);
    const timeoutMs = Math.min(deadlineMs, clientTimeoutMs(ctx.get('x-stainless-timeout')));
    const { head, body } = await dispatcher.dispatch({
      requestId,
      workspace: key.workspace,
      keyId: key.id,
      ...resolved,
      deadline: clock.now() + timeoutMs,
      request,
    });
    ctx.set('x-gateway-queue-ms', String(head.queueMs));
    ctx.set('x-gateway-attempts', String(head.attempts));
    if (!head.served)
      throw GatewayError.from(head.error ?? { code: 'internal_error', message: 'The reply was empty.' });
    const { provider, model, fallbackUsed, latencyMs, costUsd } = head.served;
    ctx.set('x-gateway-provider', provider);
    ctx.set('x-gateway-model', model);
    ctx.set('x-gateway-fallback-used', String(fallbackUsed));
    ctx.set('x-gateway-latency-ms', String(latencyMs));
    ctx.set('x-gateway-cost-usd', costUsd);
    ctx.type = 'application/json; charset=utf-8';
    ctx.body = body;
  };
}

/** The official SDKs say in seconds how long they will wait; working longer than that is work for nobody. */
function clientTimeoutMs(header: string): number {
  const seconds = Number(header);
  return header !== '' && seconds > 0 ? seconds * 1000 : Number.POSITIVE_INFINITY;
}
