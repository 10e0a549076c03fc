import { GatewayError } from '@sluice/shared/errors';
import type { ReplyHead } from '@sluice/shared/queue/job';
import { answerContext, openError, type Payloads, type RequestIdentity } from '@sluice/shared/queue/payload';
import type { ParameterizedContext } from 'koa';

const FREE = '0.000000';

/** The completion with its headers; throws the error that the request ended with. */
export function writeReply(
  ctx: ParameterizedContext,
  payloads: Payloads,
  request: RequestIdentity,
  { head, body, replayed }: { head: ReplyHead; body: string | Buffer; replayed: boolean },
): void {
  const { res } = ctx;
  res.setHeader('x-gateway-queue-ms', String(head.queueMs));
  res.setHeader('x-gateway-attempts', String(head.attempts));
  if (!head.served)
    throw GatewayError.from(
      head.error
        ? openError(payloads, head.error, answerContext(request))
        : { code: 'internal_error', message: 'The reply was empty.' },
    );
  const { provider, model, fallbackUsed, latencyMs, costUsd, adapted } = head.served;
  res.setHeader('x-gateway-provider', provider);
  res.setHeader('x-gateway-model', model);
  res.setHeader('x-gateway-fallback-used', String(fallbackUsed));
  res.setHeader('x-gateway-latency-ms', String(latencyMs));
  // A replay calls nobody: whoever sums the header must not count the first call twice.
  res.setHeader('x-gateway-cost-usd', replayed ? FREE : costUsd);
  if (adapted !== undefined) res.setHeader('x-gateway-adapted', adapted);
  res.setHeader('content-type', 'application/json; charset=utf-8');
  ctx.response.body = typeof body === 'string' ? payloads.open(body, answerContext(request)) : body;
}
