import type { FailedCall } from '@sluice/shared/outcomes';
import { toOutcome, toResponseFailure } from '../failure.js';
import { isObject, type JsonObject, toText } from '../json.js';
import type { Headers, ProviderFailure } from '../types.js';

/**
 * Anthropic gives no code for these: all of them come as `invalid_request_error`, like any mistake of the caller, and
 * the text is the only signal.
 */
/** A 429 that is about this one request: larger than the limit of tokens per minute, or than the account may send. */
const REQUEST_TOO_LARGE_TEXT = /request (?:is )?too large|long context/i;

const TEXT_SIGNALS: readonly {
  pattern: RegExp;
  means: 'context_length' | 'out_of_credit' | 'model_not_found';
}[] = [
  // Bedrock's.
  { pattern: /provided model identifier is invalid/i, means: 'model_not_found' },
  { pattern: /prompt is too long/i, means: 'context_length' },
  { pattern: /exceed context limit/i, means: 'context_length' },
  { pattern: /credit balance is too low/i, means: 'out_of_credit' },
];

export function parseError(status: number, headers: Headers, body: unknown, now?: number): ProviderFailure {
  const error = readError(body);
  const message = toText(error.message);
  const byStatus = toOutcome(status);
  const signal = byStatus === 'bad_request' ? readSignal(message ?? '') : undefined;
  if (byStatus === 'rate_limited' && REQUEST_TOO_LARGE_TEXT.test(message ?? ''))
    return toResponseFailure({ status, headers, outcome: 'request_too_large', message, now });
  const outOfCredit = signal === 'out_of_credit' || error.type === 'billing_error';
  return toResponseFailure({ status, headers, outcome: refine(byStatus, signal), message, outOfCredit, now });
}

/** Bedrock leaves the wrapper out, and Vertex sends a list of one. */
function readError(answer: unknown): JsonObject {
  const body: unknown = Array.isArray(answer) ? answer[0] : answer;
  if (!isObject(body)) return {};
  return isObject(body.error) ? body.error : body;
}

function readSignal(message: string) {
  return TEXT_SIGNALS.find(({ pattern }) => pattern.test(message))?.means;
}

function refine(outcome: FailedCall, signal: ReturnType<typeof readSignal>): FailedCall {
  if (signal === undefined) return outcome;
  return signal === 'out_of_credit' ? 'auth' : signal;
}
