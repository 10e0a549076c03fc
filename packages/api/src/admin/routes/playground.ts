import type { Router } from '@koa/router';
import { noWorkspace } from '@sluice/shared/directory/key-issuer';
import { type ChatParts, createChatRoute } from '../../chat/route.js';
import type { DirectoryParts } from './workspaces.js';

/** Stands in the request log where a caller's key id does. */
const PLAYGROUND_KEY = 'admin-playground';

export interface PlaygroundParts extends DirectoryParts {
  chat: ChatParts;
}

/**
 * /workspaces/{id}/playground: a chat on behalf of a workspace, for operators who hold none of its keys. It is the public
 * endpoint but for who may ask: the same checks, limits, queue, log entry and bill.
 */
export function addPlaygroundRoutes(router: Router, { directory, readBody, chat }: PlaygroundParts): void {
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
    createChatRoute(chat),
  );
}
