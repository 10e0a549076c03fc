/** Requests whose caller does not wait: how they are accepted, listed, asked for and cancelled. */
import type { ChatRequest } from '@sluice/shared/chat';
import { type BackgroundRequestObject, LISTED_STATUSES } from '@sluice/shared/contract/completion';
import type { WorkspaceRecord } from '@sluice/shared/directory/directory';
import { GatewayError } from '@sluice/shared/errors';
import type { ChatJob, ReplyHead } from '@sluice/shared/queue/job';
import type { Payloads, RequestIdentity } from '@sluice/shared/queue/payload';
import type { Clock } from '@sluice/shared/redis/clock';
import type { Middleware, ParameterizedContext } from 'koa';
import type { DirectoryCache } from '../cell/directory-cache.js';
import type { Authenticated } from '../http/authenticate.js';
import type { RunsOn } from '../http/intake.js';
import { type Page, type PageQuery, readPage } from '../http/page.js';
import type { Admission } from './admission.js';
import {
  type BackgroundRequest,
  type BackgroundRequests,
  GRACE_MS,
  statusOf,
} from './background-requests.js';
import type { Dispatcher, Reply } from './dispatcher.js';
import { type Expectations, NOTHING_EXPECTED } from './expectations.js';
import { checkIdempotencyKey } from './idempotent-dispatcher.js';
import { lost, type RequestEnds } from './request-ends.js';
import { writeReply } from './write-reply.js';

const PAGE = { standard: 20, most: 100 };
const ASKS_AGAIN_AFTER_S = 1;
/** How soon the gateway looks again whether the request of an Idempotency-Key is on a queue. */
const LOOK_AGAIN_MS = 100;
/** How soon the gateway tries again to forget a request. */
const FORGET_AGAIN_MS = 500;

/** Whether a `prefer` header asks for it. */
export function prefersBackground(header: string): boolean {
  return header
    .split(',')
    .some((preference) => preference.split(';')[0]?.trim().toLowerCase() === 'respond-async');
}

export async function ownerOf(directory: DirectoryCache, workspace: string): Promise<WorkspaceRecord> {
  const record = await directory.findWorkspace(workspace);
  if (!record) throw new GatewayError('invalid_api_key', 'The workspace of this key was deleted.');
  return record;
}

export interface RunInBackgroundParts {
  dispatcher: Pick<Dispatcher, 'dispatch'>;
  background: BackgroundRequests;
  admission: Pick<Admission, 'admitFollower'>;
  clock: Clock;
}

interface InBackground {
  owner: WorkspaceRecord;
  job: ChatJob;
  request: ChatRequest;
  bodyText: string;
  /** May be empty. */
  idempotencyKey: string;
  state: RunsOn;
}

/**
 * Answers as soon as the request is on a queue. A request that is refused before that is answered with the refusal.
 * `accepted` is the request that runs, which an earlier call may have begun.
 */
export async function runInBackground(
  parts: RunInBackgroundParts,
  asked: InBackground,
): Promise<Reply | { accepted: BackgroundRequest }> {
  const { dispatcher, admission, clock } = parts;
  const { job, request, idempotencyKey, state } = asked;
  if (idempotencyKey !== '') checkIdempotencyKey(idempotencyKey);
  const { requestId } = job;
  const [as, known] = await begin(parts, asked);
  if (as === 'known') {
    // It counts like any other request, although nothing is run for it.
    const { workspace } = job;
    const admitted = await admission.admitFollower({ requestId, workspace, deadline: clock.now() });
    if (admitted instanceof GatewayError) throw admitted;
    admitted();
    return { accepted: (await parts.background.find(known, asked.owner)) ?? begunAs(job, known) };
  }
  if (as === 'full')
    throw new GatewayError(
      'quota_exceeded',
      'This workspace has too many requests with a deadline under way, or too large ones.',
    );
  if (as === 'conflict')
    throw new GatewayError('idempotency_conflict', 'This Idempotency-Key was used with another body.', {
      param: 'Idempotency-Key',
    });
  if (as === 'gone')
    throw new GatewayError(
      'provider_outcome_unknown',
      'The request with this Idempotency-Key has ended, and its answer is no longer kept. It was not called again.',
    );
  return new Promise((resolve, reject) => {
    let isQueued = false;
    const reply = dispatcher.dispatch(job, request, () => {
      isQueued = true;
      resolve({ accepted: begunAs(job, requestId) });
    });
    state.runsOn = reply;
    reply.then(resolve, async (error) => {
      if (!isQueued) await forget(parts, asked);
      reject(error);
    });
  });
}

function begunAs({ model, acceptedAt: begun, deadline }: ChatJob, id: string): BackgroundRequest {
  return { id, model, begun, deadline, isCancelling: false, jobKeys: [] };
}

/**
 * Begins the request, or finds the one that runs under its Idempotency-Key. While that one is on its way to a queue, nobody
 * knows whether it gets there, so this waits. A begin whose answer is lost may have taken effect, and is taken back.
 */
async function begin(
  parts: RunInBackgroundParts,
  asked: InBackground,
): Promise<['new' | 'known' | 'conflict' | 'gone' | 'full', string]> {
  for (;;) {
    const [as, known] = await parts.background.begin(asked.owner, asked.job, asked).catch(async (error) => {
      await forget(parts, asked);
      throw error;
    });
    if (as !== 'beginning') return [as, known];
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
  }
}

/**
 * The caller is told that the request could not be queued. So a retry with its Idempotency-Key must not be told that the
 * request is under way. Redis may be away, or the job may be on a queue until the safety net removes it.
 */
