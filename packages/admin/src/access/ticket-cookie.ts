import type { ParameterizedContext } from 'koa';
import type { Ticket } from './oidc.js';

const TICKET_MS = 10 * 60_000;
const PART = /^[\w.~-]{16,200}$/;

/**
 * Remembers in a browser that it has begun a sign-in by OpenID Connect. Another browser cannot end that sign-in. The browser
 * has to send this cookie when the other site leads back to us, so the cookie cannot be as strict as the session's.
 */
export class TicketCookie {
  readonly #name: string;

  constructor(private readonly secure: boolean) {
    this.#name = secure ? '__Host-sluice-sign-in' : 'sluice-sign-in';
  }

  write(ctx: ParameterizedContext, { state, nonce, verifier }: Ticket): void {
    this.#set(ctx, [state, nonce, verifier].join(':'), TICKET_MS);
  }

  /** It is good for one return. */
  take(ctx: ParameterizedContext): Ticket | undefined {
    const parts = ctx.cookies.get(this.#name)?.split(':') ?? [];
    this.#set(ctx, null, 0);
    const [state, nonce, verifier] = parts;
    if (parts.length !== 3 || !parts.every((part) => PART.test(part))) return undefined;
    return { state: state ?? '', nonce: nonce ?? '', verifier: verifier ?? '' };
  }

  #set(ctx: ParameterizedContext, value: string | null, maxAge: number): void {
    ctx.cookies.secure = this.secure;
    ctx.cookies.set(this.#name, value, {
      httpOnly: true,
      sameSite: 'lax',
      secure: this.secure,
      path: '/',
      maxAge,
    });
  }
}
