import type { BudgetMode } from '../contract/limits.js';
import type { Priority } from '../contract/priority.js';
import type { ChainEntry, OnCrash } from '../contract/route.js';
import type { ErrorInfo } from '../errors.js';
import type { TextRange } from '../json/measure.js';
import type { AttemptOutcome } from '../outcomes.js';
import type { TokenEstimate } from '../registry/token-estimate.js';

export type { ChainEntry, OnCrash };

/** The kinds of jobs. */
export const CHAT_JOB = 'chat';
export const MODELS_JOB = 'models';
export const TEST_JOB = 'test';

/** The endpoint of a request that is no chat. */
export type JobEndpoint = 'embeddings';
/** The endpoints of providers beside the one for chats. */
export type CalledApi = 'responses' | 'embeddings';

/** Asks a worker to call the provider once, and to say what is wrong. */
export interface TestJob {
  requestId: string;
  inbox: string;
  model: string;
}

/** Asks a worker for the provider's model list, because the api has no provider key. */
export interface ModelsJob {
  requestId: string;
  inbox: string;
}

export interface Attempt {
  provider: string;
  model: string;
  outcome: AttemptOutcome;
  /** Upstream's HTTP status, if upstream answered. */
  status?: number;
  /** Duration of the provider call; absent when the provider was never called. */
  ms?: number;
  /** How long the first piece of an answer in pieces took. */
  firstTokenMs?: number;
  /** When the call was sent or the entry was passed over, in ms after the request was accepted. */
  startMs?: number;
  /** The provider's own words about a failure: cleaned, short, and without the prompt. */
  said?: string;
  /** Which field of the request the model does not take, in words. It was passed over for that. */
  why?: string;
  /** What was changed in the request for this model, in words. */
  adapted?: string[];
  /** Upstream's own request id, for a support ticket. */
  upstreamId?: string;
  /** The tier that the gateway chose for it, where it is not the standard one. */
  tier?: string;
  /** The endpoint that was called, where it is not the one for chats. */
  api?: CalledApi;
  /** It was no call, but a line of the provider's own batch, whose id is `upstreamId`. */
  via?: 'provider_batch';
  /** An estimate of the call's cost in picodollars. Set when nobody knows what the provider bills for the call. */
  estimate?: number;
  /** The most output tokens that the call may have written. Set only when the provider reports more than that. */
  allowedOutput?: number;
  /** What the provider says that the call cost, in picodollars. Set with `cost: reported` only. */
  reported?: number;
  /** What it costs by the price list. Set beside `reported`, where the list has a price. */
  listed?: number;
}

/** Of a request that has time until its deadline (plan.ts). */
export interface Plan {
  /** Its latest safe start. From then on it does not wait for a better price. */
  urgentAt: number;
  /** The rank of the highest class that its key may name. */
  highest: number;
  /** Its route lets it go to the provider's own batch API. */
  mayBatch?: boolean;
  /** Until when others are gathered that go there with it. */
  gatherUntil?: number;
  /** The time that other requests need after it: those of the same batch. */
  marginMs?: number;
  /** How often it was put off after a call that failed. */
  tries?: number;
  /** How often that was because the provider refused the key. */
  refusedKeys?: number;
  /** What it waits for, where that is not a better price: the end of this trouble. */
  waitsFor?: AttemptOutcome;
  /** The provider has refused it at flex, or too often. */
  withoutFlex?: boolean;
  /** Nobody was there to go to the provider's batch API with it, or that did not answer it. */
  withoutBatch?: boolean;
}

/**
 * One BullMQ job is one request that waits for one entry of its chain. Times are Redis time, in ms. In the job's hash
 * `request` is a separate field beside `data`, because it may be large and must not be serialised twice.
 */
