/** A settlement says how a request ended. This file makes what is written about it. */
import { dayOf, monthOf } from '../calendar.js';
import type { GatewayConfig } from '../config/gateway-config.js';
import type { ProviderConfig } from '../config/provider.js';
import type { KeyNames } from '../redis/key-names.js';
import type { Attempt, ChatJob, ReplyHead } from './job.js';
import { refusalRow } from './refusals.js';
import type { LogEntry } from './request-log.js';
import { estimatedMonth, reservationOf } from './workspace-limits.js';

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
  /** The reserved cost. It has grown if a call was made again. */
  reserved?: number;
}

export interface RecordParts {
  names: KeyNames;
  /** The most bytes of answers to Idempotency-Keys that a workspace keeps. */
  keptAnswerBytes: number;
  /** For the limits per minute; without it there are none. */
  providers?: ReadonlyMap<string, ProviderConfig>;
}

export function recordParts(names: KeyNames, { request, providers }: GatewayConfig): RecordParts {
  return { names, keptAnswerBytes: request.maxKeptAnswerBytes, providers };
}

/** The keys and arguments of what scripts/record.ts writes. */
export function recordOf(
  { job, log, head, body, isCounted = false, wasNeverQueued = false }: Settlement,
  { names, keptAnswerBytes }: RecordParts,
): { keys: string[]; args: (string | number)[] } {
  const { served } = log;
  const keys = [
    isCounted ? names.refusals : names.requestLog,
    names.ledger(dayOf(log.settledAt)),
    names.inbox(job.inbox),
    names.spent(job.workspace),
    names.reservations(job.workspace),
    names.reserved(job.workspace),
  ];
  if (job.idempotency !== undefined) {
    keys.push(
      names.idempotency(job.workspace, job.idempotency),
      names.outcome(job.requestId),
      names.keptAnswers(job.workspace),
      names.keptAnswerBytes(job.workspace),
    );
    if (!wasNeverQueued) keys.push(names.webhookEvents);
  } else if (job.batch !== undefined) keys.push(names.batchResults(job.batch));
  const args = [
    stamp(JSON.stringify(head), job),
    body ?? '',
    JSON.stringify(log),
    served ? ledgerRow(job.workspace, job.route, served.provider, served.model) : '',
    served?.cost ?? 0,
    served?.usage.input ?? 0,
    served?.usage.cachedInput ?? 0,
    served ? served.usage.cacheWrite + served.usage.cacheWrite1h : 0,
    served?.usage.output ?? 0,
    monthOf(log.settledAt),
    job.reserved === undefined ? '' : reservationOf(job.requestId, job.reserved),
    job.reserved ?? 0,
    Math.round(log.settledAt),
    keptAnswerBytes,
    isCounted ? refusalRow(log) : '',
    ...estimates(log),
  ];
  return { keys, args };
}

/** The ledger row and the estimated cost of each call whose bill nobody knows. Most requests have no such call. */
function estimates({ workspace, route, settledAt, attempts }: LogEntry): (string | number)[] {
  const unknown = attempts.filter(({ estimate }) => estimate !== undefined);
  if (unknown.length === 0) return [];
  return [
    estimatedMonth(monthOf(settledAt)),
    ...unknown.flatMap(({ provider, model, estimate = 0 }) => [
      ledgerRow(workspace, route, provider, model),
      estimate,
    ]),
  ];
}

/** Adds the job's protocol to a JSON object. It works on text for speed, because every reply passes here. */
export function stamp(json: string, { protocol = 1 }: ChatJob): string {
  return `{"protocol":${protocol},${json.slice(1)}`;
}

/** The name of a row in a day's ledger. The fields of the day's hash are the row and a column: `<row>:cost`. */
export function ledgerRow(workspace: string, route: string | null, provider: string, model: string): string {
  return JSON.stringify([workspace, route, provider, model]);
}
