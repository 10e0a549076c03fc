import type { IncomingMessage } from 'node:http';
import { GatewayError } from '@sluice/shared/errors';
import type { Middleware } from 'koa';
import type { Authenticated } from './authenticate.js';

const RETRY_AFTER_MS = 1_000;

export interface ByteLimits {
  /** The most bytes of one body. */
  maxBodyBytes: number;
  /** The most bytes of all requests that this process has accepted and not yet answered. */
  maxBytesInFlight: number;
  /** The most of these bytes for one workspace. */
  maxBytesInFlightPerWorkspace: number;
}

/** A route sets this for a request that runs on after it was answered. The request's body is in memory until then. */
export interface RunsOn {
  runsOn?: Promise<unknown>;
}

/** The memory that a request has taken. */
interface Share {
  workspace: string;
  bytes: number;
  /** How many of the bytes have arrived. */
  received: number;
  /** Ends a body that is still arriving. Undefined when all of it is there. */
  refuse: ((error: GatewayError) => void) | undefined;
}

/**
 * Takes a share of the process's memory for a body before it is read. The share is given back when the request is over and
 * its connection is done with it: a request with an Idempotency-Key runs on after its caller hung up. So a flood of large
 * bodies is refused by its headers, and one workspace cannot take the room of the others.
 *
 * An announced length does not keep others out. When there is no room for a workspace with fewer bytes in flight, the
 * workspace with the most gives up the body that has the most bytes left to receive.
 */
export function createTakeBytes(limits: ByteLimits): Middleware<Authenticated & RunsOn> {
  const shares = new Set<Share>();
  const byWorkspace = new Map<string, number>();
  let inFlight = 0;

  const add = (share: Share, bytes: number) => {
    const left = (byWorkspace.get(share.workspace) ?? 0) + bytes;
    if (left > 0) byWorkspace.set(share.workspace, left);
    else byWorkspace.delete(share.workspace);
    share.bytes += bytes;
    inFlight += bytes;
  };
  const giveBack = (share: Share) => {
    shares.delete(share);
    add(share, -share.bytes);
  };
  /** Makes room for a workspace with this many bytes in flight by ending a body that is still arriving. */
  const makeRoom = (wanted: number): boolean => {
    const [largest, bytes] = [...byWorkspace].reduce(
      (most, each) => (each[1] > most[1] ? each : most),
      ['', 0],
    );
    if (bytes <= wanted) return false;
    const missing = (share: Share) => share.bytes - share.received;
    const coming = [...shares].filter(({ workspace, refuse }) => workspace === largest && refuse);
    const [last] = coming.sort((a, b) => missing(b) - missing(a));
    if (!last) return false;
    giveBack(last);
    last.refuse?.(tooMuch('The request came too slowly, and others needed its room.'));
    return true;
  };

  return (ctx, next) => {
    const { workspace } = ctx.state.key;
    const share: Share = { workspace, bytes: 0, received: 0, refuse: undefined };
    const take = (bytes: number) => {
      const wanted = (byWorkspace.get(workspace) ?? 0) + bytes;
      if (wanted > limits.maxBytesInFlightPerWorkspace)
        throw new GatewayError(
          'rate_limited',
          `This workspace may have ${limits.maxBytesInFlightPerWorkspace} bytes of requests in flight.`,
          { retryAfterMs: RETRY_AFTER_MS, reason: 'large_bodies' },
        );
      while (inFlight + bytes > limits.maxBytesInFlight)
        if (!makeRoom(wanted)) throw tooMuch('The gateway has too many large requests in flight.');
      add(share, bytes);
    };
    const length = ctx.get('content-length');
    // A body that announces too much is refused when it is read.
    if (length !== '') take(Math.min(Number(length), limits.maxBodyBytes));
    shares.add(share);
    watch(ctx.req, share, length === '' ? take : () => {});
    const closed = new Promise((resolve) => ctx.res.once('close', resolve));
    const over = next();
    const whenDone = async () => {
      await over.catch(ignore);
      await closed;
      await ctx.state.runsOn?.catch(ignore);
      giveBack(share);
    };
    whenDone();
    return over;
  };
}

/** Whoever started the work handles its failure. */
function ignore(): void {}

function tooMuch(message: string): GatewayError {
  return new GatewayError('service_unavailable', message, { retryAfterMs: RETRY_AFTER_MS });
}

/** Counts a body as it arrives. When there is no room left, reading it fails with the refusal. */
function watch(request: IncomingMessage, share: Share, take: (bytes: number) => void): void {
  const onData = (chunk: Buffer) => {
    share.received += chunk.length;
    try {
      take(chunk.length);
    } catch (error) {
      refuse(error);
    }
  };
  const stop = () => {
    share.refuse = undefined;
    request.off('data', onData);
  };
  const refuse = (error: unknown) => {
    stop();
    // The reader may have given up already and let the rest pass. Then nobody listens.
    if (request.listenerCount('error') > 0) request.emit('error', error);
  };
  share.refuse = refuse;
  request.once('end', stop);
  request.on('data', onData);
}
