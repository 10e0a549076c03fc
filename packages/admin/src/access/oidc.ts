/**
 * Sign-in by OpenID Connect: the code flow, with PKCE, state and nonce. What somebody may do follows from their groups. The
 * provider's own description is fetched at the first sign-in and kept. A fetch that fails is made again at the next sign-in.
 */
import type { Grant, OidcConfig } from '@sluice/shared/config/gateway-config';
import * as client from 'openid-client';
import { cleanName, grantsOf } from './groups.js';
import type { Principal } from './principal.js';

/** Of each request to the provider. */
const TIMEOUT_S = 10;

/** Facts that have to be known again when the provider sends somebody back. */
export interface Ticket {
  state: string;
  nonce: string;
  verifier: string;
}

export interface OidcParts {
  config: OidcConfig;
  clientSecret: string | undefined;
  /** Where the provider sends people back to. */
  returnUrl: string;
  groups: ReadonlyMap<string, Grant>;
  timeoutS?: number;
}

export class OidcSignIn {
  #provider: Promise<client.Configuration> | undefined;

  constructor(private readonly parts: OidcParts) {}

  get label(): string {
    return this.parts.config.label;
  }

  async begin(): Promise<{ url: string; ticket: Ticket }> {
    const ticket: Ticket = {
      state: client.randomState(),
      nonce: client.randomNonce(),
      verifier: client.randomPKCECodeVerifier(),
    };
    const url = client.buildAuthorizationUrl(await this.#find(), {
      redirect_uri: this.parts.returnUrl,
      scope: this.parts.config.scopes,
      code_challenge: await client.calculatePKCECodeChallenge(ticket.verifier),
      code_challenge_method: 'S256',
      state: ticket.state,
      nonce: ticket.nonce,
    });
    return { url: url.href, ticket };
  }

  /** `query` is what the provider sent people back with. Throws unless all of it is right. */
  async finish(query: string, { state, nonce, verifier }: Ticket): Promise<Principal> {
    const provider = await this.#find();
    const url = new URL(this.parts.returnUrl);
    url.search = query;
    const tokens = await client.authorizationCodeGrant(provider, url, {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: verifier,
      idTokenExpected: true,
    });
    const claims = tokens.claims();
    if (!claims) throw new Error('the provider sent no ID token');
    const { groupsClaim } = this.parts.config;
    // Many providers put groups only where the access token leads to.
    const hasMore =
      claimOf(claims, groupsClaim) === undefined && provider.serverMetadata().userinfo_endpoint !== undefined;
    const more = hasMore ? await client.fetchUserInfo(provider, tokens.access_token, claims.sub) : {};
    const all = { ...more, ...claims };
    return {
      name: nameOf(all) || claims.sub.slice(0, 256),
      via: 'oidc',
      grants: grantsOf(textsOf(claimOf(all, groupsClaim)), this.parts.groups),
    };
  }

  /** Asked for when it is first needed, and again after a failure: the gateway starts without it. */
  #find(): Promise<client.Configuration> {
    this.#provider ??= this.#discover().catch((error: unknown) => {
      this.#provider = undefined;
      throw error;
    });
    return this.#provider;
  }

  async #discover(): Promise<client.Configuration> {
    const { config, clientSecret } = this.parts;
    // gateway.yaml takes an address without TLS on this machine only.
    const insecure = config.issuer.startsWith('http:') ? [client.allowInsecureRequests] : [];
    // The ID token comes from the provider itself. Its signature is checked all the same: a proxy between may be hostile.
    const execute = [client.enableNonRepudiationChecks, ...insecure];
    const options = { execute, timeout: this.parts.timeoutS ?? TIMEOUT_S };
    const server = new URL(config.issuer);
    const found = await client.discovery(server, config.clientId, undefined, client.None(), options);
    if (clientSecret === undefined) return found;
    const metadata = found.serverMetadata();
    const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const proof = methods.includes('client_secret_basic')
      ? client.ClientSecretBasic(clientSecret)
      : client.ClientSecretPost(clientSecret);
    const configuration = new client.Configuration(metadata, config.clientId, clientSecret, proof);
    configuration.timeout = options.timeout;
    for (const allow of execute) allow(configuration);
    return configuration;
  }
}

type Claims = Readonly<Record<string, unknown>>;

/** By its name, or by a path such as `realm_access.roles`. */
function claimOf(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  return name
    .split('.')
    .reduce<unknown>(
      (value, part) =>
        typeof value === 'object' && value !== null && Object.hasOwn(value, part)
          ? (value as Claims)[part]
          : undefined,
      claims,
    );
}

function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return value.split(/[\s,]+/);
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
}

/** An address that the provider has not verified could be anybody's. */
function nameOf({ email, email_verified, preferred_username }: Claims): string {
  const name = email_verified === false || typeof email !== 'string' ? preferred_username : email;
  return typeof name === 'string' ? cleanName(name) : '';
}
