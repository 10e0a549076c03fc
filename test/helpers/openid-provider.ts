/** A real OpenID provider for tests: whoever signs in says who they are, and has the groups that the test gave them. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Provider } from 'oidc-provider';

export const CLIENT_ID = 'sluice';
export const CLIENT_SECRET = 'a-secret-that-only-the-api-knows';

export interface OpenIdProvider {
  issuer: string;
  close(): void;
}

export async function startOpenIdProvider(
  port: number,
  returnUrl: string,
  groups: Record<string, string[]>,
): Promise<OpenIdProvider> {
  const issuer = `http://localhost:${port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT_ID,
        client_secret: CLIENT_SECRET,
        redirect_uris: [returnUrl],
        response_types: ['code'],
        grant_types: ['authorization_code'],
      },
    ],
    pkce: { required: () => true },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], groups: ['groups'] },
    scopes: ['openid', 'email', 'groups'],
    cookies: { keys: ['only for tests'] },
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({ sub: id, email: `${id}@example.com`, email_verified: true, groups: groups[id] ?? [] }),
    }),
  });
  const server = provider.listen(port, 'localhost');
  // A process that stops for a while must not find its connection closed.
  server.keepAliveTimeout = 120_000;
  await once(server, 'listening');
  return {
    issuer: `http://localhost:${(server.address() as AddressInfo).port}`,
    close: () => server.close(),
  };
}
