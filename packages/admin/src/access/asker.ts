import type { Principal } from './principal.js';
import type { Session } from './sessions.js';

export interface Asker {
  principal: Principal;
  /** Undefined for somebody who sent a token, or whom a proxy named. */
  session?: Session;
}

/** The part of `ctx.state` that the routes read. */
export interface Admitted {
  asker: Asker;
}
