/** A settlement says how a request ended. This file makes what lua/settle.lua writes about it. */
import { dayOf, monthOf } from '../calendar.js';
import type { GatewayConfig } from '../config/gateway-config.js';
import type { ProviderConfig } from '../config/provider.js';
import { rankOf } from '../contract/priority.js';
import type { ShardNames } from '../redis/key-names.js';
import type { AnnouncedLimits } from './announced-limits.js';
import { type Attempt, type ChatJob, jobIdOf, type ReplyHead } from './job.js';
import { refusalRow } from './refusals.js';
import type { LogEntry } from './request-log.js';
import { estimatedMonth, reservationOf } from './workspace-limits.js';

/** How long beyond its request's deadline a settlement is remembered. */
const SETTLED_GRACE_MS = 60_000;

export interface Settlement {
  job: ChatJob;
  log: LogEntry;
  head: ReplyHead;
  /** The response body, serialised and sealed (queue/payload.ts). Absent on an error. */
  body?: string;
  /** The request is not logged by itself. It is counted with others like it. */
  isCounted?: boolean;
  /** The request was to run in the background, and its caller got the error at once. */
  wasNeverQueued?: boolean;
  /** Set for a job with limits per minute: the use of its reservation (rates.ts). */
  used?: string;
  /** What a worker does when Redis has stored it. */
  afterwards?: () => void;
}

/**
 * The process that ends the request: the worker that ran the job, the api that took the job off the queue before anyone
 * ran it, or the api that never queued it. Only a worker sends a reply, because an api answers its caller itself. `died`: how
 * many workers have died with the job. The settlement has their calls.
 */
export type Settler =
  | { as: 'worker'; token: string }
  | { as: 'withdrawer'; died?: number }
  | { as: 'refuser' };

/** The fields of a job that change when its request moves on to another entry. */
export interface NextEntry {
  entry: number;
  queuedAt: number;
  waitUntil: number;
  queueMs: number;
  attempts: Attempt[];
  /** The reserved cost. It has grown if a call was made again. So has what is held of other budgets. */
  reserved?: number;
  held?: string;
}

export interface RecordParts {
  names: ShardNames;
  /** The most bytes of answers to Idempotency-Keys that a workspace keeps. */
  keptAnswerBytes: number;
  /** For the limits per minute; without it there are none. */
  providers?: ReadonlyMap<string, ProviderConfig>;
  announced?: Pick<AnnouncedLimits, 'of'>;
  /** Set in a cell of several shards, which divide the limits of providers (limits/leases.ts). */
  divided?: { crowded(provider: string): Promise<unknown> };
}

export function recordParts(
  names: ShardNames,
  { request, providers }: GatewayConfig,
  announced?: AnnouncedLimits,
  divided?: RecordParts['divided'],
): RecordParts {
  const parts: RecordParts = { names, keptAnswerBytes: request.maxKeptAnswerBytes, providers };
  if (announced) parts.announced = announced;
  if (divided) parts.divided = divided;
  return parts;
}

/** A turn of a job: its workspace, the distance between two turns of the workspace, and the job's class. */
export interface TurnArgs {
  workspace: string;
  share: number;
  class: number;
}

export interface SettleKeys {
  queue: string;
  settledKey: string;
  logKey: string;
  ledgerKey: string;
  spentKey: string;
  inboxKey: string;
  reservationsKey: string | undefined;
  reservedKey: string | undefined;
  /** The prefix of the keys of room.lua. */
  money: string | undefined;
  /** The record of the request's Idempotency-Key, or the results of its batch. */
  idempotencyKey: string | undefined;
  outcomeKey: string | undefined;
  answersKey: string | undefined;
  bytesKey: string | undefined;
  eventsKey: string | undefined;
}

export interface SettleArgs {
  settler: Settler['as'];
  jobId: string;
  requestId: string;
  /** The worker's lock. */
  token: string;
  settledMs: number;
  /** The token that the worker's next job is taken with. '': none is taken. */
  nextToken: string;
  lockMs: number;
  run: string | number;
  body: string;
  head: string;
  log: string;
  ledgerRow: string;
  month: string;
  cost: number;
  input: number;
  output: number;
  cached: number;
  write: number;
  used: string | undefined;
  reservation: string | undefined;
  reserved: number | undefined;
  settledAt: number | undefined;
  answerQuota: number | undefined;
  refusalRow: string | undefined;
  workspace: string | undefined;
  share: number | undefined;
  class: number | undefined;
  died: number | undefined;
  held: string | undefined;
  estimatedMonth: string | undefined;
  /** The ledger row and the estimated cost of each call whose bill nobody knows. Most requests have no such call. */
  estimates: (string | number)[];
}

