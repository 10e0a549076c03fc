import type { FailedCall } from '@sluice/shared/outcomes';
import { toOutcome, toResponseFailure } from '../failure.js';
import { isObject, toText } from '../json.js';
import type { Headers, ProviderFailure } from '../types.js';

const OUT_OF_CREDIT: ReadonlySet<string> = new Set([
  'insufficient_quota',
  'billing_hard_limit_reached',
  'billing_not_active',
]);

/** OpenAI's code, and the type that llama.cpp's server sends. */
const CONTEXT_LENGTH: ReadonlySet<string> = new Set(['context_length_exceeded', 'exceed_context_size_error']);

/** vLLM and others send no code: their text is the only signal. */
const CONTEXT_LENGTH_TEXT: readonly RegExp[] = [/maximum context length/i];

/** Mistral, DeepSeek, OpenRouter and Bedrock answer 400 to a model that they do not know. */
const UNKNOWN_MODEL_TEXT =
  /^(?:invalid model\b|model not exist|the provided model identifier is invalid|.{1,200} is not a valid model id)/i;

/** Gemini and xAI answer 400 to a wrong key. */
const WRONG_KEY_TEXT = /^(?:api key not valid|incorrect api key|api key expired)/i;

/** A 429 that is about this one request: it is larger than the limit of tokens per minute. */
const REQUEST_TOO_LARGE_TEXT = /^request too large\b/i;

interface ErrorBody {
  message?: string;
  type?: string;
  code?: string;
  param?: string;
}

export function parseError(status: number, headers: Headers, body: unknown, now?: number): ProviderFailure {
  const error = readError(body);
  const outOfCredit = status < 500 && hasMark(error, OUT_OF_CREDIT);
  return toResponseFailure({
    status,
    headers,
    outcome: refine(toOutcome(status), error, outOfCredit),
    message: error.message,
    code: error.code,
    param: error.param,
    outOfCredit,
    now,
  });
}

function refine(outcome: FailedCall, error: ErrorBody, outOfCredit: boolean): FailedCall {
  if (outOfCredit) return outcome === 'rate_limited' ? outcome : 'auth';
  if (error.code === 'model_not_found' && (outcome === 'bad_request' || outcome === 'auth')) {
    return 'model_not_found';
  }
  if (outcome === 'bad_request') {
    if (isContextLength(error)) return 'context_length';
    if (UNKNOWN_MODEL_TEXT.test(error.message ?? '')) return 'model_not_found';
    if (WRONG_KEY_TEXT.test(error.message ?? '')) return 'auth';
  }
  if (outcome === 'rate_limited' && REQUEST_TOO_LARGE_TEXT.test(error.message ?? '')) {
    return 'request_too_large';
  }
  return outcome;
}

function isContextLength(error: ErrorBody): boolean {
  if (hasMark(error, CONTEXT_LENGTH)) return true;
  // For a message it means that the prompt is too long for this provider. For any other field it is a plain mistake.
  if (error.code === 'string_above_max_length') return error.param?.startsWith('messages') ?? false;
  return CONTEXT_LENGTH_TEXT.some((pattern) => pattern.test(error.message ?? ''));
}

function hasMark(error: ErrorBody, marks: ReadonlySet<string>): boolean {
  return marks.has(error.code ?? '') || marks.has(error.type ?? '');
}

/** Compatible servers send `error` as a string, the fields without the wrapper, a list of one, or a page of HTML. */
function readError(answer: unknown): ErrorBody {
  const body: unknown = Array.isArray(answer) ? answer[0] : answer;
  if (!isObject(body)) return {};
  if (typeof body.error === 'string') return { message: body.error };
  const error = isObject(body.error) ? body.error : body;
  return {
    message: toText(error.message),
    type: toText(error.type),
    code: toText(error.code),
    param: toText(error.param),
  };
}
