import { type AttemptOutcome, type FailedCall, OUTCOMES, outcomeRow } from '@sluice/shared/outcomes';
import { readRefusedField } from './refused-field.js';
import { parseRetryAfter } from './retry-after.js';
import type { Headers, ProviderFailure } from './types.js';
import { cleanUpstreamText } from './upstream-text.js';

/** A failure in the gateway's terms. For connection failures, timeouts and unusable answers this is all there is. */
export function failureOf(
  outcome: Exclude<AttemptOutcome, 'ok' | 'unsupported'>,
  status?: number,
): ProviderFailure {
  const { code, message, fallback } = OUTCOMES[outcome];
  const failure: ProviderFailure = { outcome, code, message, fallback };
  if (status !== undefined) failure.status = status;
  return failure;
}

const OUTCOME_BY_STATUS: Readonly<Record<number, FailedCall>> = {
  400: 'bad_request',
  401: 'auth',
  402: 'auth',
  403: 'auth',
  404: 'model_not_found',
  408: 'timeout',
  409: 'server_error',
  413: 'bad_request',
  422: 'bad_request',
  429: 'rate_limited',
  503: 'overloaded',
  529: 'overloaded',
};

export function toOutcome(status: number): FailedCall {
  return OUTCOME_BY_STATUS[status] ?? (status >= 500 && status <= 599 ? 'server_error' : 'bad_response');
}

export interface UpstreamError {
  status: number;
  headers: Headers;
  outcome: FailedCall;
  /** Upstream's words, uncleaned. */
  message?: string | undefined;
  code?: string | undefined;
  param?: string | undefined;
  /** The account has no credit left: no model of the provider will answer. */
  outOfCredit?: boolean;
  /** A `retry-after` date is counted from here, when the answer has no date of its own. */
  now?: number | undefined;
}

/** The failure for an error response that the provider has read. */
export function toResponseFailure(error: UpstreamError): ProviderFailure {
  const refused = error.outcome === 'bad_request' ? readRefusedField(error) : undefined;
  const failure = failureOf(refused ? 'refused_field' : error.outcome, error.status);
  const said = cleanUpstreamText(error.message ?? '');
  if (said !== '') failure.said = said;
  if (outcomeRow(error.outcome).quotesUpstream) {
    failure.message = said || failure.message;
    const param = cleanUpstreamText(error.param ?? refused?.param ?? '');
    if (param !== '') failure.param = param;
  }
  if (refused?.refusedField) failure.refusedField = refused.refusedField;
  if (error.outcome === 'model_not_found') failure.param = 'model';
  if (error.outcome === 'rate_limited' || error.outcome === 'overloaded') {
    const retryAfterMs = parseRetryAfter(error.headers, error.now);
    if (retryAfterMs !== undefined) failure.retryAfterMs = retryAfterMs;
  }
  if (error.outOfCredit) failure.coolDown = 'provider';
  else if (error.outcome === 'rate_limited') failure.coolDown = 'model';
  return failure;
}
