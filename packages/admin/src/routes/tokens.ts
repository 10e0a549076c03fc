import type { Router } from '@koa/router';
import type { AdminToken, IssuedToken } from '@sluice/shared/admin-api';
import { tokenInput } from '@sluice/shared/contract/access';
import { GatewayError } from '@sluice/shared/errors';
import type { Clock } from '@sluice/shared/redis/clock';
import type { Middleware } from 'koa';
import type { AdminTokens, TokenRecord } from '../access/admin-tokens.js';
import { noteChange } from '../access/audit.js';
import { principalOf } from '../access/guard.js';
import { iso, isoOrNull, list } from '../http/present.js';
import { readExpiry } from '../http/read-expiry.js';
import { readInput } from '../http/read-input.js';

export interface TokenParts {
  tokens: AdminTokens;
  clock: Clock;
  readBody: Middleware;
}

/** /tokens: the tokens by which programs use the admin api. */
export function addTokenRoutes(router: Router, { tokens, clock, readBody }: TokenParts): void {
  router.get('/tokens', async (ctx) => {
    ctx.body = list((await tokens.list()).map(({ token, lastUsed }) => present(token, lastUsed)));
  });

  router.post('/tokens', readBody, async (ctx) => {
    const { name, role, workspaces, expires_at: end } = readInput(tokenInput, ctx.request.body);
    const { token, value } = await tokens.create({
      name,
      grant: { role, ...(workspaces ? { workspaces } : {}) },
      expires: readExpiry(end, clock.now()) ?? undefined,
      createdBy: principalOf(ctx).name,
    });
    const presented = present(token, null);
    noteChange(ctx, { after: presented });
    ctx.status = 201;
    ctx.body = { ...presented, value } satisfies IssuedToken;
  });

  router.delete('/tokens/:id', async (ctx) => {
    const id = ctx.params.id ?? '';
    const revoked = await tokens.revoke(id);
    if (!revoked) throw new GatewayError('not_found', 'There is no token with this id.');
    noteChange(ctx, { before: present(revoked, null) });
    ctx.body = { id, object: 'token', deleted: true };
  });
}

function present(token: TokenRecord, lastUsed: number | null): AdminToken {
  return {
    id: token.id,
    object: 'token',
    name: token.name,
    role: token.grant.role,
    workspaces: token.grant.workspaces ?? null,
    last_four: token.lastFour,
    created_at: iso(token.created),
    created_by: token.createdBy,
    last_used_at: isoOrNull(lastUsed),
    expires_at: isoOrNull(token.expires),
  };
}
