import type { ParameterizedContext } from 'koa';
import { isSecret } from './secrets.js';
import { SESSION_MS } from './sessions.js';

/**
 * The cookie with a session's secret. No script can read it, and no other site can make a browser send it. If the console
 * uses TLS, the cookie is sent over TLS only, and no other host of the domain can set it (`__Host-`).
 */
export class SessionCookie {
  readonly #name: string;

  constructor(private readonly secure: boolean) {
    this.#name = secure ? '__Host-sluice-session' : 'sluice-session';
  }

  read(ctx: ParameterizedContext): string | undefined {
    const value = ctx.cookies.get(this.#name);
    return isSecret(value) ? value : undefined;
  }

  write(ctx: ParameterizedContext, secret: string): void {
    this.#set(ctx, secret, SESSION_MS);
  }

  clear(ctx: ParameterizedContext): void {
    this.#set(ctx, null, 0);
  }

  #set(ctx: ParameterizedContext, value: string | null, maxAge: number): void {
    // A proxy may end TLS, so that the connection looks plain here.
    ctx.cookies.secure = this.secure;
    ctx.cookies.set(this.#name, value, {
      httpOnly: true,
      sameSite: 'strict',
      secure: this.secure,
      path: '/',
      maxAge,
    });
  }
}
