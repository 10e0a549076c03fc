import type { Router } from '@koa/router';
import { GatewayError } from '@sluice/shared/errors';
import type { Logger } from '@sluice/shared/process/logger';
import type { ParameterizedContext } from 'koa';
import type { AdminAuthentication } from '../access/admin-authentication.js';
import type { OidcSignIn, Ticket } from '../access/oidc.js';
import type { Principal } from '../access/principal.js';
import type { TicketCookie } from '../access/ticket-cookie.js';

export interface OidcRouteParts {
  /** Undefined: gateway.yaml names no provider. */
  oidc: OidcSignIn | undefined;
  tickets: TicketCookie;
  authentication: AdminAuthentication;
  logger: Logger;
}

/** The page knows a sentence for each. */
type Failure = 'no_role' | 'failed' | 'unreachable';

/** /sign-in/oidc: to the provider, and back. A browser comes from another site here, without the session's cookie. */
export function addOidcRoutes(
  router: Router,
  { oidc, tickets, authentication, logger }: OidcRouteParts,
): void {
  const needed = (): OidcSignIn => {
    if (!oidc) throw new GatewayError('not_found', 'gateway.yaml has no access.oidc.');
    return oidc;
  };

  router.get('/sign-in/oidc', async (ctx) => {
    const provider = needed();
    try {
      const { url, ticket } = await provider.begin();
      tickets.write(ctx, ticket);
      leave(ctx, url);
    } catch (error) {
      logger.warn({ error: messageOf(error) }, 'the OpenID provider cannot be reached');
      leave(ctx, placeOf('unreachable'));
    }
  });

  router.get('/sign-in/oidc/return', async (ctx) => {
    const provider = needed();
    const ticket = tickets.take(ctx);
    const principal = ticket && (await finish(ctx, provider, ticket));
    if (!principal || principal.grants.length === 0) {
      await authentication.noteRefusal(ctx, 'oidc', principal ? 403 : 401, principal?.name);
      leave(ctx, placeOf(principal ? 'no_role' : 'failed'));
      return;
    }
    await authentication.signIn(ctx, principal, 'oidc');
    // Always there: an address in the request could lead anywhere.
    leave(ctx, '/');
  });

  const finish = async (
    ctx: ParameterizedContext,
    provider: OidcSignIn,
    ticket: Ticket,
  ): Promise<Principal | undefined> => {
    try {
      return await provider.finish(ctx.search, ticket);
    } catch (error) {
      logger.warn({ error: messageOf(error) }, 'a sign-in by OpenID Connect failed');
      return undefined;
    }
  };
}

function leave(ctx: ParameterizedContext, url: string): void {
  ctx.redirect(url);
  ctx.status = 303;
  ctx.body = '';
}

function placeOf(failure: Failure): string {
  return `/#/sign-in-failed/${failure}`;
}

/** Neither code nor token is in these messages. */
function messageOf(error: unknown): string {
  return error instanceof Error ? error.message.slice(0, 300) : 'unknown';
}
