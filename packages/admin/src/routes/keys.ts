import type { Router } from '@koa/router';
import type { KeyUse } from '@sluice/api/cell/key-use';
import type { IssuedKey, KeySearch, RotatedKey } from '@sluice/shared/admin-api';
import { keyChange, keyInput, keyQuestion, rotation } from '@sluice/shared/contract/key';
import { toCamel } from '@sluice/shared/contract/names';
import { ceilingOf, DEFAULT_PRIORITY, type KeyPriority, rankOf } from '@sluice/shared/contract/priority';
import type { Infer } from '@sluice/shared/contract/structs';
import type { StoredKey } from '@sluice/shared/directory/directory';
import type { KeyDigests } from '@sluice/shared/directory/key-digests';
import { KeyIssuer, noWorkspace } from '@sluice/shared/directory/key-issuer';
import { GatewayError } from '@sluice/shared/errors';
import type { ParameterizedContext } from 'koa';
import { noteChange } from '../access/audit.js';
import { principalOf } from '../access/guard.js';
import { hasRole } from '../access/principal.js';
import { list, presentKey } from '../http/present.js';
import { readExpiry } from '../http/read-expiry.js';
import { readInput } from '../http/read-input.js';
import type { DirectoryParts } from './workspaces.js';

export interface KeyParts extends DirectoryParts {
  keyUse: KeyUse;
  digests: KeyDigests;
}

/** /workspaces/{id}/keys and /keys/{id} */
export function addKeyRoutes(
  router: Router,
  { directory, clock, digests, keyUse, readBody }: KeyParts,
): void {
  const issuer = new KeyIssuer(directory, clock, digests);

  const present = async ({ digest, key }: StoredKey) => {
    const [lastUsed = null] = await keyUse.read([digest]);
    return presentKey(key, lastUsed);
  };

  const noteBefore = async (ctx: ParameterizedContext) => {
    const stored = await directory.findKeyById(ctx.params.id ?? '');
    if (stored) noteChange(ctx, { workspace: stored.key.workspace, before: await present(stored) });
  };

  router.get('/workspaces/:id/keys', async (ctx) => {
    const id = ctx.params.id ?? '';
    if (!(await directory.findWorkspace(id))) throw noWorkspace();
    const stored = await directory.listStoredKeys(id);
    const lastUsed = await keyUse.read(stored.map(({ digest }) => digest));
    ctx.body = list(stored.map(({ key }, i) => presentKey(key, lastUsed[i] ?? null)));
  });

  router.post('/workspaces/:id/keys', readBody, async (ctx) => {
    const { value: ownValue, name, ...rest } = readInput(keyInput, ctx.request.body);
    const { expires, ...classes } = toKeyChange(rest, clock.now());
    requireMayPrefer(ctx, classes);
    const { key, digest, value } = await issuer.issue(ctx.params.id ?? '', {
      ...classes,
      name,
      expires: expires ?? undefined,
      value: ownValue,
      createdBy: principalOf(ctx).name,
    });
    const issued = await present({ digest, key });
    // A value that was a key already changes nothing.
    noteChange(ctx, value === undefined ? { before: issued, after: issued } : { after: issued });
    ctx.status = value === undefined ? 200 : 201;
    ctx.body = {
      ...issued,
      ...(value === undefined ? {} : { value }),
    } satisfies IssuedKey;
  });

  router.post('/keys/find', readBody, async (ctx) => {
    const { values } = readInput(keyQuestion, ctx.request.body);
    const found: KeySearch[] = [];
    for (const value of values) {
      const state = await issuer.find(value);
      found.push({
        object: 'key_search',
        state: state.state,
        key: state.state === 'issued' ? await present(state.stored) : null,
        revoked_at: state.state === 'revoked' ? new Date(state.revoked).toISOString() : null,
      });
    }
    ctx.body = list(found);
  });

  router.post('/keys/:id/rotate', readBody, async (ctx) => {
    const { grace_seconds: grace, expires_at: end } = readInput(rotation, ctx.request.body);
    // Null: the new key never expires. Without the field it expires when the old key would have.
    const expires = readExpiry(end, clock.now());
    await noteBefore(ctx);
    const { key, value, replaced } = await issuer.rotate(ctx.params.id ?? '', {
      graceMs: grace * 1000,
      expires,
      createdBy: principalOf(ctx).name,
    });
    noteChange(ctx, { after: { issued: presentKey(key, null), replaced: await present(replaced) } });
    ctx.status = 201;
    ctx.body = { ...presentKey(key, null), value, replaced: await present(replaced) } satisfies RotatedKey;
  });

  router.patch('/keys/:id', readBody, async (ctx) => {
    const change = toKeyChange(readInput(keyChange, ctx.request.body), clock.now());
    requireMayPrefer(ctx, change);
    await noteBefore(ctx);
    const after = await present(await issuer.change(ctx.params.id ?? '', change));
    noteChange(ctx, { after });
    ctx.body = after;
  });

  router.delete('/keys/:id', async (ctx) => {
    const id = ctx.params.id ?? '';
    await noteBefore(ctx);
    await issuer.revoke(id);
    ctx.body = { id, object: 'key', deleted: true };
  });
}

/** A class above the common one takes turns from other workspaces, so it is not for the people of one to give. */
function requireMayPrefer(ctx: ParameterizedContext, change: KeyPriority): void {
  if (rankOf(ceilingOf(change)) >= rankOf(DEFAULT_PRIORITY) || hasRole(principalOf(ctx), 'admin')) return;
  throw new GatewayError(
    'permission_denied',
    `A key with a priority above ${DEFAULT_PRIORITY} can be made by an admin of the whole gateway only.`,
  );
}

/** What is to be stored about a key. A field that was left out is left out here, too. */
function toKeyChange({ name, expires_at: end, ...classes }: Infer<typeof keyChange>, now: number) {
  const expires = readExpiry(end, now);
  return {
    ...(name === undefined ? {} : { name }),
    ...(expires === undefined ? {} : { expires }),
    ...toCamel(classes),
  };
}
