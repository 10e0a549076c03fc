import { randomUUID } from 'node:crypto';
import type { Router } from '@koa/router';
import type { ProviderConfig } from '@sluice/shared/config/provider';
import { ONLY_KEY } from '@sluice/shared/config/provider';
import { entriesOf } from '@sluice/shared/contract/chain';
import { ID } from '@sluice/shared/contract/common';
import { secretInput } from '@sluice/shared/contract/provider';
import { takeOverQuery } from '@sluice/shared/contract/query';
import type { Directory } from '@sluice/shared/directory/directory';
import { GatewayError } from '@sluice/shared/errors';
import {
  type AddedProviders,
  MOST_ADDED_PROVIDERS,
  type StoredProvider,
} from '@sluice/shared/providers/added-providers';
import type { ProviderBatches } from '@sluice/shared/queue/provider-batches';
import type { Middleware, ParameterizedContext } from 'koa';
import { noteChange } from '../access/audit.js';
import { readInput } from '../http/read-input.js';
import {
  type ProviderChange,
  readKeyChange,
  readProviderChange,
  shownSettings,
  withoutKey,
} from './added-provider-input.js';

export interface AddedProviderParts {
  providers: ReadonlyMap<string, ProviderConfig>;
  directory: Directory;
  /** The batches that providers run. */
  handed: Pick<ProviderBatches, 'isUsing'>;
  /** Undefined: access.add_providers is false. */
  added: AddedProviders | undefined;
  /** Makes this process know what was changed. The others know it a second later. */
  takeUpAdded(): Promise<void>;
  readBody: Middleware;
}

const MOST_NAMED_ROUTES = 5;

/** /providers/{provider}: the providers beside those of gateway.yaml. */
export function addAddedProviderRoutes(
  router: Router,
  { providers, directory, handed, added, takeUpAdded, readBody, present }: AddedProviderParts & Presenting,
): void {
  const isOfFile = (name: string) => {
    const provider = providers.get(name);
    return provider !== undefined && !provider.added;
  };
  /** The store, and what it has under the name of the path. */
  const open = async (ctx: ParameterizedContext) => {
    const name: string = ctx.params.provider ?? '';
    if (!added)
      throw new GatewayError('permission_denied', 'gateway.yaml forbids it: access.add_providers is false.');
    return { name, added, before: await added.find(name) };
  };
  const openToChange = async (ctx: ParameterizedContext) => {
    const opened = await open(ctx);
    if (isOfFile(opened.name)) throw ofFile(opened.name);
    return opened;
  };

  const openExisting = async (ctx: ParameterizedContext) => {
    const opened = await openToChange(ctx);
    const { provider } = opened.before ?? {};
    if (!provider) throw noProvider();
    return { ...opened, provider };
  };

  const write = async (
    ctx: ParameterizedContext,
    { name, added, before }: { name: string; added: AddedProviders; before: StoredProvider | undefined },
    { provider, secrets }: ProviderChange,
  ) => {
    // Processes use no record that is not encrypted.
    if (!added.canSeal)
      throw new GatewayError(
        'conflict',
        'PAYLOAD_KEY is not set, so the provider could not be stored encrypted. Set PAYLOAD_KEY, or name the provider in gateway.yaml.',
      );
    // A batch has to be asked for with the key that made it.
    const lost = lostKeys(before?.provider, provider);
    if (lost.length > 0 && (await handed.isUsing(name, lost)))
      throw new GatewayError(
        'conflict',
        `A batch runs with the key ${lost.join(' or ')}. Wait for it, or cancel it first.`,
      );
    const written = await added.put(name, before, provider, secrets);
    if (written === 'full')
      throw new GatewayError('quota_exceeded', `At most ${MOST_ADDED_PROVIDERS} providers can be added.`);
    if (written === 'changed') throw changedMeanwhile();
    noteChange(ctx, {
      ...(before?.provider ? { before: withoutSecrets(before.provider) } : {}),
      after: { ...withoutSecrets(provider), ...newKeys(secrets) },
    });
    await takeUpAdded();
    ctx.status = before ? 200 : 201;
    ctx.body = await present(ctx, name);
  };

  router.put('/providers/:provider', readBody, async (ctx) => {
    const takesOver = readInput(takeOverQuery, ctx.query).take_over === 'true';
    const opened = await (takesOver ? open(ctx) : openToChange(ctx));
    await write(ctx, opened, readProviderChange(opened.name, ctx.request.body, opened.before?.provider));
  });

  router.put('/providers/:provider/key', readBody, async (ctx) => {
    const { provider, ...opened } = await openExisting(ctx);
    if (provider.keys)
      throw new GatewayError(
        'conflict',
        `Provider ${opened.name} has named keys. Replace one of them with PUT /providers/{provider}/keys/{key}, or sluice providers set-key.`,
      );
    const secrets = new Map([[ONLY_KEY, readInput(secretInput, ctx.request.body).api_key]]);
    const keyIds = new Map([[ONLY_KEY, randomUUID()]]);
    const settings = provider.added?.settings ?? {};
    await write(ctx, opened, { provider: { ...provider, added: { settings, keyIds } }, secrets });
  });

  router.put('/providers/:provider/keys/:key', readBody, async (ctx) => {
    const { provider, ...opened } = await openExisting(ctx);
    await write(ctx, opened, readKeyChange(provider, ctx.params.key ?? '', ctx.request.body));
  });

  router.delete('/providers/:provider/keys/:key', async (ctx) => {
    const { provider, ...opened } = await openExisting(ctx);
    const key: string = ctx.params.key ?? '';
    if (provider.keys?.length === 1 && provider.keys[0]?.name === key)
      throw new GatewayError(
        'conflict',
        `It is the only key of provider ${opened.name}. Replace it, or remove the provider.`,
      );
    const change = provider.keys && withoutKey(provider, key);
    if (!change) throw new GatewayError('not_found', 'The provider has no named key with this name.');
    await write(ctx, opened, change);
  });

  router.delete('/providers/:provider', async (ctx) => {
    const { name, added, before } = await open(ctx);
    if (!before) throw isOfFile(name) ? ofFile(name) : noProvider();
    // Routes lead to the file's provider with this name, if there is one.
    const users = isOfFile(name) ? [] : await routesTo(directory, name);
    if (users.length > 0)
      throw new GatewayError(
        'conflict',
        `Routes lead to provider ${name}: ${users.slice(0, MOST_NAMED_ROUTES).join(', ')}${users.length > MOST_NAMED_ROUTES ? ' and others' : ''}. Change them first.`,
      );
    // Nobody could ask the provider for the answers any more, and the batch would not end.
    if (!isOfFile(name) && (await handed.isUsing(name)))
      throw new GatewayError('conflict', `Provider ${name} runs a batch. Wait for it, or cancel it first.`);
    if ((await added.remove(name, before)) === 'changed') throw changedMeanwhile();
    if (before.provider) noteChange(ctx, { before: withoutSecrets(before.provider) });
    await takeUpAdded();
    ctx.body = { id: name, object: 'provider', deleted: true };
  });
}

