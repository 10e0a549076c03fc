/**
 * The permissions: one line for each path of the admin api. The listener does not start when a path has no line, so that
 * nothing is open by oversight. GET /openapi.json says the same, and a test tries every path with every role.
 */
import type { Role } from '@sluice/shared/contract/access';

/**
 * Where the asker needs the role. `gateway`: for all workspaces and what they share. `workspace`: in the workspace that the
 * path names. `key`: in the workspace whose key the path names. `somewhere`: in any workspace; the answer has only theirs.
 */
export type Scope = 'gateway' | 'workspace' | 'key' | 'somewhere';

export interface Permission {
  role: Role;
  scope: Scope;
  /** A path that changes nothing although it is not a GET. It is not in the audit trail. */
  readsOnly?: true;
}

const may = (role: Role, scope: Scope): Permission => ({ role, scope });

export const PERMISSIONS: Readonly<Record<string, Permission>> = {
  'GET /workspaces': may('viewer', 'somewhere'),
  'POST /workspaces': may('admin', 'gateway'),
  'GET /workspaces/{id}': may('viewer', 'workspace'),
  // With the next three a workspace could give itself a larger budget or other models.
  'PATCH /workspaces/{id}': may('admin', 'gateway'),
  'PUT /workspaces/{id}/limits': may('admin', 'gateway'),
  'PATCH /workspaces/{id}/limits': may('admin', 'gateway'),
  'DELETE /workspaces/{id}': may('admin', 'gateway'),
  'POST /workspaces/{id}/move': may('admin', 'gateway'),
  'GET /workspaces/{id}/limits': may('viewer', 'workspace'),
  'GET /workspaces/{id}/budgets': may('viewer', 'workspace'),
  'GET /workspaces/{id}/months': may('viewer', 'workspace'),
  'DELETE /workspaces/{id}/users/{user}': may('admin', 'workspace'),
  'GET /workspaces/{id}/statement': may('viewer', 'workspace'),
  'GET /workspaces/{id}/keys': may('viewer', 'workspace'),
  'POST /workspaces/{id}/keys': may('admin', 'workspace'),
  // The answer tells which workspace any given key belongs to.
  'POST /keys/find': { role: 'admin', scope: 'gateway', readsOnly: true },
  'PATCH /keys/{id}': may('admin', 'key'),
  'DELETE /keys/{id}': may('admin', 'key'),
  'POST /keys/{id}/rotate': may('admin', 'key'),
  'GET /workspaces/{id}/routes': may('viewer', 'workspace'),
  'GET /workspaces/{id}/routes/{alias}': may('viewer', 'workspace'),
  'PUT /workspaces/{id}/routes/{alias}': may('operator', 'workspace'),
  'DELETE /workspaces/{id}/routes/{alias}': may('operator', 'workspace'),
  'POST /workspaces/{id}/playground': may('operator', 'workspace'),
  'GET /models': may('viewer', 'somewhere'),
  'PUT /models/{provider}/{id}': may('admin', 'gateway'),
  'DELETE /models/{provider}/{id}': may('admin', 'gateway'),
  'POST /models/refresh': may('admin', 'gateway'),
  'GET /requests': may('viewer', 'somewhere'),
  'GET /requests/{id}': may('viewer', 'somewhere'),
  'GET /requests/follow': may('viewer', 'somewhere'),
  'GET /requests/export': may('viewer', 'somewhere'),
  'GET /spend': may('viewer', 'somewhere'),
  'GET /reconciliations': may('viewer', 'gateway'),
  'GET /reconciliations/{provider}/{month}': may('viewer', 'gateway'),
  'POST /reconciliations': may('admin', 'gateway'),
  'GET /budgets': may('viewer', 'somewhere'),
  'GET /savings': may('viewer', 'somewhere'),
  'GET /batches': may('viewer', 'somewhere'),
  'POST /workspaces/{id}/batch-quote': { role: 'operator', scope: 'workspace', readsOnly: true },
  'POST /workspaces/{id}/batches/{batch}/cancel': may('operator', 'workspace'),
  'GET /workspaces/{id}/background-requests': may('viewer', 'workspace'),
  'GET /workspaces/{id}/background-requests/{request}': may('viewer', 'workspace'),
  'POST /workspaces/{id}/background-requests/{request}/cancel': may('operator', 'workspace'),
  // Prompts and answers are in it.
  'GET /workspaces/{id}/files/{file}/content': may('operator', 'workspace'),
  // Addresses may have a secret in them.
  'GET /workspaces/{id}/webhooks': may('operator', 'workspace'),
  'POST /workspaces/{id}/webhooks': may('operator', 'workspace'),
  'DELETE /workspaces/{id}/webhooks/{webhook}': may('operator', 'workspace'),
  'POST /workspaces/{id}/webhooks/{webhook}/test': may('operator', 'workspace'),
  'GET /workspaces/{id}/webhook-deliveries': may('viewer', 'workspace'),
  'POST /workspaces/{id}/webhook-deliveries/{delivery}/resend': may('operator', 'workspace'),
  'GET /alerts': may('viewer', 'gateway'),
  'POST /alerts': may('operator', 'gateway'),
  'PATCH /alerts/{alert}': may('operator', 'gateway'),
  'DELETE /alerts/{alert}': may('operator', 'gateway'),
  'POST /alerts/{alert}/test': may('operator', 'gateway'),
  'GET /alert-notices': may('viewer', 'gateway'),
  'GET /traffic': may('viewer', 'somewhere'),
  'GET /refusals': may('viewer', 'somewhere'),
  'GET /attempts': may('viewer', 'somewhere'),
  'GET /directory': may('viewer', 'somewhere'),
  'GET /catalogue': may('viewer', 'somewhere'),
  'GET /status': may('viewer', 'somewhere'),
  'GET /cooldowns': may('viewer', 'somewhere'),
  'DELETE /cooldowns/{provider}': may('operator', 'gateway'),
  'GET /queues': may('viewer', 'gateway'),
  'POST /queues/{provider}/pause': may('operator', 'gateway'),
  'POST /queues/{provider}/resume': may('operator', 'gateway'),
  'POST /reload': may('operator', 'gateway'),
  'GET /shards': may('viewer', 'gateway'),
  'PATCH /shards/{shard}': may('admin', 'gateway'),
  'DELETE /shards/{shard}': may('admin', 'gateway'),
  'GET /providers': may('viewer', 'somewhere'),
  // A provider is an address to which prompts are sent.
  'PUT /providers/{provider}': may('admin', 'gateway'),
  'PUT /providers/{provider}/key': may('admin', 'gateway'),
  'PUT /providers/{provider}/keys/{key}': may('admin', 'gateway'),
  'DELETE /providers/{provider}/keys/{key}': may('admin', 'gateway'),
  'DELETE /providers/{provider}': may('admin', 'gateway'),
  'POST /providers/{provider}/test': may('operator', 'gateway'),
  'GET /tokens': may('admin', 'gateway'),
  'POST /tokens': may('admin', 'gateway'),
  'DELETE /tokens/{id}': may('admin', 'gateway'),
  'GET /sessions': may('admin', 'gateway'),
  'DELETE /sessions/{id}': may('admin', 'gateway'),
  'GET /audit': may('admin', 'somewhere'),
  'GET /audit/export': may('admin', 'somewhere'),
  'POST /sign-in-links': may('viewer', 'somewhere'),
  'GET /openapi.json': may('viewer', 'somewhere'),
};

export function permissionOf(name: string): Permission {
  const permission = PERMISSIONS[name];
  if (!permission) throw new Error(`there is no permission for ${name}`);
  return permission;
}