export interface ChatJob {
  /** Its caller was told to come back now. At its last entry it waits until its deadline. */
  isPromised?: true;
  /** The protocol version of the job (process/protocol.ts). The reply has the same. */
  protocol?: number;
  requestId: string;
  workspace: string;
  keyId: string;
  /** What the request asks for. Absent: a chat completion. */
  endpoint?: JobEndpoint;
  /** The caller's `model`. The response has the same. */
  model: string;
  /** The alias, or null for a direct model id. */
  route: string | null;
  chain: ChainEntry[];
  /** The index of the entry that this job waits for. */
  entry: number;
  onCrash: OnCrash;
  /** The api process that waits for the reply. */
  inbox: string;
  /** The reserved cost in picodollars. Only for workspaces with limits. */
  reserved?: number;
  /** The counters of the workspace's other budgets, with what is reserved of each (budgets.ts). */
  held?: string;
  /** The route or model that the caller named, where a spent budget sent the request to the route of `route`. */
  insteadOf?: string;
  /** How the cost of the calls is estimated. Absent: `expected`. */
  budget?: BudgetMode;
  /**
   * A budget reserves what is expected, so the length of the answer is learned (usual-output.ts). The output tokens at which it
   * is cut off; 0: it is not.
   */
  learns?: number;
  /** Digest of the caller's Idempotency-Key, if there was one. */
  idempotency?: string;
  /** The caller's tags for the log: name → value. */
  tags?: Record<string, string>;
  /** The caller's own end user. */
  user?: string;
  /** The caller does not wait, so the request goes on without the api process that accepted it. */
  inBackground?: boolean;
  /** It has time until its deadline, and takes the cheapest way that is over by then (plan.ts). */
  plan?: Plan;
  /** The batch that has the request as a line. The outcome is kept for the batch too. */
  batch?: string;
  /** Digest of how the prompt begins. Set only if others that begin so are to find it in the provider's cache. */
  prefix?: string;
  /** `traceparent` of the request, if it is traced. */
  trace?: string;
  acceptedAt: number;
  /** The workspace gets this many turns for one turn of a workspace without a weight. */
  weight?: number;
  /** The tokens that a call will most likely take. Set only if a limit per minute concerns the job. */
  tokens?: TokenEstimate;
  /** The workspace's limit of tokens per minute, if it has one. */
  tokensPerMinute?: number;
  /** The class of the request. Absent: `normal`. */
  priority?: Priority;
  /** When this entry's job was put on its queue. */
  queuedAt: number;
  /** The request waits for this entry until this moment. */
  waitUntil: number;
  deadline: number;
  /** Time spent waiting for earlier entries. */
  queueMs: number;
  /** The attempts at earlier entries. */
  attempts: Attempt[];
  /** The caller's unchanged body, sealed (queue/payload.ts). The api has checked the JSON. A large one is bytes. */
  request: string | Buffer;
  /** Where the value of `messages` begins and ends, in bytes of a large request before it was sealed. */
  messagesAt?: TextRange;
}

/** The values of the headers of a served request. The serialised body travels beside them. */
export interface Served {
  provider: string;
  model: string;
  fallbackUsed: boolean;
  latencyMs: number;
  /** Dollars with six decimals. */
  costUsd: string;
  /** What was changed in the request for this model, in words. Absent: nothing. */
  adapted?: string;
  /** The tokens of prompt and answer, for a job that a limit per minute concerns. */
  took?: [input: number, output: number];
}

export interface ReplyHead {
  /** The protocol version of the job. */
  protocol?: number;
  queueMs: number;
  /** Number of provider calls made. */
  attempts: number;
  /** The exact duration of the call that served. `served` has whole milliseconds. */
  callMs?: number;
  served?: Served;
  error?: ErrorInfo;
}

/** The api takes a job off the queue when its wait has run out. This grace is for jobs whose api is gone. */
export const WAIT_GRACE_MS = 1_000;
/** A request during which so many workers died is not given to another one. */
export const MAX_STARTS = 2;
/** A promise is kept while no more than so many times as many wait as may, and for so many times as long. */
export const PROMISED = 2;

/** Its caller was promised a turn, and no other entry is left for it. */
export function isUnrefused({ isPromised, chain, entry }: ChatJob, at = entry): boolean {
  return isPromised === true && at === chain.length - 1;
}

/** Whether it waits until a cool-down is over. A request whose wait would be long holds no place of its workspace for it. */
export function isAwaited(
  job: ChatJob,
  endsAt: number | undefined,
  now: number,
  maxWaitMs: number,
  at = job.entry,
): boolean {
  if (endsAt === undefined || job.plan || !isUnrefused(job, at)) return false;
  return endsAt < job.deadline && endsAt - now <= PROMISED * maxWaitMs;
}

/**
 * When a worker dies, nobody can ask it whether it has called. So a start counts from when the job is taken, which takes no
 * command more. A request that was never sent may then look like a lost call. Where that would cost the caller the answer or a
 * part of a budget, the start counts just before the call instead.
 */
export function countsAtCall({ onCrash, budget }: Pick<ChatJob, 'onCrash' | 'budget'>): boolean {
  return onCrash !== 'rerun' || budget !== undefined;
}

/** Whether the provider is to carry the call out in the background, so that another worker can ask for its answer. */
export function isResumed({ onCrash }: Pick<ChatJob, 'onCrash'>, entry: ChainEntry): boolean {
  return onCrash === 'resume' || entry.on_crash === 'resume';
}

export function jobIdOf(job: Pick<ChatJob, 'requestId' | 'entry'>): string {
  return `${job.requestId}-${job.entry}`;
}

export function providerOf(job: Pick<ChatJob, 'chain' | 'entry'>): string {
  const entry = job.chain[job.entry];
  if (!entry) throw new Error(`the chain has no entry ${job.entry}`);
  return entry.provider;
}
