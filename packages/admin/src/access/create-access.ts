/** Builds what decides who may use the admin listener, and writes down who did. */
import type { AdminContext } from '@sluice/api/admin-listener';
import type { AdminOptions } from '@sluice/api/assemble';
import { WrongKeys } from '@sluice/api/http/wrong-keys';
import type { Redis } from 'ioredis';
import { AdminAuthentication } from './admin-authentication.js';
import { AdminTokens } from './admin-tokens.js';
import { AuditTrail } from './audit.js';
import { TrustedProxies } from './client-address.js';
import type { OidcParts, OidcSignIn } from './oidc.js';
import { ProxyPeople } from './proxy-person.js';
import { SessionCookie } from './session-cookie.js';
import { Sessions } from './sessions.js';
import { SignInLinks } from './sign-in-links.js';
import { TicketCookie } from './ticket-cookie.js';

export async function createAccess(
  redis: Redis,
  { token, hosts, oidcSecret }: AdminOptions,
  { names, clock, logger, digests, config, countWrongKey, countSignIn }: AdminContext,
) {
  const { consoleUrl, oidc, proxy, groups } = config.access;
  const isSecure = consoleUrl?.startsWith('https:') ?? false;
  const sessions = new Sessions(redis, names, clock, token);
  const tokens = new AdminTokens(redis, names, clock, digests);
  const audit = new AuditTrail(redis, names, logger);
  const proxies = new TrustedProxies(proxy?.addresses ?? []);
  return {
    ...{ sessions, tokens, audit, proxies },
    hosts: consoleUrl === undefined ? hosts : [...hosts, new URL(consoleUrl).hostname],
    authentication: new AdminAuthentication({
      ...{ rootToken: token, sessions, tokens, audit, countSignIn },
      cookie: new SessionCookie(isSecure),
      wrongKeys: new WrongKeys('admin', logger, countWrongKey),
      proxyPeople: new ProxyPeople(proxies, proxy, groups),
    }),
    oidc:
      oidc &&
      (await openOidc({
        config: oidc,
        clientSecret: oidcSecret,
        returnUrl: `${consoleUrl}/sign-in/oidc/return`,
        groups,
      })),
    tickets: new TicketCookie(isSecure),
    links: new SignInLinks(redis, names, clock, token),
  };
}

/** openid-client is loaded only where gateway.yaml names a provider. */
async function openOidc(parts: OidcParts): Promise<OidcSignIn> {
  const { OidcSignIn } = await import('./oidc.js');
  return new OidcSignIn(parts);
}
