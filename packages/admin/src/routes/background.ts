import type { Router } from '@koa/router';
import { cancelRequest, findRequest, listRequests, present } from '@sluice/api/chat/background-route';
import type { Directory, WorkspaceRecord } from '@sluice/shared/directory/directory';
import { GatewayError } from '@sluice/shared/errors';
import type { ParameterizedContext } from 'koa';
import { noteChange } from '../access/audit.js';
import type { AdminShards } from '../shards.js';

export interface BackgroundAdminParts {
  shards: AdminShards;
  directory: Pick<Directory, 'findWorkspace'>;
}

/** The requests in the background of a workspace, without prompts and answers. */
export function addBackgroundRoutes(router: Router, { shards, directory }: BackgroundAdminParts): void {
  const ownerOf = async (ctx: ParameterizedContext): Promise<WorkspaceRecord> => {
    const owner = await directory.findWorkspace(ctx.params.id ?? '');
    if (!owner) throw new GatewayError('not_found', 'There is no such workspace.');
    return owner;
  };

  router.get('/workspaces/:id/background-requests', async (ctx) => {
    const owner = await ownerOf(ctx);
    ctx.body = await listRequests(shards.at(owner), owner, ctx.query);
  });

  router.get('/workspaces/:id/background-requests/:request', async (ctx) => {
    const owner = await ownerOf(ctx);
    const shard = shards.at(owner);
    const request = await findRequest(shard, owner, ctx.params.request);
    ctx.body = present(request, request.head ? undefined : await shard.expectations.of(request));
  });

  router.post('/workspaces/:id/background-requests/:request/cancel', async (ctx) => {
    const owner = await ownerOf(ctx);
    const changed = await cancelRequest(shards.at(owner), owner, ctx.params.request);
    noteChange(ctx, { before: { status: 'in_progress' }, after: { status: changed.status } });
    ctx.body = changed;
  });
}