async function forget(parts: RunInBackgroundParts, asked: InBackground): Promise<void> {
  const { owner, job, idempotencyKey } = asked;
  const isForgotten = await parts.background.forget(owner, job, idempotencyKey).catch(() => false);
  if (isForgotten || parts.clock.now() > job.deadline + GRACE_MS) return;
  setTimeout(() => forget(parts, asked), FORGET_AGAIN_MS).unref();
}

export function writeAccepted(ctx: ParameterizedContext, shown: BackgroundRequestObject): void {
  ctx.status = 202;
  ctx.set('location', `/v1/requests/${shown.id}`);
  ctx.set('preference-applied', 'respond-async');
  ctx.set('retry-after', String(ASKS_AGAIN_AFTER_S));
  ctx.body = shown;
}

export interface BackgroundParts {
  background: BackgroundRequests;
  expectations: Expectations;
  requestEnds: RequestEnds;
  directory: DirectoryCache;
  payloads: Payloads;
  clock: Clock;
}

/** The requests of a workspace, the newest first, in pages. */
export function listRequests(
  { background }: Pick<BackgroundParts, 'background'>,
  owner: WorkspaceRecord,
  query: PageQuery & { status?: unknown },
): Promise<Page<BackgroundRequestObject>> {
  const status = readStatus(query.status);
  const read = async (some: string[]) =>
    (await background.findAll(some, owner, status)).map((request) => present(request));
  return readPage(background.inOrder(owner.id, status), read, query, PAGE);
}

export async function findRequest(
  { background }: Pick<BackgroundParts, 'background'>,
  owner: WorkspaceRecord,
  id: unknown,
): Promise<BackgroundRequest> {
  const request = await background.find(String(id).replace(/^req_/, ''), owner);
  if (request) return request;
  throw new GatewayError(
    'not_found',
    'There is no such request in the background, or its answer is not kept any more.',
  );
}

export async function cancelRequest(
  parts: Pick<BackgroundParts, 'background' | 'requestEnds'>,
  owner: WorkspaceRecord,
  id: unknown,
): Promise<BackgroundRequestObject> {
  const request = await findRequest(parts, owner, id);
  const due = { workspace: owner.id, digest: parts.background.digestOf(request.id, owner) };
  if (!request.head) await parts.requestEnds.cancel(due, request);
  const now = await findRequest(parts, owner, id);
  const status = statusOf(now);
  if (status === 'completed' || status === 'failed')
    throw new GatewayError('conflict', `A request that is ${status} cannot be cancelled.`);
  return present(now);
}

/** /v1/requests */
export function createBackgroundRoutes(parts: BackgroundParts) {
  const { background, directory, expectations, payloads, clock } = parts;
  const owned = (ctx: ParameterizedContext<Authenticated>) => ownerOf(directory, ctx.state.key.workspace);

  const list: Middleware<Authenticated> = async (ctx) => {
    ctx.body = await listRequests(parts, await owned(ctx), ctx.query);
  };

  const retrieve: Middleware<Authenticated> = async (ctx) => {
    const owner = await owned(ctx);
    const request = await findRequest(parts, owner, ctx.params.id);
    const { id: requestId, head, deadline } = request;
    const idempotency = background.digestOf(requestId, owner);
    const workspace = owner.id;
    if (head) {
      const body = await background.readBody(requestId, owner);
      return writeFinal(ctx, payloads, { workspace, requestId, idempotency }, { head, body });
    }
    if (clock.now() < deadline + GRACE_MS)
      return writeAccepted(ctx, present(request, await expectations.of(request)));
    const { code, message } = lost();
    throw new GatewayError(code, message, { headers: { 'x-gateway-final': 'true' } });
  };

  const cancel: Middleware<Authenticated> = async (ctx) => {
    ctx.body = await cancelRequest(parts, await owned(ctx), ctx.params.id);
  };

  return { list, retrieve, cancel };
}

function readStatus(status: unknown): string {
  if (status === undefined || status === '') return 'all';
  const known = LISTED_STATUSES.find((each) => each === status);
  if (known) return known;
  throw new GatewayError('invalid_request', `status must be one of ${LISTED_STATUSES.join(', ')}.`, {
    param: 'status',
  });
}

export function present(request: BackgroundRequest, expected = NOTHING_EXPECTED): BackgroundRequestObject {
  const { id, model, begun, deadline, ended, head } = request;
  return {
    id: `req_${id}`,
    object: 'request',
    status: statusOf(request),
    model: model ?? null,
    created_at: seconds(begun),
    deadline_at: seconds(deadline),
    ended_at: ended === undefined ? null : seconds(ended),
    place: expected.place,
    expected_at: expected.at === null ? null : seconds(expected.at),
    waits_for: expected.waitsFor,
    error_code: head?.error?.code ?? null,
  };
}

function seconds(ms: number): number {
  return Math.floor(ms / 1_000);
}

/** A 503 may be how the request ended, or the gateway may be unable to tell now. The header tells them apart. */
function writeFinal(
  ctx: ParameterizedContext,
  payloads: Payloads,
  request: RequestIdentity,
  answer: { head: ReplyHead; body: string },
): void {
  try {
    writeReply(ctx, payloads, request, { ...answer, replayed: false });
    ctx.set('x-gateway-final', 'true');
  } catch (error) {
    if (error instanceof GatewayError) ctx.set({ 'x-gateway-final': 'true', 'x-should-retry': 'false' });
    throw error;
  }
}
