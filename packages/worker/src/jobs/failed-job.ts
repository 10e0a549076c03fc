import type { ErrorInfo } from '@sluice/shared/errors';
import { isOfKind, OUTCOMES, outcomeRow } from '@sluice/shared/outcomes';
import type { Blocked } from '@sluice/shared/providers/availability';
import { describeAttempts } from '@sluice/shared/queue/attempts';
import type { Attempt } from '@sluice/shared/queue/job';
import { failureOf } from '../providers/failure.js';
import type { ProviderFailure } from '../providers/types.js';

/** The last entry's error, with a short list of what every entry answered. A caller's own mistake is not changed. */
export function toErrorInfo(attempts: readonly Attempt[], failure: ProviderFailure): ErrorInfo {
  const isCallersMistake =
    (failure.outcome === 'bad_request' || failure.outcome === 'unsupported') && attempts.length === 1;
  const message = isCallersMistake ? failure.message : `${failure.message} (${describeAttempts(attempts)})`;
  const info: ErrorInfo = { code: failure.code, message };
  const reason = failure.reason ?? outcomeRow(failure.outcome).reason;
  if (reason) info.reason = reason;
  if (failure.param !== undefined) info.param = failure.param;
  if (failure.providerCode !== undefined) info.providerCode = failure.providerCode;
  if (failure.retryAfterMs !== undefined) info.retryAfterMs = failure.retryAfterMs;
  // SDKs retry these by themselves, and should not do so at once.
  else if (failure.code === 'rate_limited' || failure.code === 'provider_unavailable')
    info.retryAfterMs = 1_000;
  return info;
}

/** The failure of an earlier entry. `retryAfterMs` is how long its provider still cools down. */
export function fromAttempt({ outcome, status }: Attempt, retryAfterMs: number | undefined): ProviderFailure {
  const failure = isOfKind(outcome, 'blocked')
    ? blockedFailure({ outcome, retryAfterMs: 1_000 })
    : isOfKind(outcome, 'failed')
      ? failureOf(outcome, status)
      : failureOf('internal_error');
  if (retryAfterMs !== undefined) failure.retryAfterMs = retryAfterMs;
  return failure;
}

/** An entry that was passed over. */
export function blockedFailure({ outcome, retryAfterMs }: Blocked): ProviderFailure {
  return { ...failureOf(outcome), retryAfterMs };
}

export function expired(): ErrorInfo {
  return {
    code: 'provider_timeout',
    message: 'The request was not answered before its deadline.',
    reason: 'deadline',
  };
}

/** `again`: the route allows another call, but two workers have died already. */
export function interrupted(attempts: readonly Attempt[], again: boolean): ErrorInfo {
  const why = again ? 'the request has already stopped two workers' : 'its route says on_crash: fail';
  return {
    code: 'provider_outcome_unknown',
    message: `A worker stopped, or stood still for longer than its lock lasts, before it had the provider's answer (${describeAttempts(attempts)}). The provider may have answered and billed the call. It was not called again, because ${why}.`,
    reason: again ? 'worker_died_twice' : 'worker_died',
  };
}

export function connectionLost(): ErrorInfo {
  return {
    code: 'provider_outcome_unknown',
    message:
      'The connection broke while the provider was being called; whether the provider answered is not known.',
    reason: 'outcome_unknown',
  };
}

/** The call before may be billed, and the budget of the workspace does not cover another one. Other entries may be called. */
export function notCoveredAgain(): ProviderFailure {
  return {
    ...failureOf('unknown'),
    code: 'provider_outcome_unknown',
    message:
      'The call was interrupted, and the provider may have answered and billed it. It was not made again, because the budget of this workspace does not cover a second call.',
    reason: 'budget_second_call',
  };
}

/** The gateway's own code failed. */
export function gatewayFailed(): ErrorInfo {
  const { code, message, reason } = OUTCOMES.internal_error;
  return { code, message, reason };
}
