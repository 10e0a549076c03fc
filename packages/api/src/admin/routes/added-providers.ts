import { randomUUID } from 'node:crypto';
import type { Router } from '@koa/router';
import { destinationOf, readAddedProvider } from '@sluice/shared/config/added-provider';
import { entriesOf } from '@sluice/shared/config/chain';
import type { ProviderConfig } from '@sluice/shared/config/config';
import { type ConfigReader, isAbsent, type TextRule } from '@sluice/shared/config/reader';
import { ID } from '@sluice/shared/config/rules';
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
import { readInput } from '../read-input.js';

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

/** A header cannot carry any other character. */
const KEY: TextRule = {
  pattern: /^[!-~]{1,4096}$/,
  allowed: 'the provider’s key: printable ASCII without spaces, at most 4,096 characters',
};
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

  const write = async (
    ctx: ParameterizedContext,
    { name, added, before }: { name: string; added: AddedProviders; before: StoredProvider | undefined },
    provider: ProviderConfig,
    key: string | undefined,
  ) => {
    // Processes use no record that is not encrypted.
    if (!added.canSeal)
      throw new GatewayError(
        'conflict',
        'PAYLOAD_KEY is not set, so the provider could not be stored encrypted. Set PAYLOAD_KEY, or name the provider in gateway.yaml.',
      );
    const written = await added.put(name, before, provider, key);
    if (written === 'full')
      throw new GatewayError('quota_exceeded', `At most ${MOST_ADDED_PROVIDERS} providers can be added.`);
    if (written === 'changed') throw changedMeanwhile();
    noteChange(ctx, {
      ...(before?.provider ? { before: withoutKey(before.provider) } : {}),
      after: { ...withoutKey(provider), ...(key === undefined ? {} : { key: 'a new one' }) },
    });
    await takeUpAdded();
    ctx.status = before ? 200 : 201;
    ctx.body = await present(ctx, name);
  };

  router.put('/providers/:provider', readBody, async (ctx) => {
    const opened = await openToChange(ctx);
    const { before } = opened;
    const { provider, key } = readInput((reader) => {
      if (!ID.pattern.test(opened.name)) reader.mistake('name', `must be ${ID.allowed}`);
      const { api_key, ...settings } = (isMap(ctx.request.body) ? ctx.request.body : {}) as Body;
      const key = isAbsent(api_key) ? undefined : reader.text(api_key, 'api_key', KEY);
      const kept = api_key === undefined ? before?.provider?.added?.keyId : undefined;
      const provider = readAddedProvider(
        reader,
        opened.name,
        settings,
        key === undefined ? kept : randomUUID(),
      );
      if (kept !== undefined) demandSameDestination(reader, before?.provider, provider);
      return { provider, key };
    });
    if (provider) await write(ctx, opened, provider, key);
  });

  router.put('/providers/:provider/key', readBody, async (ctx) => {
    const opened = await openToChange(ctx);
    const { provider } = opened.before ?? {};
    if (!provider?.added) throw noProvider();
    const key = readInput((reader) => {
      const body = reader.fields(ctx.request.body, '', ['api_key']);
      return reader.text(body?.api_key, 'api_key', KEY);
    });
    await write(ctx, opened, { ...provider, added: { ...provider.added, keyId: randomUUID() } }, key);
  });

  router.delete('/providers/:provider', async (ctx) => {
    const { name, added, before } = await open(ctx);
    if (!before) throw isOfFile(name) ? ofFile(name) : noProvider();
    // Routes lead to the file's provider of this name, if there is one.
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
    if (before.provider) noteChange(ctx, { before: withoutKey(before.provider) });
    await takeUpAdded();
    ctx.body = { id: name, object: 'provider', deleted: true };
  });
}

interface Presenting {
  present(ctx: ParameterizedContext, name: string): Promise<unknown>;
}

type Body = Record<string, unknown>;

function isMap(body: unknown): boolean {
  return typeof body === 'object' && body !== null && !Array.isArray(body);
}

/** Otherwise an admin could have a key, which nobody may see, sent to an address of their own. */
function demandSameDestination(
  reader: ConfigReader,
  before: ProviderConfig | undefined,
  after: ProviderConfig | undefined,
): void {
  if (before && after && reader.mistakes.length === 0 && destinationOf(before) !== destinationOf(after))
    reader.mistake(
      'api_key',
      'is missing; a key is sent only to the address that it was given for, so give it again',
    );
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
function withoutKey({ name, baseUrl, path, added }: ProviderConfig) {
  const key = added?.keyId === undefined ? 'none' : 'stored';
  return { name, address: baseUrl + path, key, ...added?.settings };
}

function shown(name: string): string {
  return ID.pattern.test(name) ? name : 'of this name';
}

function ofFile(name: string): GatewayError {
  return new GatewayError('conflict', `Provider ${shown(name)} is one of gateway.yaml. Change it there.`);
}

function noProvider(): GatewayError {
  return new GatewayError('not_found', 'There is no added provider of this name.');
}

function changedMeanwhile(): GatewayError {
  return new GatewayError(
    'conflict',
    'Somebody else has just changed this provider. Look at it and try again.',
  );
}
