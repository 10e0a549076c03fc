/** The headers that let a call in: a key's, a token's that is fetched again and again, or a signature. */
import type { ProviderConfig } from '@sluice/shared/config/config';
import type { Env } from '@sluice/shared/config/env-lookup';
import { AwsSignature } from './aws-signature.js';
import type { CallHeaders, Credentials } from './credentials-type.js';
import { parseToken, RefreshedSecret } from './refreshed-secret.js';

/** `constant` are the headers that every call has. Tells of each time that a token was fetched. */
export interface CredentialsParts {
  config: Pick<ProviderConfig, 'auth' | 'apiKeyEnv'>;
  constant: CallHeaders;
  key: string | undefined;
  env: Env;
  onFetched(error: unknown): void;
}

export function createCredentials({ config, constant, key, env, onFetched }: CredentialsParts): Credentials {
  const { auth, apiKeyEnv } = config;
  if (auth.sigv4) return new AwsSignature(auth, auth.sigv4, constant, env, onFetched);
  const withSecret = (secret: string): CallHeaders => ({
    ...constant,
    [auth.header]: auth.scheme === undefined ? secret : `${auth.scheme} ${secret}`,
  });
  if (auth.token) {
    const token = new RefreshedSecret(auth.token, auth.tokenLifetimeMs, parseToken, onFetched);
    let made: { of: string; headers: CallHeaders } | undefined;
    const headersOf = (secret: string | undefined) => {
      if (secret === undefined) return undefined;
      if (made?.of !== secret) made = { of: secret, headers: withSecret(secret) };
      return made.headers;
    };
    return {
      headersFor: () => {
        const current = token.current();
        return current instanceof Promise ? current.then(headersOf) : headersOf(current);
      },
      renew: () => token.renew(),
      secrets: () => token.known(),
    };
  }
  // A provider configured without a key (a model server of one's own) is called without one.
  const headers = key !== undefined ? withSecret(key) : apiKeyEnv === undefined ? constant : undefined;
  const secrets = key === undefined ? [] : [key];
  return { headersFor: () => headers, secrets: () => secrets };
}
