/** Sums over the latest requests. */
import type { AttemptOutcome } from '../outcomes.js';
import type { Reason } from '../reasons.js';
import { moment, momentOrNull, textOrNull, wholeOrNull } from './common.js';
import * as s from './structs.js';

const durations = s.fields({ p50: wholeOrNull, p95: wholeOrNull, p99: wholeOrNull });
export type PresentedDurations = s.Infer<typeof durations>;

const reasonKind = s.choice('policy', 'caller', 'left', 'failed');

const reasonCount = s.fields({
  /** `other`: an older version logged them without a reason. */
  reason: s.text<Reason | 'other'>(),
  text: s.text(),
  kind: reasonKind,
  requests: s.whole(),
});
export type ReasonCount = s.Infer<typeof reasonCount>;

const routeTraffic = s.fields({
  workspace: s.text(),
  route: s.text(),
  requests: s.whole(),
  failed: s.whole(),
  refused: s.whole(),
  fallbacks: s.whole(),
  duration_ms: durations,
  served: s.list(s.whole()).about('By entry and member of a group, in the order of the chain.'),
});
export type RouteTraffic = s.Infer<typeof routeTraffic>;

export const traffic = s.component('Traffic', {
  object: s.literal('traffic'),
  since: moment,
  until: moment,
  log_begins: momentOrNull.about('Where the request log begins; before it nothing is counted.'),
  requests: s.whole(),
  failed: s.whole().about('A provider or the gateway could not serve them.'),
  refused: s.whole().about('Refused by a rule of the operator, or for a mistake of the caller.'),
  cancelled: s.whole().about('Their callers did not wait for the answer.'),
  fallbacks: s.whole().about('Served by another entry than the first.'),
  duration_ms: durations,
  reasons: s.list(reasonCount).about('Why requests were not served, most first.'),
  codes: s.list(s.fields({ code: s.text(), requests: s.whole() })),
  bucket_seconds: s.number(),
  buckets: s.list(
    s.fields({
      requests: s.whole(),
      failed: s.whole(),
      refused: s.whole(),
      duration_ms: durations,
    }),
  ),
  routes: s.list(routeTraffic),
});
export type TrafficReport = s.Infer<typeof traffic>;

/** Requests that were refused alike. Most of them have no entry in the request log. */
const refusalCount = s.fields({
  workspace: textOrNull.about('Null: the request had no known key.'),
  key_id: textOrNull,
  reason: s.text<Reason>(),
  text: s.text(),
  kind: reasonKind,
  requests: s.whole(),
  first_at: moment.about('The minute of the first of them in the range.'),
  last_at: moment,
});
export type RefusalCount = s.Infer<typeof refusalCount>;

export const refusals = s.component('Refusals', {
  object: s.literal('refusals'),
  since: moment,
  until: moment,
  requests: s.whole(),
  bucket_seconds: s.number(),
  buckets: s.list(s.whole()).about('Refusals over the range.'),
  /** The most frequent first. */
  data: s.list(refusalCount),
  /** More rows than `data` has. */
  has_more: s.flag,
});
export type RefusalReport = s.Infer<typeof refusals>;

/** The attempts of the latest requests, by entry or by provider, the most called first. */
export const attempts = s.component('AttemptReport', {
  object: s.literal('attempts'),
  since: moment,
  until: moment,
  requests: s.whole().about('How many requests were counted.'),
  complete: s.flag.about('False: there were more, or some could not be read.'),
  bucket_seconds: s.number({ min: 0 }),
  entries: s.list(
    s.fields({
      provider: s.text(),
      model: textOrNull.about('Null when summed by provider.'),
      calls: s.whole(),
      /** Calls that were not answered well. Calls whose caller hung up are not counted. */
      failed: s.whole(),
      passed_over: s.whole(),
      outcomes: s.list(s.fields({ outcome: s.text<AttemptOutcome>(), attempts: s.whole() })),
      duration_ms: durations,
      buckets: s.list(s.fields({ calls: s.whole(), failed: s.whole(), p95: wholeOrNull })),
    }),
  ),
});
export type AttemptReport = s.Infer<typeof attempts>;
