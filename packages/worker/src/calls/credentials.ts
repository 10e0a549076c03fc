/** Makes the headers of a call from a key, from a token that is fetched again and again, or from a signature. */

import type { Env } from '@sluice/shared/config/env-lookup';
import type { ProviderConfig } from '@sluice/shared/config/provider';
import { AwsSignature } from './aws-signature.js';
import type { CallHeaders, Credentials } from './credentials-type.js';
import { parseToken, RefreshedSecret } from './refreshed-secret.js';

/** `constant` has the headers of every call. `onFetched` is told of every fetch of a token. */
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
  // A provider that is configured without a key, such as the operator's own model server, is called without one.
  const headers = key !== undefined ? withSecret(key) : apiKeyEnv === undefined ? constant : undefined;
  const secrets = key === undefined ? [] : [key];
  return { headersFor: () => headers, secrets: () => secrets };
}
