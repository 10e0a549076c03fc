/** Reads an error answer. Both formats are read alike: compatible servers and clouds mix them, and wrap them in their own ways. */
import { type FailedCall, outcomeRow } from '@sluice/shared/outcomes';
import { type Meaning, meaningOf, type NamedError, UNTAKEN } from './error-table.js';
import { failureOf } from './failure.js';
import { isObject, type JsonObject, toText } from './json.js';
import { readSaidLimit } from './rate-headers.js';
import { parseRetryAfter } from './retry-after.js';
import type { Headers, ProviderFailure } from './types.js';
import { cleanUpstreamText } from './upstream-text.js';

const DAY_MS = 86_400_000;
/** More is neither searched nor shown. */
const MAX_TEXT = 4_000;
const MOST_DETAILS = 20;
const SHOWN_DETAILS = 3;
const FIELD = /^[a-z][a-z0-9_]{0,63}$/;
const CODE = /^[\w.-]{1,64}$/;

interface ReadError extends NamedError {
  /** The provider's words, uncleaned. */
  message?: string | undefined;
  code?: string | undefined;
  /** How long the body asks to wait. */
  waitMs?: number | undefined;
}

/** Never throws, whatever the body is. */
export function parseError(status: number, headers: Headers, body: unknown, now?: number): ProviderFailure {
  const error = readError(body);
  const means = meaningOf(status, { ...error, names: [...error.names, ...exceptionIn(headers)] });
  const outcome = toOutcome(means, status);
  const failure = failureOf(outcome, status);
  const said = cleanUpstreamText(error.message ?? '');
  if (said !== '') failure.said = said;
  if (outcomeRow(outcome).quotesUpstream) {
    failure.message = said || failure.message;
    const found = outcome === 'refused_field' ? fieldIn(error.text) : undefined;
    const param = cleanUpstreamText(error.param ?? found ?? '');
    if (param !== '') failure.param = param;
    const code = cleanUpstreamText(error.code ?? '');
    if (CODE.test(code)) failure.providerCode = code;
  }
  if (outcome === 'refused_field') Object.assign(failure, named(error));
  if (outcome === 'model_not_found') failure.param = 'model';
  const needed = (status === 400 || status === 404) && responsesFor(error);
  if (needed) failure.needsResponses = needed;
  if (outcome === 'rate_limited' || outcome === 'overloaded') {
    // Gemini asks to wait for seconds also when nothing will pass before the next day.
    const told = means === 'daily_limit' ? DAY_MS : error.waitMs;
    const retryAfterMs = parseRetryAfter(headers, now) ?? told;
    if (retryAfterMs !== undefined) failure.retryAfterMs = retryAfterMs;
  }
  const saidLimit = outcome === 'rate_limited' && status === 429 && readSaidLimit(error.text);
  if (saidLimit) failure.saidLimit = saidLimit;
  if (outcome === 'rate_limited' && means !== 'out_of_credit' && isCrowded(status, headers, error, failure))
    failure.isCrowded = true;
  if (means === 'out_of_credit') failure.coolDown = 'provider';
  else if (outcome === 'rate_limited') failure.coolDown = 'model';
  return failure;
}

/** Words about calls at a time. */
const AT_A_TIME =
  /concurren|simultaneous|in parallel|parallel requests|in[- ]flight|too many (?:active|open|ongoing|running|pending) requests/i;
/** Words about an amount in a time, and a quota. */
const IN_A_TIME =
  /per[- ]?(?:second|min|minute|hour|day|week|month)|\b(?:[RT]P[SMHDW]|[IO]TPM)\b|quota|\btokens?\b|\bdaily\b|\bmonthly\b/i;
const RATE_HEADER = /^(?:x-ratelimit-|anthropic-ratelimit-)/;

/**
 * Whether a 429 is about calls at a time. Some servers say nothing but 429. Then it is taken for that, because a limit of an
 * amount comes with words, with headers or with a time to wait.
 */
function isCrowded(
  status: number,
  headers: Headers,
  { names, text }: ReadError,
  { retryAfterMs }: ProviderFailure,
): boolean {
  if (status !== 429) return false;
  const words = [...names, text].join('\n');
  if (AT_A_TIME.test(words)) return true;
  if (retryAfterMs !== undefined || IN_A_TIME.test(words)) return false;
  return !Object.keys(headers).some((name) => RATE_HEADER.test(name));
}

/** A refusal of a value that the caller chose has a code, and may quote the caller. This one has none. */
function responsesFor({ code, param = '', text }: ReadError): ProviderFailure['needsResponses'] {
  if (code !== undefined || !/\bv1\/responses\b/.test(text)) return undefined;
  if (param === 'model') return 'always';
  return param === 'reasoning_effort' ? 'with_tools' : undefined;
}

/** What the provider's code and field say by themselves. Its words may quote a caller. */
function named({ code = '', param = '' }: ReadError): Pick<ProviderFailure, 'refusedField'> {
  const untaken = Object.hasOwn(UNTAKEN, code) ? UNTAKEN[code] : undefined;
  if (!untaken || !FIELD.test(param)) return {};
  return { refusedField: { field: param, isValue: untaken === 'value' } };
}

