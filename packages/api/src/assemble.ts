/** Builds the parts of an api process from its configuration and its connections. */
import type { DescriptorWatch } from '@sluice/shared/process/descriptor-watch';
import type { Tracer } from '@sluice/shared/tracing/tracer';
import { createBatches } from './batches/create-batches.js';
import { type Cell, type CellOptions, createCell } from './cell/create-cell.js';
import type { ApiShard } from './cell/create-shard.js';
import { type CommonChat, createChat, createCommonChat } from './chat/create-chat.js';
import type { Connections } from './connect.js';
import { createFiles } from './files/create-files.js';
import { openStore, type StoreSettings } from './files/open-store.js';
import type { ObjectStore } from './files/store.js';
import { ConnectionLimit } from './http/connection-limit.js';
import { createWebhooks } from './webhooks/create-webhooks.js';

export interface AdminOptions {
  host: string;
  port: number;
  token: string;
  /** The host names of this listener, beside localhost. */
  hosts: readonly string[];
  /** The server that sends the mails of alerts. */
  smtp?: { url: string; from: string } | undefined;
  /** What gateway.yaml names as access.oidc.client_secret. */
  oidcSecret?: string | undefined;
}

export interface ApiOptions extends CellOptions {
  redisUrl: string;
  /** The archive's database, for the admin listener. */
  databaseUrl?: string | undefined;
  host: string;
  port: number;
  /** The store for the bytes of files. */
  store: StoreSettings;
  /** The requests that get a line in the log. */
  logRequests: 'all' | 'errors';
  tracer?: Tracer | undefined;
  descriptors: DescriptorWatch;
  /** What keeps Redis from its work, although it answers. */
  redisProblems(): string[];
  /** How long a command of a caller's request may take. */
  redisCommandMs?: number | undefined;
  /** Without it there is no admin listener. */
  admin?: AdminOptions;
}

export type ApiParts = Awaited<ReturnType<typeof assemble>>;

export async function assemble(options: ApiOptions, { redis, shards: [first, ...others] }: Connections) {
  const { logger, descriptors } = options;
  const { shards, ...cell } = await createCell(options, [first.redis, ...others.map((each) => each.redis)]);
  const common = createCommonChat(redis, options.live.config, cell);
  const store = await openStore(options.store);
  const connectionLimit = new ConnectionLimit(descriptors.limit, logger, () =>
    cell.apiMetrics.droppedConnection(),
  );
  return {
    ...cell,
    ...common,
    connectionLimit,
    shards: shards.map((shard) => assembleShard(shard, options, cell, common, store)),
  };
}

export type ApiShardParts = ReturnType<typeof assembleShard>;

/** What the requests of one shard pass. */
function assembleShard(
  shard: ApiShard,
  { live: { config }, logger }: ApiOptions,
  cell: Cell,
  common: CommonChat,
  store: ObjectStore,
) {
  const chat = createChat(shard, config, logger, cell, common);
  // A batch under way needs its input, although the file may be deleted.
  const heldObjects = () => batches.inputObjects();
  const files = createFiles(shard, config.files, store, cell, heldObjects);
  const { batches, runner, quotes } = createBatches(shard, config, logger, cell, common, chat, files);
  const webhooks = createWebhooks(shard, config.webhooks, logger, cell);
  return { ...shard, ...chat, files, batches, runner, quotes, webhooks };
}
