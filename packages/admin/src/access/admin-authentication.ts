/**
 * Finds out who asks. A program sends a token with each request. A browser has a session and sends its cookie by itself,
 * even when a page of another site makes the request. So a change by cookie needs a header that no other site can set.
 */

import type { WrongKeys } from '@sluice/api/http/wrong-keys';
import { GatewayError } from '@sluice/shared/errors';
import type { Middleware, ParameterizedContext } from 'koa';
import type { AdminTokens } from './admin-tokens.js';
import type { Admitted, Asker } from './asker.js';
import { type AuditTrail, entryOf } from './audit.js';
import { addressOf } from './client-address.js';
import { type Principal, ROOT } from './principal.js';
import type { ProxyPeople } from './proxy-person.js';
import { isSame } from './secrets.js';
import type { SessionCookie } from './session-cookie.js';
import type { Session, Sessions, SignInWay } from './sessions.js';

/** Before a browser sends this header for a page of another origin, it asks for permission, which it does not get. */
export const CONSOLE_HEADER = 'x-sluice-console';

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

export interface AdminAuthenticationParts {
  rootToken: string;
  sessions: Sessions;
  cookie: SessionCookie;
  tokens: AdminTokens;
  audit: AuditTrail;
  wrongKeys: WrongKeys;
  proxyPeople: ProxyPeople;
  countSignIn(way: string, outcome: 'done' | 'refused'): void;
}

export class AdminAuthentication {
  constructor(private readonly parts: AdminAuthenticationParts) {}

  /** Undefined when nobody is signed in. Throws for a wrong token, and for a change that another page may have made. */
  async whoAsks(ctx: ParameterizedContext): Promise<Asker | undefined> {
    const authorization = ctx.get('authorization').trim();
    if (authorization !== '') return { principal: await this.#byHeader(ctx, authorization) };
    const asker = await this.whoBrowses(ctx);
    if (asker && !READS.has(ctx.method)) requireConsole(ctx);
    return asker;
  }

  /** The person who is signed in here, or at a trusted proxy. */
  async whoBrowses(ctx: ParameterizedContext): Promise<Asker | undefined> {
    const session = await this.#findSession(ctx);
    if (session) return { principal: session.principal, session };
    const principal = this.parts.proxyPeople.find(ctx);
    return principal && { principal };
  }

  /** Always a new session: one that the browser had before is over. */
  async signIn(ctx: ParameterizedContext, principal: Principal, way: SignInWay): Promise<Asker> {
    await this.signOut(ctx);
    const { secret, session } = await this.parts.sessions.begin(principal, way, addressOf(ctx));
    this.parts.cookie.write(ctx, secret);
    const asker = { principal, session };
    ctx.state.asker = asker;
    await this.#note(ctx, way, 201, principal.name);
    return asker;
  }

  async signOut(ctx: ParameterizedContext): Promise<void> {
    const secret = this.parts.cookie.read(ctx);
    if (secret !== undefined) await this.parts.sessions.end(secret);
    this.parts.cookie.clear(ctx);
  }

  async #findSession(ctx: ParameterizedContext): Promise<Session | undefined> {
    const secret = this.parts.cookie.read(ctx);
    const session = secret === undefined ? undefined : await this.parts.sessions.find(secret);
    return session && (await this.isAlive(session.principal)) ? session : undefined;
  }

  /** A session or a link ends with the token that it was made with. */
  async isAlive({ tokenId }: Principal): Promise<boolean> {
    return tokenId === undefined || this.parts.tokens.isAlive(tokenId);
  }

  /** Answers slowly when an address has sent many wrong tokens. */
  async byToken(ctx: ParameterizedContext, token: string): Promise<Principal> {
    if (isSame(token, this.parts.rootToken)) return ROOT;
    return (await this.parts.tokens.find(token)) ?? this.refuse(ctx, 'token');
  }

  async refuse(ctx: ParameterizedContext, way: SignInWay, refusal = unknownAsker()): Promise<never> {
    await this.noteRefusal(ctx, way, refusal.status);
    throw refusal;
  }

  /** Takes longer the more an address is refused. */
  async noteRefusal(ctx: ParameterizedContext, way: SignInWay, status: number, who?: string): Promise<void> {
    await this.parts.wrongKeys.slowDown(addressOf(ctx));
    await this.#note(ctx, way, status, who ?? null);
  }

  async #note(ctx: ParameterizedContext, way: SignInWay, status: number, who: string | null): Promise<void> {
    this.parts.countSignIn(way, status < 400 ? 'done' : 'refused');
    await this.parts.audit.write('sign_ins', { ...entryOf(ctx, `sign in by ${way}`), who, status });
  }

  async #byHeader(ctx: ParameterizedContext, authorization: string): Promise<Principal> {
    const [, token = ''] = /^bearer +(.*)$/i.exec(authorization) ?? [];
    if (token === '') throw unknownAsker();
    return this.byToken(ctx, token);
  }
}

/** Runs before the routes, so that nobody learns the paths without signing in. */
export function createAdmit(authentication: AdminAuthentication): Middleware<Admitted> {
  return async (ctx, next) => {
    const asker = await authentication.whoAsks(ctx);
    if (asker) {
      ctx.state.asker = asker;
      return next();
    }
    // A person has followed a link or typed an address, and can sign in at the console.
    if (ctx.get('sec-fetch-dest') !== 'document') throw unknownAsker();
    ctx.status = 303;
    ctx.redirect('/');
  };
}

/** Throws unless the request comes from the console. */
export function requireConsole(ctx: ParameterizedContext): void {
  const site = ctx.get('sec-fetch-site');
  if (ctx.get(CONSOLE_HEADER) === '' || (site !== '' && site !== 'same-origin'))
    throw new GatewayError(
      'permission_denied',
      `A change by a signed-in browser has to come from the console, with the header ${CONSOLE_HEADER}.`,
    );
}

function unknownAsker(): GatewayError {
  const message =
    'Incorrect or missing admin token. Send it as "Authorization: Bearer <ADMIN_TOKEN>", or sign in to the console.';
  return new GatewayError('invalid_api_key', message, { headers: { 'www-authenticate': 'Bearer' } });
}
