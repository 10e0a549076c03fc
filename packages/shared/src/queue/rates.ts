/** The limits per minute and the provider keys at which a job has to find room. lua/parts/admit.lua reads them. */
import type { ProviderConfig, ProviderLimits, RateLimits } from '../config/provider.js';
import { isAllowed } from '../directory/allowed-models.js';
import type { ShardNames } from '../redis/key-names.js';
import type { TokenEstimate } from '../registry/token-estimate.js';
import {
  type AnnouncedLimits,
  type AnnouncedRate,
  type AnnouncedRates,
  type BucketType,
  isShortWindow,
  type RateSubject,
} from './announced-limits.js';
import type { ChatJob } from './job.js';

export type { BucketType };

type Bucket = [
  key: string,
  type: BucketType,
  limit: number,
  amount: number,
  isWorkspaces?: 0 | 1,
  /** From this moment on calls come one by one. 0: several may come at once. */
  spacedFrom?: number,
  /** Several shards divide the limit, and each has a multiple of this of its pace. */
  quantum?: number,
];

/** A job that nobody estimated: its sealed request is about as long as the prompt. */
const USUAL_OUTPUT_TOKENS = 1_000;
const BYTES_PER_TOKEN = 4;

export function estimateOf({ tokens, request }: Pick<ChatJob, 'tokens' | 'request'>): TokenEstimate {
  return tokens ?? { input: Math.ceil(request.length / BYTES_PER_TOKEN), output: USUAL_OUTPUT_TOKENS };
}

/** A job waits for the first of its prefix for as long as a call may take, and for no longer than this. */
const LONGEST_WAIT_FOR_FIRST_MS = 300_000;

/** The job's field `rate`. It is empty for a job that no limit concerns, and whose prompt begins like no other's. */
export function rateOf(
  job: ChatJob,
  provider: ProviderConfig | undefined,
  names: ShardNames,
  announced?: Pick<AnnouncedLimits, 'of'>,
  isDivided = false,
): string {
  const { limits, keys = [] } = provider ?? {};
  const { prefix } = job;
  const { model = '', provider: name = '' } = job.chain[job.entry] ?? {};
  const said = keys.length === 0 ? announced?.of(name, '', model) : undefined;
  const isLimited = limits || said || keys.length > 0 || job.tokensPerMinute !== undefined;
  if (!isLimited && prefix === undefined) return '';
  const estimate = estimateOf(job);
  const own = withAnnounced(
    bucketsOf(limits, limitKey(names, name), model, estimate),
    said,
    limitKey(names, name),
    model,
    estimate,
  );
  if (isDivided) for (const bucket of own) divide(bucket, said);
  if (job.tokensPerMinute !== undefined) {
    own.push([names.workspaceTokens(job.workspace), 't', job.tokensPerMinute, amountsOf(estimate).t, 1]);
  }
  const pool = keys.map((key): [string, number, Bucket[]] => [
    key.name,
    key.weight ?? 0,
    withAnnounced(
      bucketsOf(key.limits, limitKey(names, name, key.name), model, estimate),
      announced?.of(name, key.name, model),
      limitKey(names, name, key.name),
      model,
      estimate,
    ),
  ]);
  if (isDivided)
    for (const [key, , buckets] of pool)
      for (const bucket of buckets) divide(bucket, announced?.of(name, key, model));
  const lane = own.map(([key]) => key).join(' ') || model;
  const rate: unknown[] = [lane, Math.ceil(job.waitUntil), own, pool];
  if (prefix !== undefined) {
    const waitMs = waitForFirstMs(job, provider);
    // Those of one prefix wait in a lane of their own. A job that does not wait is not in it.
    if (waitMs > 0) rate[0] = `${lane} ${prefix}`;
    rate[4] = [names.prefixes(job.workspace), prefix, entryName(name, model), waitMs];
  }
  return JSON.stringify(rate);
}

