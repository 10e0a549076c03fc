/** /v1/batches, as the official SDKs call it. */
import { BATCH_ENDPOINTS, isBatchEndpoint } from '@sluice/shared/contract/batch';
import { LONGEST_DEADLINE_MS } from '@sluice/shared/contract/common';
import { GatewayError } from '@sluice/shared/errors';
import { EMBEDDINGS } from '@sluice/shared/process/protocol';
import type { Clock } from '@sluice/shared/redis/clock';
import { makeRequestId } from '@sluice/shared/request-id';
import type { Middleware } from 'koa';
import type { DirectoryCache } from '../cell/directory-cache.js';
import { durationMs } from '../chat/deadline.js';
import type { Files } from '../files/files.js';
import { readExpiry } from '../files/routes.js';
import type { Authenticated } from '../http/authenticate.js';
import { findOutWhenGone } from '../http/half-closed.js';
import { readPage } from '../http/page.js';
import { parseJson } from '../http/parse-json.js';
import type { Received } from '../http/read-text.js';
import { type Batch, type BatchRecord, toBatchObject } from './batch-record.js';
import type { BatchStore } from './batch-store.js';
import type { Quotes } from './quotes.js';

const SHORTEST_WINDOW_MS = 15 * 60_000;
const MAX_PAIRS = 16;
const MAX_KEY_LENGTH = 64;
const MAX_VALUE_LENGTH = 512;
const PAGE = { standard: 20, most: 100 };

export interface BatchesParts {
  batches: BatchStore;
  quotes: Quotes;
  files: Files;
  directory: DirectoryCache;
  clock: Clock;
  maxActiveBatches: number;
  /** The newest protocol that all api processes understand. */
  apiProtocol(): number;
}

export function createBatchesRoutes(parts: BatchesParts) {
  const { batches, quotes, files, directory, clock, maxActiveBatches, apiProtocol } = parts;

  async function find(workspace: string, id: string): Promise<Batch> {
    const batch = await batches.find(id);
    if (batch?.record.workspace !== workspace)
      throw new GatewayError('not_found', 'There is no such batch.', { param: 'batch_id' });
    return batch;
  }

  const create: Middleware<Authenticated & Received> = async (ctx) => {
    const { workspace, id: keyId } = ctx.state.key;
    const wanted = readBatch(parseJson(ctx.state.bodyText));
    const file = await files.find(workspace, wanted.inputFile).catch(() => {
      throw noSuchFile();
    });
    if (file.purpose !== 'batch')
      throw invalid('input_file_id must be a file with purpose "batch".', 'input_file_id');
    if (wanted.isQuote) {
      const stopWatching = findOutWhenGone(ctx.req, ctx.res);
      const embeds = wanted.embeds ? ('embeddings' as const) : undefined;
      ctx.body = await quotes
        .quote({
          ...{ window: wanted.window, workspace, keyId, endpoint: embeds, inputFile: file.id },
          ...{ bytes: files.sealed.read(file.object, file.bytes), size: file.bytes },
          hasLeft: () => ctx.res.destroyed,
        })
        .finally(stopWatching);
      return;
    }
    const owner = await directory.findWorkspace(workspace);
    if (!owner) throw new GatewayError('invalid_api_key', 'The workspace of this key was deleted.');
    // The files of a batch's answers are always kept, so a workspace that has no room left may not begin another batch.
    await files.requireRoom(workspace, 1);
    const created = clock.now();
    if (wanted.embeds) requireNewest(apiProtocol());
    const record: BatchRecord = {
      id: `batch_${makeRequestId()}`,
      workspace,
      workspaceCreated: owner.created,
      keyId,
      ...(wanted.embeds ? { endpoint: 'embeddings' } : {}),
      inputFile: file.id,
      inputObject: file.object,
      inputBytes: file.bytes,
      created,
      expires: created + wanted.windowMs,
      window: wanted.window,
      outputExpiresMs: wanted.outputExpiresMs,
      metadata: wanted.metadata,
    };
    const refused = await batches.create(record, maxActiveBatches);
    if (refused === 'file') throw noSuchFile();
    if (refused === 'active')
      throw new GatewayError(
        'quota_exceeded',
        `This workspace may have ${maxActiveBatches} batches under way.`,
      );
    ctx.body = toBatchObject(await find(workspace, record.id));
  };

  const list: Middleware<Authenticated> = async (ctx) => {
    const ids = batches.inOrder(ctx.state.key.workspace);
    const find = async (some: string[]) => (await batches.findAll(some)).map(toBatchObject);
    ctx.body = await readPage(ids, find, ctx.query, PAGE);
  };

  const retrieve: Middleware<Authenticated> = async (ctx) => {
    ctx.body = toBatchObject(await find(ctx.state.key.workspace, ctx.params.id));
  };

  const cancel: Middleware<Authenticated> = async (ctx) => {
    const { workspace } = ctx.state.key;
    const { record, state } = await find(workspace, ctx.params.id);
    const status = await batches.cancel(record.id, { ...state.times, cancelling: clock.now() });
    if (status !== 'cancelling' && status !== 'cancelled')
      throw new GatewayError('conflict', `A batch that is ${status} cannot be cancelled.`);
    ctx.body = toBatchObject(await find(workspace, record.id));
  };

  return { create, list, retrieve, cancel };
}

