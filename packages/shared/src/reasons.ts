/**
 * Why a request was not served. The error code is for callers, and several reasons share one. The reason is for the people who
 * run the gateway. This table is the only list of reasons, and has the sentence that a person reads.
 *
 * The console loads this file in a browser, so it imports nothing.
 */

/**
 * `policy`: a rule of the operator refused the request, such as a limit or a budget. `caller`: the request itself is wrong.
 * `left`: the caller did not wait for the answer. `failed`: the gateway or a provider could not do its work.
 */
export type ReasonKind = 'policy' | 'caller' | 'left' | 'failed';

interface ReasonRow {
  kind: ReasonKind;
  words: string;
}

const policy = (words: string) => ({ kind: 'policy', words }) as const;
const caller = (words: string) => ({ kind: 'caller', words }) as const;
const left = (words: string) => ({ kind: 'left', words }) as const;
const failed = (words: string) => ({ kind: 'failed', words }) as const;

export const REASONS = {
  // The workspace's own rules.
  workspace_concurrency: policy('The workspace had reached its limit of requests at a time.'),
  workspace_requests_per_minute: policy('The workspace had reached its limit of requests a minute.'),
  workspace_tokens_per_minute: policy(
    'The workspace had used up its tokens a minute, and the wait would have been too long.',
  ),
  budget_spent: policy('A budget of the workspace was spent.'),
  budget_too_small: policy('The request might have cost more than was left of a budget.'),
  budget_reserved: policy('What was left of a budget was reserved by other requests for too long.'),
  budget_values: policy(
    'Budgets of the workspace had too many end users, values of tags, or runs at a time.',
  ),
  budget_second_call: policy(
    'A call was interrupted, or a provider’s batch was late, and the budgets of the workspace did not cover a second call.',
  ),
  no_price: policy('The workspace may only use models with a known price, and this model has none.'),
  model_not_allowed: policy('The request might have chosen a model that the workspace may not use.'),
  same_key_crowd: policy('Too many requests waited for the answer to the same Idempotency-Key.'),
  quota: policy('The workspace had reached its limit of files, stored bytes or batches.'),
  too_many_uploads: policy('The workspace had reached its limit of files sent at a time.'),
  large_bodies: policy('The workspace had reached its limit of large requests sent at a time.'),
  key_expired: policy('The key had expired.'),
  key_revoked: policy('The key had been revoked.'),

  // Mistakes of the caller.
  key_missing: caller('The request had no key.'),
  key_unknown: caller('No workspace has or had this key. It may be mistyped.'),
  key_guessing: caller('The caller’s address had sent too many wrong keys.'),
  forbidden: caller('The caller may not do this.'),
  unknown_model: caller('The model is neither a route of the workspace nor a model id that it may use.'),
  bad_request: caller('The request was not valid.'),
  too_large: caller('The request was too large.'),
  wrong_media_type: caller('The body had a type or an encoding that the gateway does not take.'),
  idempotency_conflict: caller('The Idempotency-Key was used before with another body.'),
  conflict: caller('What the request names was in a state that does not allow it.'),
  not_supported: caller('The request asked for something that the gateway does not do, such as streaming.'),
  not_found: caller('There is nothing at this path, or nothing with this id.'),
  wrong_method: caller('The path does not take this method.'),
  provider_refused_request: caller('The provider found the request not valid.'),
  model_refused_field: caller(
    'The model does not take a field of the request, and no other model of the route did.',
  ),
  prompt_too_long: caller('The prompt was longer than the context of the model.'),
  unsupported_by_provider: caller('The provider’s format cannot express the request.'),
  caller_left: left('The caller hung up before the answer.'),
  cancelled: left('The caller cancelled the request in the background.'),
  withdrawn: left('The request was taken back before its turn came.'),

  // Nobody had room for it in time.
  provider_rate_limited: failed('The provider answered that the gateway sends too much (429).'),
  provider_cooling_down: failed('The provider was left alone for a while after a 429.'),
  provider_rate_used_up: failed(
    'A limit per minute of the provider was used up, and the wait would have been too long.',
  ),
  provider_request_too_large: failed('The request was larger than the provider takes within a minute.'),
  backlog_full: failed('Too many requests were waiting for the provider.'),
  waited_too_long: failed('The request got no turn within the provider’s waiting time.'),
  deadline: failed('The request was not answered before its deadline.'),
  provider_paused: failed('The operator had paused the provider’s queue.'),
  circuit_open: failed('The provider kept failing and was not called for a while.'),
  provider_removed: failed('The provider was removed from the configuration.'),

  // The provider failed.
  provider_key_refused: failed('The provider refused the gateway’s key, or its account has no credit.'),
  provider_key_missing: failed('No key is set for the provider.'),
  provider_unknown_model: failed('The provider does not know the model.'),
  provider_overloaded: failed('The provider was overloaded.'),
  provider_error: failed('The provider failed.'),
  provider_unreachable: failed('The provider could not be reached.'),
  provider_timeout: failed('The provider did not answer in time.'),
  provider_bad_answer: failed('The provider sent an answer that is not a completion.'),
  answer_too_large: failed('The provider sent an answer that is too large.'),
  answer_not_fitting: failed('The provider’s answer did not fit the JSON schema of the request.'),
  outcome_unknown: failed(
    'The connection broke during the call. Nobody knows whether the provider answered.',
  ),

  // The gateway failed.
  worker_died: failed('The worker died during the call, and the route does not allow a second one.'),
  worker_died_twice: failed('Two workers died while they ran the request, so it was not run again.'),
  job_lost: failed('Redis lost the request, and the route does not allow a second call.'),
  answer_gone: failed('The answer of the first request with this Idempotency-Key was no longer kept.'),
  no_workers: failed('No worker was running.'),
  redis_full: failed('Redis had no room for the request.'),
  redis_away: failed('Redis did not answer.'),
  overloaded: failed('The gateway had no room for the request or the file.'),
  store_away: failed('The store of files could not be used.'),
  internal_error: failed('The gateway has a bug. Its log has the id of the request.'),
} as const satisfies Record<string, ReasonRow>;

export type Reason = keyof typeof REASONS;

/** Another version of the gateway may have written a reason that this one does not know. */
function rowOf(reason: string): ReasonRow | undefined {
  return Object.hasOwn(REASONS, reason) ? REASONS[reason as Reason] : undefined;
}

/** The sentence for a person. */
export function reasonText(reason: string): string {
  return rowOf(reason)?.words ?? reason.replaceAll('_', ' ');
}

export function reasonKind(reason: string): ReasonKind {
  return rowOf(reason)?.kind ?? 'failed';
}

/** Whether the request was refused by a rule or for a mistake of its own, so that nothing has failed. */
export function isRefusal(reason: string): boolean {
  const kind = reasonKind(reason);
  return kind === 'policy' || kind === 'caller';
}

export const ALL_REASONS = Object.keys(REASONS) as Reason[];