/** Of a short window a shard has whole calls. Calls of different sizes are not counted so, and one shard at a time has them. */
function divide(bucket: Bucket, said: AnnouncedRates | undefined): void {
  const [, type, limit, , , spacedFrom = 0] = bucket;
  const windowMs = said?.[type]?.windowMs ?? MINUTE_MS;
  const calls = Math.max(1, Math.floor((limit * windowMs) / MINUTE_MS / FILLED));
  const quantum = type === 'r' ? limit / calls : limit;
  Object.assign(bucket, { 4: 0, 5: spacedFrom, 6: spacedFrom ? quantum : 1 });
}

/** The lines of a batch and requests in the background wait for the first of their prefix. A caller who waits does not. */
function waitForFirstMs(job: ChatJob, provider: ProviderConfig | undefined): number {
  if (job.batch === undefined && !job.inBackground) return 0;
  const callMs = job.chain[job.entry]?.timeout_ms ?? provider?.timeoutMs ?? 0;
  return Math.min(callMs, LONGEST_WAIT_FOR_FIRST_MS);
}

/** The model of a provider, as the record of a prefix names it. */
export function entryName(provider: string, model: string): string {
  return `${provider}/${model}`;
}

/** Where the limits of a provider, or of one of its keys, begin. */
export function limitKey(names: ShardNames, provider: string, key?: string): string {
  return names.queueKey(provider, key === undefined ? 'limit' : `limit:${key}`);
}

/** One limit of a provider, or of one of its keys. */
export interface RateBucket {
  key: string;
  /** The models that it is for; undefined: all of them. */
  pattern: string | undefined;
  type: BucketType;
  limit: number;
}

/** The buckets of each limits. They are the same for every request, and to list them anew would cost each. */
const listed = new WeakMap<ProviderLimits, { key: string; buckets: readonly RateBucket[] }>();

/** The limits, with the keys under which Redis has what was reserved. */
export function listBuckets(limits: ProviderLimits | undefined, key: string): readonly RateBucket[] {
  if (!limits) return [];
  const before = listed.get(limits);
  if (before?.key === key) return before.buckets;
  const { models, ...all } = limits;
  const buckets = [
    ...toBuckets(all, key, undefined),
    ...models.flatMap(({ pattern, ...own }) => toBuckets(own, `${key}:${pattern}`, pattern)),
  ];
  listed.set(limits, { key, buckets });
  return buckets;
}

function bucketsOf(
  limits: ProviderLimits | undefined,
  key: string,
  model: string,
  estimate: TokenEstimate,
): Bucket[] {
  const amounts = amountsOf(estimate);
  return listBuckets(limits, key)
    .filter(({ pattern }) => pattern === undefined || isAllowed([pattern], model))
    .map(({ key, type, limit }) => [key, type, limit, amounts[type]]);
}

/** Whether the operator has set a limit of this type for the provider, or for this key of its pool, that is for the model. */
export function isSet(
  { limits, keys = [] }: Pick<ProviderConfig, 'limits' | 'keys'>,
  [, name, model]: RateSubject,
  type: BucketType,
): boolean {
  const ofKey = keys.find((key) => key.name === name)?.limits;
  return [limits, ofKey].some((each) =>
    listBuckets(each, '').some(
      (bucket) =>
        bucket.type === type && (bucket.pattern === undefined || isAllowed([bucket.pattern], model)),
    ),
  );
}

/** A provider that counts all tokens counts a named limit of the answer. One that counts answers counts what is written. */
export function amountsOf({
  input,
  output,
  isNamed,
  likely = output,
}: TokenEstimate): Record<BucketType, number> {
  return { r: 1, t: input + (isNamed ? output : likely), i: input, o: likely };
}

/** What the provider announces holds for the types of limits that the operator has not set. */
function withAnnounced(
  own: Bucket[],
  said: AnnouncedRates | undefined,
  key: string,
  model: string,
  estimate: TokenEstimate,
): Bucket[] {
  if (!said) return own;
  const amounts = amountsOf(estimate);
  for (const [type, rate] of Object.entries(said) as [BucketType, AnnouncedRate][]) {
    const set = own.filter((bucket) => bucket[1] === type);
    if (set.length === 0)
      set.push([announcedKey(key, model, type, sourceOf(rate)), type, perMinute(rate), amounts[type]]);
    // A limit that is not known yet is only counted.
    if (rate.limit > 0 && (rate.found || isShortWindow(rate.windowMs)))
      for (const bucket of set) Object.assign(bucket, { 4: bucket[4] ?? 0, 5: spacedFrom(rate) });
    for (const bucket of set) if (!own.includes(bucket)) own.push(bucket);
  }
  return own;
}

