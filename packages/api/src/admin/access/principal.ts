/** Who asks, and what they may do: a person or a program. */
import type { Grant } from '@sluice/shared/config/types';

export interface Principal {
  /** Shown to people: an address of e-mail, the name of a token, or `root token`. */
  name: string;
  /** Where we know them from. */
  via: 'root' | 'token' | 'oidc' | 'proxy';
  /** Of an admin token. */
  tokenId?: string;
  grants: readonly Grant[];
}

/** Whoever has ADMIN_TOKEN. */
export const ROOT: Principal = { name: 'root token', via: 'root', grants: [{ role: 'admin' }] };