interface WantedBatch {
  inputFile: string;
  /** Empty: a quote for several. */
  window: string;
  windowMs: number;
  embeds: boolean;
  /** Nothing is run. */
  isQuote: boolean;
  outputExpiresMs: number;
  metadata: Record<string, string> | null;
}

function readBatch(body: unknown): WantedBatch {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw invalid('The body must be a JSON object.', null);
  const fields = body as Record<string, unknown>;
  if (typeof fields.input_file_id !== 'string') throw invalid('input_file_id is required.', 'input_file_id');
  const { endpoint } = fields;
  if (!isBatchEndpoint(endpoint))
    throw invalid(`endpoint must be one of ${BATCH_ENDPOINTS.join(', ')}.`, 'endpoint');
  const isQuote = readFlag(fields.dry_run, 'dry_run');
  // Without a window a quote is for several.
  const window = fields.completion_window ?? (isQuote ? undefined : null);
  const windowMs = typeof window === 'string' ? durationMs(window) : undefined;
  if (
    window !== undefined &&
    (windowMs === undefined || windowMs < SHORTEST_WINDOW_MS || windowMs > LONGEST_DEADLINE_MS)
  )
    throw invalid('completion_window must be from "15m" to "48h", such as "24h".', 'completion_window');
  const expiry = fields.output_expires_after ?? {};
  if (typeof expiry !== 'object')
    throw invalid('output_expires_after must be an object.', 'output_expires_after');
  const { anchor, seconds } = expiry as Record<string, unknown>;
  return {
    inputFile: fields.input_file_id,
    window: typeof window === 'string' ? window : '',
    windowMs: windowMs ?? 0,
    embeds: endpoint === '/v1/embeddings',
    isQuote,
    outputExpiresMs: 1_000 * readExpiry(anchor, seconds, 'output_expires_after'),
    metadata: readMetadata(fields.metadata),
  };
}

function readFlag(value: unknown, field: string): boolean {
  if (typeof value === 'boolean') return value;
  if (value === undefined || value === null) return false;
  throw invalid(`${field} must be true or false.`, field);
}

function readMetadata(value: unknown): Record<string, string> | null {
  if (value === undefined || value === null) return null;
  const pairs = typeof value === 'object' && !Array.isArray(value) ? Object.entries(value) : undefined;
  const fits = pairs?.every(
    ([key, text]) =>
      key.length <= MAX_KEY_LENGTH && typeof text === 'string' && text.length <= MAX_VALUE_LENGTH,
  );
  if (!pairs || !fits || pairs.length > MAX_PAIRS)
    throw invalid(
      `metadata must have at most ${MAX_PAIRS} texts, with names of ${MAX_KEY_LENGTH} characters and values of ${MAX_VALUE_LENGTH} at most.`,
      'metadata',
    );
  return Object.fromEntries(pairs) as Record<string, string>;
}

/** An api process of an older version may run the batch, and would take its lines for chats. */
function requireNewest(protocol: number): void {
  if (protocol >= EMBEDDINGS) return;
  throw new GatewayError(
    'service_unavailable',
    'An api process of an older version is running, which does not know batches of embeddings.',
    { retryAfterMs: 30_000 },
  );
}

function noSuchFile(): GatewayError {
  return invalid('input_file_id must be the id of a file of this workspace.', 'input_file_id');
}

function invalid(message: string, param: string | null): GatewayError {
  return new GatewayError('invalid_request', message, { param });
}