function spacedFrom({ from = 1, found }: AnnouncedRate): number {
  return found ? 1 : from;
}

/** Under which Redis has what was reserved of a limit that is announced or found. */
export function announcedKey(key: string, model: string, type: BucketType, source: Source): string {
  return `${key}:${source}:${model}:${type}`;
}

type Source = 'announced' | 'found';

function sourceOf({ found }: AnnouncedRate): Source {
  return found ? 'found' : 'announced';
}

const MINUTE_MS = 60_000;
/** Calls do not arrive at equal distances, so a short window is not filled to its brim. */
const FILLED = 0.98;
/** A limit that is not known yet holds nobody up. */
const UNKNOWN = 1e9;

function perMinute({ limit, windowMs, found }: AnnouncedRate): number {
  if (found) return limit || UNKNOWN;
  return isShortWindow(windowMs) ? Math.max(1, Math.floor((FILLED * limit * 60_000) / windowMs)) : limit;
}

/** The limits of one of the provider's models that are announced or found, as they are kept. */
export function announcedBuckets(
  said: AnnouncedRates,
  key: string,
  model: string,
): (RateBucket & { source: Source })[] {
  return (Object.entries(said) as [BucketType, AnnouncedRate][])
    .filter(([, { limit }]) => limit > 0)
    .map(([type, rate]) => ({
      key: announcedKey(key, model, type, sourceOf(rate)),
      pattern: model,
      type,
      limit: perMinute(rate),
      source: sourceOf(rate),
    }));
}

function toBuckets(limits: RateLimits, key: string, pattern: string | undefined): RateBucket[] {
  const all: [BucketType, number | undefined][] = [
    ['r', limits.requestsPerMinute],
    ['t', limits.tokensPerMinute],
    ['i', limits.inputTokensPerMinute],
    ['o', limits.outputTokensPerMinute],
  ];
  return all.flatMap(([type, limit]) =>
    limit === undefined ? [] : [{ key: `${key}:${type}`, pattern, type, limit }],
  );
}

/** Why a key of a pool is left alone: the provider answered 429, or refused the key. */
export type KeyBlock = 'limited' | 'refused';

/** The rest of each of the provider's limits, and the limit, as the provider states them. */
export type RatesLeft = Partial<Record<BucketType, readonly [left: number, limit: number]>>;

/** The use of a reservation: the call's times and tokens, and the rest of the provider's limits. */
export interface RateUse {
  /** When the call was sent, in Redis time. Undefined when nothing was sent. */
  sentAt?: number;
  /** When its answer came. Undefined when none came. */
  answeredAt?: number;
  usage?: { input: number; cachedInput: number; cacheWrite: number; cacheWrite1h: number; output: number };
  left?: RatesLeft;
}

/** How the reservation of a job is corrected when the job ends. lua/parts/release.lua reads this. */
export function usedOf(job: ChatJob, { sentAt, answeredAt, usage, left }: RateUse): string {
  if (sentAt === undefined) return 'none';
  const times = {
    at: Math.round(sentAt),
    ...(answeredAt === undefined ? {} : { by: Math.ceil(answeredAt) }),
  };
  if (!usage) return JSON.stringify(left ? { ...times, left } : times);
  const { output, isNamed = false } = estimateOf(job);
  const counted = countedOf(usage);
  if (isNamed) counted.t += Math.max(0, output - usage.output);
  const used = { ...times, ...counted };
  return JSON.stringify(left ? { ...used, left } : used);
}

/** What an answered call counts under each type of limit. */
export function countedOf(usage: NonNullable<RateUse['usage']>): Record<BucketType, number> {
  const { input, cachedInput, cacheWrite, cacheWrite1h, output } = usage;
  // Anthropic does not count what it reads from its cache.
  const written = input + cacheWrite + cacheWrite1h;
  return { r: 1, t: written + cachedInput + output, i: written, o: output };
}
