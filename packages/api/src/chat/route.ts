import type { ChatRequest } from '@sluice/shared/chat';
import type { RequestLimits } from '@sluice/shared/config/gateway-config';
import {
  ceilingOf,
  DEFAULT_PRIORITY,
  type KeyPriority,
  PRIORITIES,
  type Priority,
  priorityOf,
  rankOf,
} from '@sluice/shared/contract/priority';
import { GatewayError } from '@sluice/shared/errors';
import { DEADLINES } from '@sluice/shared/process/protocol';
import { idempotencyDigest } from '@sluice/shared/queue/idempotency';
import type { ChatJob, JobEndpoint } from '@sluice/shared/queue/job';
import type { Lately } from '@sluice/shared/queue/lately';
import type { Payloads } from '@sluice/shared/queue/payload';
import { latestSafeStart } from '@sluice/shared/queue/plan';
import type { Clock } from '@sluice/shared/redis/clock';
import { formatTraceparent } from '@sluice/shared/tracing/trace-context';
import type { ParameterizedContext } from 'koa';
import type { DirectoryCache } from '../cell/directory-cache.js';
import type { ApiMetrics } from '../cell/metrics.js';
import { findOutWhenGone } from '../http/half-closed.js';
import type { TakenIn } from '../http/intake.js';
import type { Sought } from '../models/sought.js';
import type { Admission } from './admission.js';
import type { BackgroundRequests } from './background-requests.js';
import { ownerOf, prefersBackground, present, runInBackground, writeAccepted } from './background-route.js';
import { DEADLINE_HEADER, readDeadline } from './deadline.js';
import type { Dispatcher, Reply } from './dispatcher.js';
import { checkIdempotencyKey, type IdempotentDispatcher } from './idempotent-dispatcher.js';
import { parseChatRequest } from './parse-chat-request.js';
import { parseEmbeddingRequest } from './parse-embedding-request.js';
import { putEndpoint, putRequest, searchMessages } from './put-request.js';
import { resolveKnown, resolveModel } from './resolve-model.js';
import { readTags, readUser, TAGS_HEADER } from './tags.js';
import { isKeptTogether, type WarmPrefixes } from './warm-prefix.js';
import { writeReply } from './write-reply.js';

/** In a request this is the class that the caller wants. In an answer it is the class that the request got. */
const PRIORITY_HEADER = 'x-gateway-priority';
/** The route that a spent budget sent the request to. */
const BUDGET_ROUTE_HEADER = 'x-gateway-budget-route';

export interface ChatParts {
  /** The inbox for replies to this process. */
  inboxId: string;
  dispatcher: Dispatcher;
  idempotent: IdempotentDispatcher;
  background: BackgroundRequests;
  payloads: Payloads;
  prefixes: WarmPrefixes;
  directory: DirectoryCache;
  providers: ReadonlyMap<string, unknown>;
  clock: Clock;
  metrics: ApiMetrics;
  admission: Pick<Admission, 'admitFollower'>;
  lately: Lately;
  /** The newest protocol that all workers understand. */
  protocol(): number;
  /** The longest a request may take, in ms. */
  deadlineMs: number;
  /** The same for a request in the background. */
  backgroundDeadlineMs: number;
  limits: RequestLimits;
}

type ChatContext = ParameterizedContext<TakenIn & Partial<Sought>>;

