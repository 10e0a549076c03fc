import type { ErrorCode } from '@sluice/shared/errors';
import { parseRetryAfter } from './retry-after.js';
import type { Headers, ProviderFailure } from './types.js';
import { cleanUpstreamText } from './upstream-text.js';

/** The outcomes that a provider call itself can have; the others arise in the queue. */
export type CallOutcome =
  | 'bad_request'
  | 'context_length'
  | 'model_not_found'
  | 'auth'
  | 'rate_limited'
  | 'request_too_large'
  | 'overloaded'
  | 'server_error'
  | 'bad_response'
  | 'too_large'
  | 'schema_mismatch'
  | 'connection'
  | 'timeout';

interface Verdict {
  code: ErrorCode;
  /** Whether another entry of the chain could do better. */
  fallback: boolean;
  message: string;
}

const VERDICTS: Record<CallOutcome, Verdict> = {
  bad_request: { code: 'invalid_request', fallback: false, message: 'The provider refused the request.' },
  context_length: {
    code: 'invalid_request',
    fallback: true,
    message: 'The request is longer than the context of the model.',
  },
  model_not_found: {
    code: 'model_not_found',
    fallback: true,
    message: 'The provider does not know the model.',
  },
  // Our key, so never the caller's 401.
  auth: { code: 'provider_error', fallback: true, message: 'The provider refused the key of the gateway.' },
  rate_limited: { code: 'rate_limited', fallback: true, message: 'The provider is rate limiting.' },
  // It can never pass there. The provider may still take every other one.
  request_too_large: {
    code: 'request_too_large',
    fallback: true,
    message: 'The request is larger than the provider takes from the gateway within a minute.',
  },
  overloaded: { code: 'provider_unavailable', fallback: true, message: 'The provider is overloaded.' },
  server_error: { code: 'provider_error', fallback: true, message: 'The provider failed.' },
  bad_response: {
    code: 'provider_error',
    fallback: true,
    message: 'The provider sent an answer that is not a completion.',
  },
  too_large: {
    code: 'provider_error',
    fallback: true,
    message: 'The provider sent an answer that is too large.',
  },
  // The schema is the caller's: it says nothing about the provider's health.
  schema_mismatch: {
    code: 'provider_error',
    fallback: true,
    message: 'The provider sent an answer that does not fit the JSON schema of the request.',
  },
  connection: { code: 'provider_error', fallback: true, message: 'The provider could not be reached.' },
  timeout: { code: 'provider_timeout', fallback: true, message: 'The provider did not answer in time.' },
};

export function isCallOutcome(outcome: string): outcome is CallOutcome {
  return Object.hasOwn(VERDICTS, outcome);
}

/** Upstream's own words are for the caller's mistakes only; elsewhere they name keys, organisations and hosts. */
const QUOTES_UPSTREAM: ReadonlySet<CallOutcome> = new Set(['bad_request', 'context_length']);

/** A failure in the gateway's terms. For connection failures, timeouts and unusable answers this is all there is. */
export function toFailure(outcome: CallOutcome, status?: number): ProviderFailure {
  const failure: ProviderFailure = { outcome, ...VERDICTS[outcome] };
  if (status !== undefined) failure.status = status;
  return failure;
}

const OUTCOME_BY_STATUS: Readonly<Record<number, CallOutcome>> = {
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

export function toOutcome(status: number): CallOutcome {
  return OUTCOME_BY_STATUS[status] ?? (status >= 500 && status <= 599 ? 'server_error' : 'bad_response');
}

export interface UpstreamError {
  status: number;
  headers: Headers;
  outcome: CallOutcome;
  /** Upstream's words, uncleaned. */
  message?: string;
  param?: string;
  /** The account has no credit left: no model of the provider will answer. */
  outOfCredit?: boolean;
  /** What a `retry-after` date is counted from, when the answer has no date of its own. */
  now?: number | undefined;
}

/** The failure for an error response that the provider has read. */
export function toResponseFailure(error: UpstreamError): ProviderFailure {
  const failure = toFailure(error.outcome, error.status);
  if (QUOTES_UPSTREAM.has(error.outcome)) {
    failure.message = cleanUpstreamText(error.message ?? '') || failure.message;
    const param = cleanUpstreamText(error.param ?? '');
    if (param !== '') failure.param = param;
  }
  if (error.outcome === 'model_not_found') failure.param = 'model';
  if (error.outcome === 'rate_limited' || error.outcome === 'overloaded') {
    const retryAfterMs = parseRetryAfter(error.headers, error.now);
    if (retryAfterMs !== undefined) failure.retryAfterMs = retryAfterMs;
  }
  if (error.outOfCredit) failure.coolDown = 'provider';
  else if (error.outcome === 'rate_limited') failure.coolDown = 'model';
  return failure;
}
