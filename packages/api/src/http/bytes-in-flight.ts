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
 * Takes a share of the process's memory for a body before any of it is read, and gives it back when the request has been
 * answered. So a flood of large bodies is refused by its headers, and one workspace cannot take the room of the others.
 */
export function createTakeBytes(limits: ByteLimits): Middleware<Authenticated> {
  const byWorkspace = new Map<string, number>();
  let inFlight = 0;

  return (ctx, next) => {
    const { workspace } = ctx.state.key;
    const bytes = announcedBytes(ctx.get('content-length'), limits.maxBodyBytes);
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
    byWorkspace.set(workspace, ofWorkspace + bytes);
    ctx.res.once('close', () => {
      inFlight -= bytes;
      const left = (byWorkspace.get(workspace) ?? 0) - bytes;
      if (left > 0) byWorkspace.set(workspace, left);
      else byWorkspace.delete(workspace);
    });
    return next();
  };
}

/** A body that does not say how long it is may be as long as any. One that says too much is refused when it is read. */
function announcedBytes(contentLength: string, maxBodyBytes: number): number {
  return contentLength === '' ? maxBodyBytes : Math.min(Number(contentLength), maxBodyBytes);
}
