/**
 * The scripts of a queue. Their Lua is in the folder `lua`, and each says there what it does. They, chat-queue.ts and
 * backend.ts alone know how BullMQ lays out a queue in Redis.
 */
import { DISPLACED_STAYS } from '../process/protocol.js';
import { LONGEST_COOL_DOWN_MS } from '../providers/cool-downs.js';
import { loadScript, type NamedArgs, type NamedKeys } from '../redis/script.js';
import { INBOX_TTL_MS } from './inbox.js';
import { WAIT_GRACE_MS } from './job.js';
import type { MoreArgs, MoreKeys } from './more-budget.js';
import type { SettleArgs, SettleKeys, TurnArgs } from './settle.js';

/**
 * A job's request is in the job's hash. A large request has its own key, which no script reads, because Lua walks through
 * every byte of a string that it gets.
 */
export const LARGE_REQUEST = ':request';

/** A half second leaves the window of a limit per minute when it is this many half seconds ago. */
export const SLOT_MS = 500;
export const SLOTS = 121;

/** `addScript` returns these when the job is on the queue, and when its request has been settled before. */
export const ADDED = -1;
export const ALREADY_SETTLED = -2;
/** `addReservedScript` also returns this, when what was reserved for the request has lapsed. */
export const LAPSED = -3;
/** `addScript` also returns this, when the workspace has left the shard. */
export const MOVED = -4;

/** For so long the worker that found a queue empty last is believed to be there. */
const OFFER_MS = 1_000;

const CONSTANTS = {
  LARGE_REQUEST,
  OFFER_MS,
  SLOT_MS,
  SLOTS,
  ADDED,
  ALREADY_SETTLED,
  LAPSED,
  MOVED,
  DISPLACED_STAYS,
  INBOX_TTL_MS,
  LONGEST_COOL_DOWN_MS,
  WAIT_GRACE_MS,
};

/** Undefined where nothing more is reserved. */
type Maybe<Names> = { [Name in keyof Names]: Names[Name] | undefined };

interface QueueKeys {
  /** The prefix of the queue's keys. */
  queue: string;
}

export interface MoveKeys extends QueueKeys {
  nextQueue: string;
  settledKey: string;
  inboxKey: string;
}

export interface AddArgs extends TurnArgs {
  jobId: string;
  name: string;
  data: string;
  request: string;
  timestamp: number;
  /** How many jobs may wait. '': as many as there are. */
  most: number | '';
  inboxPrefix: string;
  rate: string;
  /** 1 when the starts of the job count at its call. */
  atCall: 1 | '';
  /** Set for a job that has time (plan.ts). */
  plan: string | undefined;
}

/**
 * A job as `take` returns it. Its lock is the token of the take, a colon, and the job's place in the take. Every take has a
 * token of its own, so a token that comes twice is a command that was sent again.
 */
export type TakenFields = [
  id: string,
  name: string,
  data: string,
  timestamp: string,
  request: string | null,
  starts: number,
  /** Set for a job with limits per minute: it may run, or its wait would be too long. */
  verdict?: 'run' | 'late' | 'late_by_workspace' | null,
  /** The key of the pool that it is to be called with, or for how long it would have to wait. */
  detail?: string | number | null,
  /** When this was decided, in Redis time. */
  decidedAt?: string | null,
  /** Set for a job that was taken before with the same token. */
  lock?: string,
];
/**
 * `more`: 1 when other jobs may be waiting, -n when the jobs that wait may be taken in n ms. 'stock': BullMQ's own script takes
 * the next job, because the queue has a rate limit of BullMQ's own.
 */
export type Taken = 'stock' | TakenJobs;
type TakenJobs = [more: number, ...jobs: TakenFields[]];

/** A number: so many workers have died with the job, which waits again. It was not withdrawn. */
export type WithdrawResult = 'withdrawn' | 'running' | 'gone' | number;

/** A number says how many jobs wait at the next entry, whose queue is full. */
export type MoveResult = 'moved' | 'closed' | number;

/** `full` comes with the number of jobs that wait at the next entry. The other results are those of `withdrawScript`. */
export type PassOnResult = 'moved' | ['full', number] | Exclude<WithdrawResult, 'withdrawn'>;

/** A number: so many workers have died with the job, which waits again. It was not withdrawn. */
export type SettleResult = 'settled' | 'already_settled' | 'gone' | 'running' | number;

function load<Result, Keys extends NamedKeys<Keys>, Args extends NamedArgs<Args> = Record<never, never>>(
  name: string,
) {
  return loadScript<Result, Keys, Args>(import.meta.url, name, CONSTANTS);
}

// --- The api's side ---

export const addScript = load<
  number,
  QueueKeys & { settledKey: string | undefined; fenceKey: string | undefined },
  AddArgs
>('add');
export const addReservedScript = load<
  number,
  QueueKeys & { reservationsKey: string; settledKey: string | undefined },
  AddArgs & { reservation: string; lapsesAt: number }
>('add-reserved');
export const listJobsScript = load<string[], { queues: readonly string[] }>('list-jobs');
export const withdrawScript = load<
  WithdrawResult,
  QueueKeys & { settledKey: string },
  TurnArgs & { jobId: string; died: number }
