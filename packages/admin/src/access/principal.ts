/** A person or a program, and what they may do. */
import type { Grant } from '@sluice/shared/config/gateway-config';
import { ROLES, type Role } from '@sluice/shared/contract/access';

export interface Principal {
  /** The name that people see: an e-mail address, the name of a token, or `root token`. */
  name: string;
  /** How they were recognised. */
  via: 'root' | 'token' | 'oidc' | 'proxy';
  /** The id of an admin token. */
  tokenId?: string;
  grants: readonly Grant[];
}

/** The holder of ADMIN_TOKEN. */
export const ROOT: Principal = { name: 'root token', via: 'root', grants: [{ role: 'admin' }] };

/** Whether they have the role in the workspace, or without one, for the whole gateway. */
export function hasRole({ grants }: Principal, role: Role, workspace?: string): boolean {
  return grants.some(
    (grant) =>
      isAtLeast(grant.role, role) &&
      (grant.workspaces === undefined || (workspace !== undefined && grant.workspaces.includes(workspace))),
  );
}

export function hasRoleSomewhere({ grants }: Principal, role: Role): boolean {
  return grants.some((grant) => isAtLeast(grant.role, role));
}

/** The workspaces in which they have this role. Undefined: all. */
export function workspacesOf({ grants }: Principal, role: Role): ReadonlySet<string> | undefined {
  const own = grants.filter((grant) => isAtLeast(grant.role, role)).map(({ workspaces }) => workspaces);
  return own.includes(undefined) ? undefined : new Set(own.flatMap((ids) => ids ?? []));
}

function isAtLeast(role: Role, least: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(least);
}
