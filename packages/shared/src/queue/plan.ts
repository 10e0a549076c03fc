/**
 * A request that has time until a deadline. Its job waits in the queue's set `planned` and runs in slots that nobody else
 * wants, the earliest deadline first (lua/parts/hold.lua). A worker decides by which tier it is called and may put it off. When
 * its latest safe start comes, it is a job like any other, of a higher class, and is called at the standard tier.
 */
import type { ChainEntry, ChatJob, Plan } from './job.js';
import type { Lately } from './lately.js';

/** What a call is taken to last that nobody has made lately. */
export const UNKNOWN_CALL_MS = 60_000;
/** A worker that dies with the first call is found out after ten seconds, and the job waits for its turn again. */
const LEAST_MARGIN_MS = 20_000;
/** So long before the last latest safe start of its requests a provider is told to stop its batch, so that it can end what it has begun. */
export const BATCH_STOPS_BEFORE_MS = 15 * 60_000;
/** Of the calls and waits before, this share was over in the time that is planned for. */
const SAFE_SHARE = 0.99;
const USUAL_SHARE = 0.5;

/** The plan as the scripts of the queue read it. */
export function planText({ deadline, weight = 1, workspace }: ChatJob, { urgentAt, highest }: Plan): string {
  return `${Math.round(deadline)} ${Math.round(urgentAt)} ${highest} ${1 / weight} ${workspace}`;
}

/**
 * The latest moment at which a call at the standard tier is safe to begin: there is time for two calls and the wait for a turn.
 * A request that has little time keeps half of it.
 */
export function latestSafeStart(
  { provider, model }: ChainEntry,
  lately: Pick<Lately, 'callMs' | 'waitMs'>,
  { acceptedAt, deadline, plan }: Pick<ChatJob, 'acceptedAt' | 'deadline' | 'plan'>,
): number {
  const callMs = lately.callMs({ provider, model }, undefined, SAFE_SHARE) ?? UNKNOWN_CALL_MS;
  const marginMs = Math.max(LEAST_MARGIN_MS, 2 * callMs + lately.waitMs(provider, SAFE_SHARE));
  return deadline - Math.min(marginMs, (deadline - acceptedAt) / 2) - (plan?.marginMs ?? 0);
}

/** The latest moment at which it is called at all: half of the calls lately would be over before its deadline. */
export function latestStart(
  entry: ChainEntry,
  lately: Pick<Lately, 'callMs'>,
  { deadline }: Pick<ChatJob, 'deadline'>,
  { urgentAt }: Pick<Plan, 'urgentAt'>,
): number {
  const callMs = lately.callMs(entry, undefined, USUAL_SHARE) ?? UNKNOWN_CALL_MS;
  return deadline - Math.min(callMs, (deadline - urgentAt) / 4);
}
