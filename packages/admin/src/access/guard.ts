/** Enforces the table of permissions on every route. */
import type { Router } from '@koa/router';
import { ID } from '@sluice/shared/contract/common';
import type { Directory } from '@sluice/shared/directory/directory';
import { noWorkspace } from '@sluice/shared/directory/key-issuer';
import { GatewayError } from '@sluice/shared/errors';
import type { Middleware, ParameterizedContext } from 'koa';
import type { Admitted } from './asker.js';
import { type Permission, permissionOf } from './permissions.js';
import { hasRole, hasRoleSomewhere, type Principal, workspacesOf } from './principal.js';

/** Puts a check before each route's handlers, and wraps both with the middleware that `around` returns. */
export function guardRoutes(
  router: Router,
  directory: Directory,
  around: (name: string, permission: Permission) => Middleware,
): void {
  for (const layer of router.stack) {
    const [method, ...others] = layer.methods.filter((each) => each !== 'HEAD');
    const name = `${method} ${String(layer.path).replaceAll(/[:*](\w+)/g, '{$1}')}`;
    const permission = permissionOf(name);
    if (others.length > 0) throw new Error(`${name} has more than one method`);
    layer.stack.unshift(around(name, permission), createGuard(permission, directory));
  }
}

export function createGuard(permission: Permission, directory: Directory): Middleware {
  return async (ctx, next) => {
    await demand(permission, directory, principalOf(ctx), ctx);
    return next();
  };
}

/** The workspaces that the asker may see. Undefined: all. */
export function seenBy(ctx: ParameterizedContext): ReadonlySet<string> | undefined {
  return workspacesOf(principalOf(ctx), 'viewer');
}

export function principalOf(ctx: ParameterizedContext): Principal {
  return (ctx.state as Admitted).asker.principal;
}

async function demand(
  { role, scope }: Permission,
  directory: Directory,
  principal: Principal,
  ctx: ParameterizedContext,
): Promise<void> {
  const id: string = ctx.params?.id ?? '';
  if (scope === 'gateway') return refuseUnless(hasRole(principal, role));
  if (scope === 'somewhere') return refuseUnless(hasRoleSomewhere(principal, role));
  // For somebody who sees all workspaces, the route itself says that the key does not exist.
  if (scope === 'key' && !hasRole(principal, role)) {
    const workspace = (await directory.findKeyById(id))?.key.workspace;
    if (workspace === undefined || !hasRole(principal, 'viewer', workspace))
      throw new GatewayError('not_found', 'There is no key with this id.');
    return refuseUnless(hasRole(principal, role, workspace));
  }
  if (scope === 'workspace') {
    // Somebody without a role in a workspace gets the same answer as for a workspace that does not exist.
    if (!ID.pattern.test(id) || !hasRole(principal, 'viewer', id)) throw noWorkspace();
    refuseUnless(hasRole(principal, role, id));
  }
}

function refuseUnless(allowed: boolean): void {
  if (!allowed)
    throw new GatewayError(
      'permission_denied',
      'You are not allowed to do this. GET /session says what you are, and GET /openapi.json what each path needs.',
    );
}
