/** Builds the parts of an api process from its configuration and its connections. */
import type { DescriptorWatch } from '@sluice/shared/process/descriptor-watch';
import type { Tracer } from '@sluice/shared/tracing/tracer';
import { createBatches } from './batches/create-batches.js';
import { type CellOptions, createCell } from './cell/create-cell.js';
import { createChat } from './chat/create-chat.js';
import type { Connections } from './connect.js';
import { createFiles } from './files/create-files.js';
import type { StoreSettings } from './files/open-store.js';
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

export async function assemble(options: ApiOptions, { redis }: Connections) {
  const { logger, descriptors } = options;
  const { config } = options.live;
  const cell = await createCell(options, redis);
  const chat = createChat(redis, config, logger, cell);
  // A batch under way needs its input, although the file may be deleted.
  const heldObjects = () => batches.inputObjects();
  const files = await createFiles(redis, config.files, options.store, cell, heldObjects);
  const { batches, runner, quotes } = createBatches(redis, config, logger, cell, chat, files);
  const webhooks = createWebhooks(redis, config.webhooks, logger, cell);
  const connectionLimit = new ConnectionLimit(descriptors.limit, logger, () =>
    cell.apiMetrics.droppedConnection(),
  );
  return { ...cell, ...chat, files, batches, runner, quotes, webhooks, connectionLimit };
}
