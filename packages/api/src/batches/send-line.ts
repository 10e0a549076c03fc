/** Turns a line into a request, which from here on is like any other. */
import type { ChatRequest } from '@sluice/shared/chat';
import type { RequestLimits } from '@sluice/shared/config/gateway-config';
import type { MemberSearch } from '@sluice/shared/json/measure';
import type { ChatJob } from '@sluice/shared/queue/job';
import type { Payloads } from '@sluice/shared/queue/payload';
import type { Clock } from '@sluice/shared/redis/clock';
import type { DirectoryCache } from '../cell/directory-cache.js';
import { parseChatRequest } from '../chat/parse-chat-request.js';
import { parseEmbeddingRequest } from '../chat/parse-embedding-request.js';
import { putEndpoint, putRequest, searchMessages } from '../chat/put-request.js';
import { type Resolved, resolveModel } from '../chat/resolve-model.js';
import { readTags, readUser } from '../chat/tags.js';
import { isKeptTogether, type WarmPrefixes } from '../chat/warm-prefix.js';
import type { BatchRecord } from './batch-record.js';

export interface SendLineParts {
  inboxId: string;
  payloads: Payloads;
  prefixes: WarmPrefixes;
  directory: DirectoryCache;
  providers: ReadonlyMap<string, unknown>;
  clock: Clock;
  protocol(): number;
  deadlineMs: number;
  limits: RequestLimits;
}

export interface ReadyLine {
  request: ChatRequest;
  body: string;
  messages: MemberSearch | undefined;
  resolved: Resolved;
  prefix?: string;
  tags: ChatJob['tags'];
  user: string | undefined;
}

/** Throws the error that the same request would get from its endpoint. */
export async function prepareLine(
  { directory, providers, limits }: Pick<SendLineParts, 'directory' | 'providers' | 'limits'>,
  {
    workspace,
    endpoint,
  }: Pick<BatchRecord, 'workspace'> & { endpoint?: BatchRecord['endpoint'] | undefined },
  requestId: string,
  body: string,
): Promise<ReadyLine> {
  const messages = endpoint ? undefined : searchMessages(body);
  const request = endpoint ? parseEmbeddingRequest(body, limits) : parseChatRequest(body, limits, messages);
  const resolved = await resolveModel(request.model, workspace, directory, providers, requestId);
  return { request, body, messages, resolved, tags: readTags('', request), user: readUser(request) };
}

/** Keeps the line together with others whose prompts begin alike. */
export async function keepTogether(
  { prefixes, providers }: Pick<SendLineParts, 'prefixes' | 'providers'>,
  { workspace }: Pick<BatchRecord, 'workspace'>,
  ready: ReadyLine,
): Promise<ReadyLine> {
  const { request, resolved } = ready;
  if (!isKeptTogether(request, resolved)) return ready;
  const { chain, prefix } = await prefixes.of(workspace, request, resolved, providers);
  return { ...ready, resolved: { ...resolved, chain }, ...(prefix === undefined ? {} : { prefix }) };
}

export function toJob(
  parts: SendLineParts,
  { id, workspace, keyId, endpoint }: BatchRecord,
  requestId: string,
  { request, body, messages, resolved, prefix, tags, user }: ReadyLine,
): ChatJob {
  const now = parts.clock.now();
  const job: ChatJob = {
    protocol: parts.protocol(),
    requestId,
    workspace,
    keyId,
    model: request.model,
    route: resolved.route,
    chain: resolved.chain,
    entry: 0,
    onCrash: resolved.onCrash,
    inbox: parts.inboxId,
    batch: id,
    acceptedAt: now,
    weight: 1,
    priority: 'background',
    queuedAt: now,
    waitUntil: now,
    deadline: now + parts.deadlineMs,
    queueMs: 0,
    attempts: [],
    request: '',
  };
  if (endpoint) putEndpoint(job, endpoint);
  putRequest(job, body, messages, parts.payloads);
  if (tags) job.tags = tags;
  if (user !== undefined) job.user = user;
  if (prefix !== undefined) job.prefix = prefix;
  return job;
}
