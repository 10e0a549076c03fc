import type { Router } from '@koa/router';
import type { DirectoryCache } from '@sluice/api/cell/directory-cache';
import type { Homes } from '@sluice/api/cell/homes';
import { type ChatParts, createChatRoute } from '@sluice/api/chat/route';
import { createByShard } from '@sluice/api/http/by-shard';
import { noWorkspace } from '@sluice/shared/directory/key-issuer';
import type { DirectoryParts } from './workspaces.js';

/** The request log has this in place of a caller's key id. */
const PLAYGROUND_KEY = 'admin-playground';

export interface PlaygroundParts extends DirectoryParts {
  /** Of each shard. */
  chats: readonly ChatParts[];
  cache: DirectoryCache;
  homes: Homes;
}

/**
 * /workspaces/{id}/playground: a chat on behalf of a workspace, for operators who have none of its keys. Only the
 * authentication differs from the public endpoint. Checks, limits, queue, log entry and bill are the same.
 */
export function addPlaygroundRoutes(
  router: Router,
  { directory, readBody, chats, cache, homes }: PlaygroundParts,
): void {
  router.post(
    '/workspaces/:id/playground',
    readBody,
    async (ctx, next) => {
      const workspace = await directory.findWorkspace(ctx.params.id ?? '');
      if (!workspace) throw noWorkspace();
      ctx.state.startedAt = performance.now();
      ctx.state.key = {
        id: PLAYGROUND_KEY,
        workspace: workspace.id,
        name: PLAYGROUND_KEY,
        lastFour: '',
        created: 0,
      };
      await next();
    },
    createByShard(
      chats.map((chat) => createChatRoute(chat)),
      cache,
      homes,
    )((chat) => chat),
  );
}
