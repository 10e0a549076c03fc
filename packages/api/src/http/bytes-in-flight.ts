import type { IncomingMessage } from 'node:http';
import { GatewayError } from '@sluice/shared/errors';
import type { Middleware } from 'koa';
import type { Authenticated } from './authenticate.js';

const RETRY_AFTER_MS = 1_000;

export interface ByteLimits {
  /** Of one body. */
  maxBodyBytes: number;
  /** Of all requests that this process has accepted and not yet answered. */
  maxBytesInFlight: number;
  /** Of one workspace's. */
  maxBytesInFlightPerWorkspace: number;
}

/**
 * Takes a share of the process's memory for a body before it is read. The share is given back when the request is over and
 * its connection is done with it: a request with an Idempotency-Key runs on after its caller hung up. So a flood of large
 * bodies is refused by its headers, and one workspace cannot take the room of the others.
 */
export function createTakeBytes(limits: ByteLimits): Middleware<Authenticated> {
  const byWorkspace = new Map<string, number>();
  let inFlight = 0;

  return (ctx, next) => {
    const { workspace } = ctx.state.key;
    let taken = 0;
    const take = (bytes: number) => {
      const ofWorkspace = byWorkspace.get(workspace) ?? 0;
      if (ofWorkspace + bytes > limits.maxBytesInFlightPerWorkspace)
        throw new GatewayError(
          'rate_limited',
          `This workspace may have ${limits.maxBytesInFlightPerWorkspace} bytes of requests in flight.`,
          { retryAfterMs: RETRY_AFTER_MS },
        );
      if (inFlight + bytes > limits.maxBytesInFlight)
        throw new GatewayError('service_unavailable', 'The gateway has too many large requests in flight.', {
          retryAfterMs: RETRY_AFTER_MS,
        });
      inFlight += bytes;
      taken += bytes;
      byWorkspace.set(workspace, ofWorkspace + bytes);
    };
    const length = ctx.get('content-length');
    // One that says too much is refused when it is read.
    if (length !== '') take(Math.min(Number(length), limits.maxBodyBytes));
    else takeAsItComes(ctx.req, take);
    const giveBack = () => {
      inFlight -= taken;
      const left = (byWorkspace.get(workspace) ?? 0) - taken;
      if (left > 0) byWorkspace.set(workspace, left);
      else byWorkspace.delete(workspace);
    };
    const closed = new Promise((resolve) => ctx.res.once('close', resolve));
    const over = next();
    Promise.allSettled([over, closed]).then(giveBack);
    return over;
  };
}

/** A body that does not say how long it is. When there is no room left for it, reading it fails with that refusal. */
function takeAsItComes(request: IncomingMessage, take: (bytes: number) => void): void {
  const onData = (chunk: Buffer) => {
    try {
      take(chunk.length);
    } catch (error) {
      request.off('data', onData);
      // Unless whoever reads has given up already, and lets the rest pass.
      if (request.listenerCount('error') > 0) request.emit('error', error);
    }
  };
  request.on('data', onData);
}