/** The name that the text begins with, as in `tool_choice: type "any" is …`, the first one in quotes, or the one after a colon. */
function fieldIn(text: string): string | undefined {
  const first = /^([a-z]+(?:_[a-z]+)+)(?:[.[]\S{0,64})?: /.exec(text);
  if (first) return first[1];
  const quoted = /[`'"]([a-zA-Z_]\w{0,63})(?:[.[][^`'"]{0,64})?[`'"]/.exec(text);
  const after = /(?:(?:supplied|supported|model):|parameter) (\w{1,64})/i.exec(text);
  return quoted?.[1] ?? after?.[1];
}

function toOutcome(means: Meaning, status: number): FailedCall {
  if (means === 'out_of_credit') return status === 429 ? 'rate_limited' : 'auth';
  return means === 'daily_limit' ? 'rate_limited' : means;
}

/** With a wrapper, without one, as a list of one, or with `error` as a string. A page of HTML is undefined here. */
function readError(answer: unknown): ReadError {
  const body: unknown = Array.isArray(answer) ? answer[0] : answer;
  if (!isObject(body)) return { names: [], text: '' };
  const error = isObject(body.error) ? body.error : body;
  const { message, param } = readMessage(toText(body.error) ?? error.message ?? error.detail);
  const metadata = isObject(error.metadata) ? error.metadata : {};
  const { names, quotas, waitMs } = readDetails(error.details);
  const read: ReadError = {
    message,
    param: toText(error.param) ?? param,
    code: toText(error.code),
    names: [...namesIn(error), ...texts([metadata.limit_source]), ...names],
    text: [message?.slice(0, MAX_TEXT), ...quotas].join('\n'),
    waitMs,
  };
  return withInner(read, metadata.raw);
}

/** The names of OpenAI and Anthropic, Google's `status` and AWS's `__type`, which has a namespace before it. */
function namesIn({ code, type, status, __type }: JsonObject): string[] {
  return texts([code, type, status, toText(__type)?.split('#').at(-1)]);
}

function texts(values: readonly unknown[]): string[] {
  return values.flatMap((value) => toText(value) ?? []);
}

/** AWS names its exception in a header: `ThrottlingException:http://…`. */
function exceptionIn({ 'x-amzn-errortype': header }: Headers): string[] {
  return typeof header === 'string' ? header.split(':', 1) : [];
}

/** OpenRouter says only that a provider failed, and puts that provider's answer beside it. */
function withInner(outer: ReadError, raw: unknown): ReadError {
  const text = toText(raw)?.slice(0, MAX_TEXT);
  if (text === undefined) return outer;
  let inner: ReadError = { message: text, names: [], text };
  try {
    inner = readError(JSON.parse(text));
  } catch {
    // It is no JSON, and so it is the message.
  }
  return {
    ...outer,
    message: inner.message ?? outer.message,
    param: inner.param ?? outer.param,
    code: inner.code ?? outer.code,
    names: [...outer.names, ...inner.names],
    text: `${inner.text}\n${outer.text}`,
  };
}

/** Anthropic's details are an object with a code, and Google's a list: of used-up quotas, of reasons, and of a time to wait. */
function readDetails(details: unknown): { names: string[]; quotas: string[]; waitMs?: number | undefined } {
  if (isObject(details)) return { names: texts([details.error_code]), quotas: [] };
  const list = Array.isArray(details) ? details.slice(0, MOST_DETAILS).filter(isObject) : [];
  const violations = list.flatMap((each) => (Array.isArray(each.violations) ? each.violations : []));
  const [seconds] = list.flatMap(
    ({ retryDelay }) => /^(\d{1,6}(?:\.\d+)?)s$/.exec(toText(retryDelay) ?? '')?.[1] ?? [],
  );
  return {
    names: texts(list.map(({ reason }) => reason)),
    quotas: texts(
      violations
        .slice(0, MOST_DETAILS)
        .filter(isObject)
        .map(({ quotaId }) => quotaId),
    ),
    waitMs: seconds === undefined ? undefined : Math.ceil(Number(seconds) * 1_000),
  };
}

/** Mistral and other servers made with FastAPI say what is wrong by field: `{"detail": [{"loc": […], "msg": "…"}]}`. */
function readMessage(value: unknown): { message?: string | undefined; param?: string } {
  const detail = isObject(value) ? value.detail : value;
  if (!Array.isArray(detail)) return { message: toText(detail) };
  const found = detail
    .slice(0, SHOWN_DETAILS)
    .filter(isObject)
    .map(({ loc, msg }) => ({
      path: toPath(loc),
      message: toText(msg)?.slice(0, MAX_TEXT) ?? 'is not valid',
    }));
  const [first] = found;
  if (!first) return {};
  const message = found
    .map((each) => [each.path, each.message].filter((part) => part !== '').join(': '))
    .join('; ');
  return { message, param: first.path };
}

/** `["body", "messages", 0, "content"]` is `messages[0].content`. */
function toPath(loc: unknown): string {
  const steps: unknown[] = Array.isArray(loc) ? loc.slice(0, MOST_DETAILS) : [];
  return (steps[0] === 'body' ? steps.slice(1) : steps)
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${toText(step)?.slice(0, 64) ?? ''}`))
    .join('')
    .replace(/^\./, '');
}
