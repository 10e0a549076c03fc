import type { ParameterizedContext } from 'koa';
import type { Ticket } from './oidc.js';

const TICKET_MS = 10 * 60_000;
const PART = /^[\w.~-]{16,200}$/;

/**
 * Remembers a sign-in by OpenID Connect that has begun, in the browser that began it: whoever comes back in another browser
 * is not let in. It has to be sent when another site leads back to us, so that it cannot be as strict as the session's.
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
