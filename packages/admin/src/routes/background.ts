import type { Router } from '@koa/router';
import {
  type BackgroundParts,
  cancelRequest,
  findRequest,
  listRequests,
  present,
} from '@sluice/api/chat/background-route';
import type { WorkspaceRecord } from '@sluice/shared/directory/directory';
import { GatewayError } from '@sluice/shared/errors';
import type { ParameterizedContext } from 'koa';
import { noteChange } from '../access/audit.js';

export interface BackgroundAdminParts extends Pick<BackgroundParts, 'expectations' | 'requestEnds'> {
  chat: Pick<BackgroundParts, 'background' | 'directory'>;
}

/** The requests in the background of a workspace, without prompts and answers. */
export function addBackgroundRoutes(router: Router, parts: BackgroundAdminParts): void {
  const { chat, expectations, requestEnds } = parts;
  const { background } = chat;
  const ownerOf = async (ctx: ParameterizedContext): Promise<WorkspaceRecord> => {
    const owner = await chat.directory.findWorkspace(ctx.params.id ?? '');
    if (!owner) throw new GatewayError('not_found', 'There is no such workspace.');
    return owner;
  };

  router.get('/workspaces/:id/background-requests', async (ctx) => {
    ctx.body = await listRequests({ background }, await ownerOf(ctx), ctx.query);
  });

  router.get('/workspaces/:id/background-requests/:request', async (ctx) => {
    const request = await findRequest({ background }, await ownerOf(ctx), ctx.params.request);
    ctx.body = present(request, request.head ? undefined : await expectations.of(request));
  });

  router.post('/workspaces/:id/background-requests/:request/cancel', async (ctx) => {
    const changed = await cancelRequest({ background, requestEnds }, await ownerOf(ctx), ctx.params.request);
    noteChange(ctx, { before: { status: 'in_progress' }, after: { status: changed.status } });
    ctx.body = changed;
  });
}