>('withdraw');
export const passOnScript = load<
  PassOnResult,
  MoveKeys,
  Omit<AddArgs, 'plan'> & { fromId: string; died: number; requestId: string; notice: string }
>('pass-on');
export const placeScript = load<[place: number, slots: number], QueueKeys, { jobId: string }>('place');
export const missingScript = load<number[], { jobKeys: readonly string[] }>('missing');
export const lookScript = load<
  [
    waiting: number,
    prioritized: number,
    active: number,
    paused: 0 | 1,
    oldest: number,
    parked: number,
    concurrency: string | null,
  ],
  QueueKeys
>('look');

// --- The worker's side ---

export const setMetaScript = load<number, { metaKey: string }, { fieldsAndValues: readonly string[] }>(
  'set-meta',
);
export const takeScript = load<
  Taken,
  QueueKeys,
  { token: string; lockMs: number; most: number; worker: string }
>('take');
export const handedScript = load<TakenJobs, QueueKeys, { worker: string; lockMs: number }>('handed');
export const wakeScript = load<0 | 1, QueueKeys>('wake');
export const postponeScript = load<
  0 | 1,
  QueueKeys,
  {
    jobId: string;
    token: string;
    longer: number | undefined;
    again: number;
    data: string;
    plan: string;
    used: string;
    group: string | undefined;
  }
>('postpone');
export const comeBackScript = load<
  0 | 1,
  QueueKeys,
  { jobId: string; part: string; data: string; plan: string }
>('come-back');
export const leavePartScript = load<
  0 | 1,
  QueueKeys & { partWaitsKey: string; partLeftKey: string } & Maybe<MoreKeys>,
  {
    jobId: string;
    part: string;
    data: string;
    plan: string;
    requestId: string;
    left: string;
    again: number;
    keptMs: number;
  } & Maybe<MoreArgs>
>('leave-part');
export const collectPartScript = load<
  number,
  QueueKeys & { partKey: string; partsKey: string; partLinesKey: string; partWaitsKey: string },
  {
    jobId: string;
    token: string;
    group: string;
    part: string;
    record: string;
    due: number;
    most: number;
    mostBytes: number;
    keptMs: number;
    again: number;
  }
>('collect-part');
export const waitsInPartScript = load<
  string[],
  QueueKeys & { partWaitsKey: string },
  { part: string; now: number }
>('waits-in-part');
export const beginScript = load<0 | 1, QueueKeys, { jobId: string; lock: string }>('begin');
export const keepResponseScript = load<
  0 | 1,
  QueueKeys,
  { jobId: string; lock: string; response: string; lockMs: number }
>('keep-response');
export const switchKeyScript = load<
  [key: string, waitMs: number],
  QueueKeys,
  { jobId: string; lock: string; name: string; closedMs: number; why: string }
>('switch-key');
export const reserveAgainScript = load<number, QueueKeys, { jobId: string; lock: string; used: string }>(
  'reserve-again',
);
export const moveScript = load<
  MoveResult,
  MoveKeys,
  Omit<AddArgs, 'name' | 'request' | 'atCall'> & {
    nextId: string;
    requestId: string;
    notice: string;
    used: string;
    token: string;
  }
>('move');
export const waitAgainScript = load<
  0 | 1,
  QueueKeys & { inboxKey: string },
  {
    jobId: string;
    token: string;
    requestId: string;
    data: string;
    notice: string;
    rate: string;
    used: string;
    delay: number;
    isCrowded: 1 | '';
    turn: string | undefined;
  }
>('wait-again');
/** What has become of calls whose number at a time is found. For the first `overloaded` models there was no capacity, the others answered. */
export interface FoundCalls {
  succeeded: number;
  overloaded: number;
  models: readonly string[];
}
export const adjustConcurrencyScript = load<
  [limit: number, isInUse: 0 | 1],
  QueueKeys,
  FoundCalls & { most: number }
>('adjust-concurrency');
export const learnRateScript = load<
  [found: string, news: 'new' | 'stuck' | ''],
  { limits: string; window: string },
  {
    field: string;
    refused: 1 | '';
    named: number | '';
    amount: number;
    sentAt: number;
    told: number;
    isCounted: 1 | '';
    isRequests: 1 | '';
    most: number;
  }
>('learn-rate');
export const fillWindowScript = load<
  number,
  { window: string },
  {
    first: number;
    sum: number;
    ifNew: 1 | '';
    ttlMs: number;
    slotsAndAmounts: readonly (string | number)[];
  }
>('fill-window');
export const leaveScript = load<0 | 1, QueueKeys, { jobId: string; token: string; delay: number }>('leave');
export const giveBackScript = load<number, QueueKeys, { worker: string; jobsAndTokens: readonly string[] }>(
  'give-back',
);
export const finishScript = load<
  Taken,
  QueueKeys,
  { jobId: string; token: string; nextToken: string; lockMs: number }
>('finish');

// --- Both ---

export const settleScript = load<[result: SettleResult, taken: Taken], SettleKeys, SettleArgs>('settle');
