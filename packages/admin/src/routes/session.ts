import type { Router } from '@koa/router';
import type { PresentedGrant, SignedIn, SignInLink } from '@sluice/shared/admin-api';
import { signInInput } from '@sluice/shared/contract/access';
import { GatewayError } from '@sluice/shared/errors';
import type { Middleware, ParameterizedContext } from 'koa';
import { type AdminAuthentication, requireConsole } from '../access/admin-authentication.js';
import type { Asker } from '../access/asker.js';
import { principalOf } from '../access/guard.js';
import type { OidcSignIn } from '../access/oidc.js';
import type { Principal } from '../access/principal.js';
import { isSecret } from '../access/secrets.js';
import type { SignInLinks } from '../access/sign-in-links.js';
import { iso, isoOrNull } from '../http/present.js';
import { readInput } from '../http/read-input.js';

const WORN_LINK =
  'This sign-in link was used already, is too old, or was never made. "sluice open" prints a new one.';

export interface SessionParts {
  authentication: AdminAuthentication;
  links: SignInLinks;
  oidc: OidcSignIn | undefined;
  readBody: Middleware;
}

/** /session: the person who is signed in with this browser. Everybody may ask, and sign in. */
export function addSessionRoutes(
  router: Router,
  { authentication, links, oidc, readBody }: SessionParts,
): void {
  const present = (asker: Asker | undefined): SignedIn => ({
    object: 'session',
    person: asker ? presentPerson(asker) : null,
    oidc: oidc?.label ?? null,
  });

  router.get('/session', async (ctx) => {
    ctx.body = present(await authentication.whoBrowses(ctx));
  });

  /** A page of another site must not sign anybody in: its owner could see what they do then. */
  const onlyConsole: Middleware = (ctx, next) => {
    requireConsole(ctx);
    return next();
  };

  router.post('/session', onlyConsole, readBody, async (ctx) => {
    const { token, link } = readInput(signInInput, ctx.request.body);
    const asker =
      token === undefined
        ? await authentication.signIn(ctx, await useLink(ctx, link), 'link')
        : await authentication.signIn(ctx, await authentication.byToken(ctx, token), 'token');
    ctx.status = 201;
    ctx.body = present(asker);
  });

  router.delete('/session', onlyConsole, async (ctx) => {
    await authentication.signOut(ctx);
    ctx.body = present(undefined);
  });

  const useLink = async (ctx: ParameterizedContext, link: string | undefined): Promise<Principal> => {
    const principal = isSecret(link) ? await links.use(link) : undefined;
    if (principal && (await authentication.isAlive(principal))) return principal;
    return authentication.refuse(ctx, 'link', new GatewayError('invalid_api_key', WORN_LINK));
  };
}

/** /sign-in-links: makes a link for the asker's own browser. */
export function addSignInLinkRoutes(router: Router, { links }: Pick<SessionParts, 'links'>): void {
  router.post('/sign-in-links', async (ctx) => {
    const { secret, expires } = await links.make(principalOf(ctx));
    ctx.status = 201;
    // The secret is after the #. Browsers do not send that part, and a program that previews links does not use it up.
    ctx.body = {
      object: 'sign_in_link',
      path: `/#/sign-in/${secret}`,
      expires_at: iso(expires),
    } satisfies SignInLink;
  });
}

export function presentGrants({ grants }: Principal): PresentedGrant[] {
  return grants.map(({ role, workspaces = null }) => ({ role, workspaces }));
}

function presentPerson({ principal, session }: Asker): SignedIn['person'] {
  return {
    name: principal.name,
    way: session?.way ?? 'proxy',
    grants: presentGrants(principal),
    signed_in_at: isoOrNull(session?.created),
    expires_at: isoOrNull(session?.expires),
  };
}
