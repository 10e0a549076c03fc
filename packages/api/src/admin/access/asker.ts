import type { Principal } from './principal.js';
import type { Session } from './sessions.js';

export interface Asker {
  principal: Principal;
  /** Undefined for one who sent a token, or whom a proxy named. */
  session?: Session;
}

/** What the routes find in `ctx.state`. */
export interface Admitted {
  asker: Asker;
}
