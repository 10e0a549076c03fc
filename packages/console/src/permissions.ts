/** The rights of each role. The gateway enforces them. The console only leaves out buttons that the gateway would refuse. */
import type { PresentedGrant } from '@sluice/shared/admin-api';
import type { Person } from './signed-in.js';
import { useSession } from './use-poll.js';

type Role = PresentedGrant['role'];

const RANK: Readonly<Record<Role, number>> = { viewer: 0, operator: 1, admin: 2 };

/** Whether they have the role in the workspace, or without one, for the whole gateway. */
export function hasRole({ grants }: Person, role: Role, workspace?: string): boolean {
  return grants.some(
    (grant) =>
      RANK[grant.role] >= RANK[role] &&
      (grant.workspaces === null || (workspace !== undefined && grant.workspaces.includes(workspace))),
  );
}

export function hasRoleSomewhere({ grants }: Person, role: Role): boolean {
  return grants.some((grant) => RANK[grant.role] >= RANK[role]);
}

/** Asks for the person who is signed in. */
export function useMay(): (role: Role, workspace?: string) => boolean {
  const { person } = useSession();
  return (role, workspace) => hasRole(person, role, workspace);
}