/** POST /v1/chat/completions. With an endpoint, POST /v1/embeddings: a request of another kind that takes the same way. */
export function createChatRoute(
  parts: ChatParts,
  endpoint?: JobEndpoint,
): (ctx: ChatContext) => Promise<void> {
  const {
    inboxId,
    dispatcher,
    idempotent,
    payloads,
    directory,
    providers,
    clock,
    metrics,
    deadlineMs,
    limits,
  } = parts;

  /** Ends the request when its caller hangs up. A request with an Idempotency-Key runs on, because the retry will ask for it. */
  async function runWhileWanted(
    { req, res, state }: ChatContext,
    job: ChatJob,
    request: ChatRequest,
  ): Promise<Reply> {
    const { requestId, idempotency: digest } = job;
    const by = digest === undefined ? dispatcher : idempotent;
    state.whenClosed = () => {
      if (!res.writableFinished) by.cancel(requestId);
    };
    const stopWatching = findOutWhenGone(req, res);
    try {
      return await (digest === undefined
        ? dispatcher.dispatch(job, request)
        : idempotent.dispatch(job, request, digest, state.bodyText));
    } finally {
      stopWatching();
      state.whenClosed = undefined;
    }
  }

  /** A request for an unknown model counts against the workspace's limits like any other. */
  async function countUnknown(error: unknown, requestId: string, workspace: string): Promise<never> {
    const admitted = await parts.admission.admitFollower({ requestId, workspace, deadline: clock.now() });
    if (admitted instanceof GatewayError) throw admitted;
    admitted();
    throw error;
  }

  /** The request has time, and need not be answered before its deadline. */
  async function giveTime(
    job: ChatJob,
    key: KeyPriority,
    asked: string,
    isInBackground: boolean,
  ): Promise<void> {
    job.deadline = readDeadline(asked, job.acceptedAt, isInBackground);
    const [first] = job.chain;
    // A worker of an older version would not find it. It is a request in the background like any other, with much time.
    if (!first || parts.protocol() < DEADLINES) return;
    await parts.lately.refresh();
    job.plan = { urgentAt: latestSafeStart(first, parts.lately, job), highest: rankOf(ceilingOf(key)) };
  }

  async function digestOf(idempotencyKey: string, workspace: string): Promise<string> {
    checkIdempotencyKey(idempotencyKey);
    return idempotencyDigest(idempotencyKey, await ownerOf(directory, workspace));
  }

  return async (ctx) => {
    const { key, bodyText } = ctx.state;
    const { headers } = ctx.req;
    const idempotencyKey = textOf(headers['idempotency-key']);
    // Only a request in the background has an owner here. Its caller does not wait.
    const owner = prefersBackground(textOf(headers.prefer))
      ? await ownerOf(directory, key.workspace)
      : undefined;
    const { requestId } = ctx.state;
    const messages = endpoint ? undefined : searchMessages(bodyText);
    const request = endpoint
      ? parseEmbeddingRequest(bodyText, limits)
      : parseChatRequest(bodyText, limits, messages);
    ctx.state.soughtModel = request.model;
    const resolved =
      resolveKnown(request.model, key.workspace, directory, providers, requestId) ??
      (await resolveModel(request.model, key.workspace, directory, providers, requestId).catch((error) =>
        countUnknown(error, requestId, key.workspace),
      ));
    const { route, chain, onCrash, providerBatches } = resolved;
    if (route !== null) ctx.state.soughtModel = chain.at(-1)?.model;
    const now = clock.now();
    // The job is built in one piece, because adding a field by spreading costs more than all of these.
    const job: ChatJob = {
      protocol: parts.protocol(),
      requestId,
      workspace: key.workspace,
      keyId: key.id,
      model: request.model,
      route,
      chain,
      entry: 0,
      onCrash,
      inbox: inboxId,
      acceptedAt: now,
      weight: 1,
      queuedAt: now,
      waitUntil: now,
      deadline:
        now +
        (owner
          ? parts.backgroundDeadlineMs
          : Math.min(deadlineMs, clientTimeoutMs(textOf(headers['x-stainless-timeout'])))),
      queueMs: 0,
      attempts: [],
      request: '',
    };
    if (endpoint) putEndpoint(job, endpoint);
    putRequest(job, bodyText, messages, payloads);
    if (isKeptTogether(request, resolved))
      Object.assign(job, await parts.prefixes.of(key.workspace, request, resolved, providers));
    const wanted = readPriority(textOf(headers[PRIORITY_HEADER]));
    const asked = headers[DEADLINE_HEADER];
    const priority = priorityOf(key, asked === undefined ? wanted : (wanted ?? 'background'));
    if (priority !== DEFAULT_PRIORITY) job.priority = priority;
    if (wanted !== undefined) ctx.set(PRIORITY_HEADER, priority);
    ctx.state.route = route;
    const tags = readTags(textOf(headers[TAGS_HEADER]), request);
    if (tags) job.tags = tags;
    const user = readUser(request);
    if (user !== undefined) job.user = user;
    if (ctx.state.trace) job.trace = formatTraceparent(ctx.state.trace);
    if (asked !== undefined) {
      await giveTime(job, key, textOf(asked), owner !== undefined);
      if (job.plan && providerBatches) job.plan.mayBatch = true;
    }
    if (owner) {
      job.idempotency = parts.background.digestOf(requestId, owner);
      job.inBackground = true;
    } else if (idempotencyKey !== '') job.idempotency = await digestOf(idempotencyKey, key.workspace);
    const reply = owner
      ? await runInBackground(parts, { owner, job, request, bodyText, idempotencyKey, state: ctx.state })
      : await runWhileWanted(ctx, job, request);
    if (job.insteadOf !== undefined && job.route !== null) ctx.set(BUDGET_ROUTE_HEADER, job.route);
    if ('accepted' in reply) return writeAccepted(ctx, present(reply.accepted));
    const { head, body, replayed } = reply;
    ctx.state.reply = { head, replayed };
    if (replayed) {
      ctx.set('idempotent-replayed', 'true');
      metrics.replayed();
    } else metrics.replied(head, performance.now() - ctx.state.startedAt);
    writeReply(ctx, payloads, job, { head, body, replayed });
  };
}

/** Node joins the values of a header that comes several times, but for a few headers, which are none of these. */
function textOf(header: string | string[] | undefined): string {
  return typeof header === 'string' ? header : '';
}

/** Undefined when the caller names no class. */
function readPriority(header: string): Priority | undefined {
  if (header === '') return undefined;
  const named = PRIORITIES.find((priority) => priority === header.toLowerCase());
  if (named) return named;
  throw new GatewayError('invalid_request', `${PRIORITY_HEADER} must be one of ${PRIORITIES.join(', ')}.`, {
    param: PRIORITY_HEADER,
  });
}

/**
 * The official SDKs send how many seconds they will wait. Nobody needs an answer after that. Several SDKs cut off the
 * fraction of a second, and call again when the gateway gives up first. So the gateway waits a second longer.
 */
function clientTimeoutMs(header: string): number {
  const seconds = Number(header);
  return header !== '' && seconds > 0 ? seconds * 1000 + 1_000 : Number.POSITIVE_INFINITY;
}
