import type { Router } from '@koa/router';
import type { OpenSession } from '@sluice/shared/admin-api';
import { GatewayError } from '@sluice/shared/errors';
import type { ParameterizedContext } from 'koa';
import type { AdminAuthentication } from '../access/admin-authentication.js';
import type { Admitted } from '../access/asker.js';
import { noteChange } from '../access/audit.js';
import type { Session, Sessions } from '../access/sessions.js';
import { iso, list } from '../http/present.js';
import { presentGrants } from './session.js';

export interface OpenSessionParts {
  authentication: AdminAuthentication;
  sessions: Sessions;
}

/** /sessions: the browsers that are signed in. */
export function addOpenSessionRoutes(router: Router, { authentication, sessions }: OpenSessionParts): void {
  router.get('/sessions', async (ctx) => {
    const open: OpenSession[] = [];
    for (const session of await sessions.list())
      if (await authentication.isAlive(session.principal)) open.push(present(session, ctx));
    ctx.body = list(open);
  });

  router.delete('/sessions/:id', async (ctx) => {
    const id = ctx.params.id ?? '';
    const ended = await sessions.endById(id);
    if (!ended) throw new GatewayError('not_found', 'There is no session with this id.');
    noteChange(ctx, { before: present(ended, ctx) });
    ctx.body = { id, object: 'open_session', deleted: true };
  });
}

function present(session: Session, ctx: ParameterizedContext): OpenSession {
  const { id, principal, way, address, created, seen, expires } = session;
  return {
    id,
    object: 'open_session',
    name: principal.name,
    way,
    grants: presentGrants(principal),
    address,
    signed_in_at: iso(created),
    seen_at: iso(seen),
    expires_at: iso(expires),
    own: (ctx.state as Admitted).asker.session?.id === id,
  };
}
