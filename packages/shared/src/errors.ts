/**
 * Every error that a caller can see. The table is the public contract: a code is also the error's `type`, and it
 * decides the HTTP status. Codes cross the queue as data (`ErrorInfo`). Nobody matches the text of a message.
 */
import type { Reason } from './reasons.js';

export const ERROR_STATUS = {
  invalid_request: 400,
  invalid_api_key: 401,
  permission_denied: 403,
  model_not_found: 404,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  request_too_large: 413,
  unsupported_media_type: 415,
  idempotency_conflict: 422,
  budget_exceeded: 429,
  quota_exceeded: 429,
  rate_limited: 429,
  internal_error: 500,
  not_implemented: 501,
  provider_error: 502,
  refresh_failed: 502,
  provider_outcome_unknown: 502,
  provider_unavailable: 503,
  service_unavailable: 503,
  provider_timeout: 504,
} as const;

export type ErrorCode = keyof typeof ERROR_STATUS;

/** For errors that name no reason of their own. */
const REASON_OF_CODE = {
  invalid_request: 'bad_request',
  invalid_api_key: 'key_unknown',
  permission_denied: 'forbidden',
  model_not_found: 'unknown_model',
  not_found: 'not_found',
  method_not_allowed: 'wrong_method',
  conflict: 'conflict',
  request_too_large: 'too_large',
  unsupported_media_type: 'wrong_media_type',
  idempotency_conflict: 'idempotency_conflict',
  budget_exceeded: 'budget_spent',
  quota_exceeded: 'quota',
  rate_limited: 'provider_rate_limited',
  internal_error: 'internal_error',
  not_implemented: 'not_supported',
  provider_error: 'provider_error',
  refresh_failed: 'internal_error',
  provider_outcome_unknown: 'outcome_unknown',
  provider_unavailable: 'provider_overloaded',
  service_unavailable: 'overloaded',
  provider_timeout: 'provider_timeout',
} as const satisfies Record<ErrorCode, Reason>;

/** SDKs retry 429 and 5xx by themselves. A retry after one of these codes can only fail again or bill twice. */
const NEVER_RETRY: ReadonlySet<ErrorCode> = new Set([
  'budget_exceeded',
  'quota_exceeded',
  'provider_outcome_unknown',
  'not_implemented',
]);

/** The official SDKs obey no longer `retry-after`. */
const LONGEST_SDK_WAIT_MS = 60_000;

/** An error as it travels: through a job, a reply, to the caller. */
export interface ErrorInfo {
  code: ErrorCode;
  message: string;
  /** Path of the offending field, such as `messages[0].role`. */
  param?: string | null;
  /** The provider's own code, where it refused the request itself. */
  providerCode?: string;
  /** How long the caller should wait, if that is known. */
  retryAfterMs?: number;
  /** Why, for the people who run the gateway. Callers do not see it. */
  reason?: Reason;
}

export interface ErrorOptions {
  param?: string | null;
  providerCode?: string | undefined;
  retryAfterMs?: number;
  reason?: Reason | undefined;
  /** Extra response headers, such as `allow` on a 405. */
  headers?: Record<string, string>;
  cause?: unknown;
}

/** An error in the common shape. */
interface ErrorFields {
  message: string;
  type: ErrorCode;
  code: ErrorCode;
  param: string | null;
  provider_code?: string;
}

export class GatewayError extends Error {
  override readonly name = 'GatewayError';
  readonly code: ErrorCode;
  readonly status: number;
  readonly param: string | null;
  readonly providerCode: string | undefined;
  readonly retryAfterMs: number | undefined;
  readonly reason: Reason;
  readonly headers: Record<string, string>;

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.code = code;
    this.status = ERROR_STATUS[code];
    this.param = options.param ?? null;
    this.providerCode = options.providerCode;
    this.retryAfterMs = options.retryAfterMs;
    this.reason = options.reason ?? REASON_OF_CODE[code];
    this.headers = options.headers ?? {};
  }

  static from(info: ErrorInfo): GatewayError {
    return new GatewayError(info.code, info.message, info);
  }

  /** The body of the response, in the common error shape. */
  toBody(): { error: ErrorFields } {
    const { message, code, param, providerCode } = this;
    const error: ErrorFields = { message, type: code, code, param };
    if (providerCode !== undefined) error.provider_code = providerCode;
    return { error };
  }

  /** `retry-after` and `x-should-retry`. The seconds are rounded up, so that an obedient client is never early. */
  toHeaders(): Record<string, string> {
    const headers = { ...this.headers };
    if (this.retryAfterMs !== undefined) {
      headers['retry-after'] = String(Math.max(1, Math.ceil(this.retryAfterMs / 1000)));
    }
    if (!this.#mayRetry()) headers['x-should-retry'] = 'false';
    return headers;
  }

  /** A budget that renews in a moment, or that others give back, is worth the retry of an SDK, which waits a minute at most. */
  #mayRetry(): boolean {
    if (!NEVER_RETRY.has(this.code)) return true;
    return (
      this.code === 'budget_exceeded' &&
      (this.retryAfterMs ?? Number.POSITIVE_INFINITY) <= LONGEST_SDK_WAIT_MS
    );
  }

  toInfo(): ErrorInfo {
    const info: ErrorInfo = { code: this.code, message: this.message, reason: this.reason };
    if (this.param !== null) info.param = this.param;
    if (this.providerCode !== undefined) info.providerCode = this.providerCode;
    if (this.retryAfterMs !== undefined) info.retryAfterMs = this.retryAfterMs;
    return info;
  }
}

export function reasonOf({ code, reason }: Pick<ErrorInfo, 'code' | 'reason'>): Reason {
  return reason ?? REASON_OF_CODE[code];
}