interface Presenting {
  present(ctx: ParameterizedContext, name: string): Promise<unknown>;
}

/** `workspace/route`, for each route with an entry of the provider. */
async function routesTo(directory: Directory, provider: string): Promise<string[]> {
  const workspaces = await directory.listWorkspaces();
  const all = await Promise.all(
    workspaces.map(async ({ id }) =>
      [...(await directory.listRoutes(id))]
        .filter(([, { chain }]) => entriesOf(chain).some((entry) => entry.provider === provider))
        .map(([alias]) => `${id}/${alias}`),
    ),
  );
  return all.flat();
}

/** The address comes first, because the audit trail shortens what is long. */
function withoutSecrets({ name, baseUrl, path, added }: ProviderConfig) {
  const key = added?.keyIds.size ? 'stored' : 'none';
  return { name, address: baseUrl + path, key, ...shownSettings(added?.settings ?? {}) };
}

/** The names of the pool's keys that a change removes. */
function lostKeys(before: ProviderConfig | undefined, after: ProviderConfig): string[] {
  const names = [...(before?.added?.keyIds.keys() ?? [])];
  return names.filter((name) => name !== ONLY_KEY && !after.added?.keyIds.has(name));
}

/** Says which keys are new. */
function newKeys(secrets: ReadonlyMap<string, string>) {
  if (secrets.size === 0) return {};
  return secrets.has(ONLY_KEY) ? { key: 'a new one' } : { new_keys: [...secrets.keys()] };
}

function shown(name: string): string {
  return ID.pattern.test(name) ? name : 'with this name';
}

function ofFile(name: string): GatewayError {
  return new GatewayError(
    'conflict',
    `Provider ${shown(name)} is one of gateway.yaml. Change it there, or take it over with ?take_over=true (sluice providers set --take-over).`,
  );
}

function noProvider(): GatewayError {
  return new GatewayError('not_found', 'There is no added provider with this name.');
}

function changedMeanwhile(): GatewayError {
  return new GatewayError(
    'conflict',
    'Somebody else has just changed this provider. Look at it and try again.',
  );
}