export function settleKeys(
  { job, log, isCounted, wasNeverQueued }: Settlement,
  queue: string,
  names: ShardNames,
): SettleKeys {
  const { workspace, requestId, idempotency, batch, reserved } = job;
  const hasMore = reserved !== undefined || idempotency !== undefined || batch !== undefined;
  const isIdempotent = idempotency !== undefined;
  const results = batch === undefined ? undefined : names.batchResults(batch);
  return {
    queue,
    settledKey: names.settled(requestId),
    logKey: isCounted ? names.refusals : names.requestLog,
    ledgerKey: names.ledger(dayOf(log.settledAt)),
    spentKey: names.spent(workspace),
    inboxKey: names.inbox(job.inbox),
    reservationsKey: hasMore ? names.reservations(workspace) : undefined,
    reservedKey: hasMore ? names.reserved(workspace) : undefined,
    money: hasMore ? names.money(workspace) : undefined,
    idempotencyKey: isIdempotent ? names.idempotency(workspace, idempotency) : results,
    outcomeKey: isIdempotent ? names.outcome(requestId) : undefined,
    answersKey: isIdempotent ? names.keptAnswers(workspace) : undefined,
    bytesKey: isIdempotent ? names.keptAnswerBytes(workspace) : undefined,
    eventsKey: isIdempotent && !wasNeverQueued ? names.webhookEvents : undefined,
  };
}

/**
 * They are one literal, because spreading others into it takes longer than all the rest of a settlement. What most requests do
 * not need is added after it.
 */
export function settleArgs(
  { job, log, head, body = '', isCounted, used }: Settlement,
  by: Settler,
  { nextToken, lockMs, answerQuota }: { nextToken: string; lockMs: number; answerQuota: number },
): SettleArgs {
  const { requestId, workspace, reserved, held, idempotency } = job;
  const { served, settledAt } = log;
  const estimates = estimatesOf(log);
  const args: SettleArgs = {
    settler: by.as,
    jobId: jobIdOf(job),
    requestId,
    token: by.as === 'worker' ? by.token : by.as,
    settledMs: Math.ceil(Math.max(0, job.deadline - settledAt)) + SETTLED_GRACE_MS,
    nextToken,
    lockMs,
    run: by.as === 'worker' ? numberOf(by.token) : by.as,
    body,
    head: stamp(JSON.stringify(head), job),
    log: JSON.stringify(log),
    ledgerRow: served ? ledgerRow(workspace, job.route, served.provider, served.model) : '',
    month: monthOf(settledAt),
    cost: served?.cost ?? 0,
    input: served?.usage.input ?? 0,
    output: served?.usage.output ?? 0,
    cached: served?.usage.cachedInput ?? 0,
    write: served ? served.usage.cacheWrite + served.usage.cacheWrite1h : 0,
    used,
    reservation: undefined,
    reserved: undefined,
    settledAt: undefined,
    answerQuota: undefined,
    refusalRow: undefined,
    workspace: undefined,
    share: undefined,
    class: undefined,
    died: undefined,
    held: undefined,
    estimatedMonth: undefined,
    estimates,
  };
  const isPlain = by.as === 'worker' && reserved === undefined && idempotency === undefined;
  if (isPlain && !isCounted && estimates.length === 0) return args;
  args.used ??= '';
  args.reservation = reserved === undefined ? '' : reservationOf(requestId, reserved, held);
  args.reserved = reserved ?? 0;
  args.settledAt = Math.round(settledAt);
  args.answerQuota = answerQuota;
  args.refusalRow = isCounted ? refusalRow(log) : '';
  args.workspace = workspace;
  args.share = shareOf(job);
  args.class = rankOf(job.priority);
  args.died = by.as === 'withdrawer' ? (by.died ?? 0) : 0;
  args.held = held ?? '';
  if (estimates.length > 0) args.estimatedMonth = estimatedMonth(args.month);
  return args;
}

/** The distance between two turns of a workspace. */
export function shareOf({ weight = 1 }: ChatJob): number {
  return 1 / weight;
}

/** A number that tells one run of a worker from the others (FNV-1a). The mark of a request has it, because it takes less room. */
function numberOf(token: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < token.length; i++) value = Math.imul(value ^ token.charCodeAt(i), 0x01000193);
  return value >>> 0;
}

function estimatesOf({ workspace, route, attempts }: LogEntry): (string | number)[] {
  const unknown = attempts.filter(({ estimate }) => estimate !== undefined);
  if (unknown.length === 0) return [];
  return unknown.flatMap(({ provider, model, estimate = 0 }) => [
    ledgerRow(workspace, route, provider, model),
    estimate,
  ]);
}

/** Adds the job's protocol to a JSON object. It works on text for speed, because every reply passes here. */
export function stamp(json: string, { protocol = 1 }: ChatJob): string {
  return `{"protocol":${protocol},${json.slice(1)}`;
}

/** The name of a row in a day's ledger. The fields of the day's hash are the row and a column: `<row>:cost`. */
export function ledgerRow(workspace: string, route: string | null, provider: string, model: string): string {
  return JSON.stringify([workspace, route, provider, model]);
}
