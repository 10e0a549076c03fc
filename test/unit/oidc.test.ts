/** An identity provider that is not who it says. The rest of the sign-in is in test/gateway/single-sign-on.test.ts. */
import { createSign, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { OidcSignIn } from '@sluice/admin/access/oidc';
import test from 'ava';
import { createJsonServer } from '../helpers/json-server.js';

const pair = () => generateKeyPairSync('rsa', { modulusLength: 2048 });

function signed(claims: object, key: KeyObject): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${part({ alg: 'RS256', kid: 'one' })}.${part(claims)}`;
  return `${text}.${createSign('RSA-SHA256').update(text).sign(key, 'base64url')}`;
}

test('an ID token is believed only when the provider’s own key has signed it', async (t) => {
  const [own, foreign] = [pair(), pair()];
  let key = own.privateKey;
  let nonce = '';
  const answers: Record<string, unknown> = {};
  const server = await createJsonServer(answers);
  t.teardown(() => server.close());
  answers['/.well-known/openid-configuration'] = {
    issuer: server.url,
    authorization_endpoint: `${server.url}/authorize`,
    token_endpoint: `${server.url}/token`,
    jwks_uri: `${server.url}/keys`,
    response_types_supported: ['code'],
    id_token_signing_alg_values_supported: ['RS256'],
  };
  answers['/keys'] = {
    keys: [{ ...own.publicKey.export({ format: 'jwk' }), kid: 'one', use: 'sig', alg: 'RS256' }],
  };
  answers['/token'] = (
    _: unknown,
    response: { setHeader(...of: string[]): void; end(text: string): void },
  ) => {
    const now = Math.floor(Date.now() / 1_000);
    const claims = {
      iss: server.url,
      aud: 'sluice',
      sub: 'ann',
      iat: now,
      exp: now + 3_600,
      nonce,
      groups: ['ops'],
    };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ access_token: 'a', token_type: 'bearer', id_token: signed(claims, key) }));
  };
  const signIn = new OidcSignIn({
    config: {
      issuer: server.url,
      clientId: 'sluice',
      clientSecretEnv: undefined,
      label: 'Company',
      scopes: 'openid',
      groupsClaim: 'groups',
    },
    clientSecret: undefined,
    returnUrl: 'http://127.0.0.1/oidc/return',
    groups: new Map([['ops', { role: 'viewer' }]]),
    timeoutS: 600,
  });
  const enter = async () => {
    const { ticket } = await signIn.begin();
    nonce = ticket.nonce;
    return signIn.finish(`?code=c&state=${ticket.state}`, ticket);
  };

  t.is((await enter()).name, 'ann');
  key = foreign.privateKey;
  const refused = await t.throwsAsync(enter());
  t.regex(String(refused?.cause), /signature/);
});
