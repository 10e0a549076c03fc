/**
 * Signs calls with the credentials of AWS (Signature Version 4). They come from the usual variables, or from a file or
 * command that gives them as AWS's `credential_process` does, such as `aws configure export-credentials`.
 */

import { type Env, lookupEnv } from '@sluice/shared/config/env-lookup';
import type { AuthConfig } from '@sluice/shared/config/provider';
import type { AwsV4Signer } from 'aws4fetch';
import type { CallHeaders, Credentials, OutgoingCall } from './credentials-type.js';
import { type Fetched, parseFields, RefreshedSecret, toMoment } from './refreshed-secret.js';

interface AwsCredentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}

export class AwsSignature implements Credentials {
  readonly #fetched: RefreshedSecret<AwsCredentials> | undefined;
  readonly #fromEnv: AwsCredentials | undefined;
  /** Signing keys, which are good for a day. */
  readonly #cache = new Map<string, ArrayBuffer>();
  #signer: Promise<typeof AwsV4Signer> | undefined;
  #latest: AwsCredentials | undefined;

  constructor(
    auth: Pick<AuthConfig, 'token' | 'tokenLifetimeMs'>,
    private readonly scope: { region: string; service: string },
    private readonly constant: CallHeaders,
    env: Env,
    onFetched: (error: unknown) => void,
  ) {
    if (auth.token)
      this.#fetched = new RefreshedSecret(auth.token, auth.tokenLifetimeMs, parseCredentials, onFetched);
    else this.#fromEnv = credentialsIn(env);
  }

  async headersFor({ method, url, body }: OutgoingCall): Promise<CallHeaders | undefined> {
    const credentials = this.#fetched ? await this.#fetched.current() : this.#fromEnv;
    if (!credentials) return undefined;
    this.#latest = credentials;
    // The signer is loaded by the first signed call, because most gateways sign none.
    this.#signer ??= import('aws4fetch').then((module) => module.AwsV4Signer);
    const Signer = await this.#signer;
    if (this.#cache.size > 16) this.#cache.clear();
    const signed = await new Signer({
      method,
      url,
      headers: this.constant,
      body,
      ...credentials,
      ...this.scope,
      cache: this.#cache,
    }).sign();
    return Object.fromEntries(signed.headers);
  }

  renew(): Promise<boolean> {
    return this.#fetched ? this.#fetched.renew() : Promise.resolve(false);
  }

  secrets(): readonly string[] {
    const { secretAccessKey, sessionToken } = this.#latest ?? {};
    return [secretAccessKey, sessionToken].filter((secret) => secret !== undefined);
  }
}

function credentialsIn(env: Env): AwsCredentials | undefined {
  const read = (name: string) => lookupEnv(env, name).value;
  return toCredentials(read('AWS_ACCESS_KEY_ID'), read('AWS_SECRET_ACCESS_KEY'), read('AWS_SESSION_TOKEN'));
}

/** The container endpoint of AWS calls the session token `Token`. */
function parseCredentials(text: string): Fetched<AwsCredentials> {
  const fields = parseFields(text.trim());
  const value = toCredentials(
    fields.AccessKeyId,
    fields.SecretAccessKey,
    fields.SessionToken ?? fields.Token,
  );
  if (!value) throw new Error('the token source has no AccessKeyId and SecretAccessKey');
  return { value, expires: toMoment(fields.Expiration) };
}

function toCredentials(id: unknown, secret: unknown, session: unknown): AwsCredentials | undefined {
  const isText = (value: unknown): value is string => typeof value === 'string' && /^[!-~]+$/.test(value);
  if (!isText(id) || !isText(secret)) return undefined;
  return {
    accessKeyId: id,
    secretAccessKey: secret,
    ...(isText(session) ? { sessionToken: session } : {}),
  };
}
