/**
 * The way of a body, from the headers of its request to the answer that its caller has read: who sends it, whether there is room
 * for it, its text, and the room that the request and its answer take meanwhile.
 */
import type { Middleware, ParameterizedContext } from 'koa';
import type { Authenticated, Authentication } from './authenticate.js';
import { type ByteLimits, BytesInFlight, type Share } from './bytes-in-flight.js';
import { mayBeLarge, type RefuseLargeParts, refuseLarge } from './known-refusals.js';
import type { Measured } from './measured.js';
import { type Received, TextReader } from './read-text.js';
import type { Identified } from './request-id.js';
import { UnreadAnswers } from './slow-readers.js';

export interface IntakeParts extends RefuseLargeParts {
  byteLimits: ByteLimits;
}

/** A route sets this for a request that runs on after it was answered. The request's body is in memory until then. */
export interface RunsOn {
  runsOn?: Promise<unknown>;
}

export type TakenIn = Authenticated & Identified & Measured & Received & RunsOn;

type Serve<State> = (ctx: ParameterizedContext<State>) => Promise<void>;

/** All routes that it makes share the room. */
export function createIntake(
  parts: IntakeParts,
  authentication: Authentication,
): <State extends TakenIn>(serve: Serve<State>) => Middleware<State> {
  const bytes = new BytesInFlight(parts.byteLimits);
  const text = new TextReader(parts.byteLimits.maxBodyBytes);
  const unread = new UnreadAnswers({ maxBytes: parts.byteLimits.maxBytesInFlight });

  return (serve) => async (ctx) => {
    const { workspace } = authentication.known(ctx) ?? (await authentication.authenticate(ctx));
    const length = lengthOf(ctx);
    if (mayBeLarge(length)) await refuseLarge(parts, workspace);
    const share = bytes.take(ctx.req, workspace, length);
    try {
      ctx.state.bodyText = await text.read(ctx);
      share.arrives = false;
      await serve(ctx);
      unread.hold(workspace, ctx);
    } finally {
      giveBack(ctx.state, share);
    }
  };

  /** A request with an Idempotency-Key runs on after its caller hung up. Its body is in memory until both are done with it. */
  function giveBack(state: TakenIn, share: Share): void {
    share.arrives = false;
    const done = () => {
      // Whoever started the work handles its failure.
      if (state.runsOn) state.runsOn.catch(() => {}).then(() => bytes.giveBack(share));
      else bytes.giveBack(share);
    };
    if (state.isClosed) done();
    else state.whenClosed = done;
  }
}

function lengthOf({ req }: ParameterizedContext): number | undefined {
  const length = req.headers['content-length'];
  return length === undefined ? undefined : Number(length);
}
