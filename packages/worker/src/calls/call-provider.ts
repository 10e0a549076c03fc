/** One call of one entry: build, send, read. Success and failure are both data. It does not throw for upstream's errors. */
import type { ChatRequest, TokenUsage } from '@sluice/shared/chat';
import type { ProviderConfig } from '@sluice/shared/config/provider';
import { GatewayError } from '@sluice/shared/errors';
import { writeExactly } from '@sluice/shared/json/exact';
import type { CalledApi, ChainEntry } from '@sluice/shared/queue/job';
import type { Clock } from '@sluice/shared/redis/clock';
import type { AnswerFits } from '../answer-check/answer-check.js';
import { failureOf } from '../providers/failure.js';
import { readRates, type SaidRates } from '../providers/rate-headers.js';
import {
  type Billed,
  FailedResponse,
  type ParsedResponse,
  type Provider,
  type ProviderFailure,
  type TokensSoFar,
  UnusableResponse,
} from '../providers/types.js';
import { type Background, BackgroundCall } from './background-call.js';
import { buildBody } from './build-body.js';
import type { Credentials, OutgoingCall } from './credentials-type.js';
import type { Endpoint } from './endpoint.js';
import type { RefusedField } from './fit-request.js';
import {
  type HttpAnswer,
  type HttpClient,
  HttpFailure,
  type Pieces,
  parseJson,
  type Silences,
} from './http-client.js';
import type { Run } from './run.js';
import type { StopSignal } from './stop-signal.js';

const IN_BACKGROUND = { background: true };

/** A provider as this process can call it. */
export interface Upstream {
  config: ProviderConfig;
  /** This provider with each of its keys, by the key's name. Empty when there is only one key. */
  pool: Map<string, Upstream>;
  provider: Provider;
  endpoint: Endpoint;
  /** The endpoint, where it is not the one for chats. */
  api?: CalledApi;
  /** The same provider by OpenAI's Responses API, if it has one. */
  responses?: Upstream;
  /** Its embeddings endpoint, if it has one. */
  embeddings?: Upstream;
  credentials: Credentials;
  /** The variable that should hold the provider's key, if it is not set. */
  missingKey: string | undefined;
  /** The key for the digests of prompts. Workers with the same key make the same digests. */
  promptKey: string;
  http: HttpClient;
  answerFits: AnswerFits;
}

/**
 * The provider with the key of its pool that a job was given. The pool may have changed since, and then any of its keys
 * will do: without a key the provider would refuse the call.
 */
export function withKey(whole: Upstream, name = ''): Upstream {
  const named = whole.pool.get(name);
  if (named || whole.pool.size === 0) return named ?? whole;
  const keys = [...whole.pool.values()];
  return keys.find(({ missingKey }) => missingKey === undefined) ?? keys[0] ?? whole;
}

export type CallResult = {
  /** The exact duration. Absent when nothing was sent. */
  ms?: number;
  upstreamId?: string;
  /** The provider's limits and what is left of them, as the provider states it. */
  rates?: SaidRates;
  /** The job is to wait again: too many calls ran at a time, no other key of the pool is free, or a limit is used up. */
  waitsFor?: 'slot' | 'key' | 'limit' | 'cooldown';
  /** The key for the next call, which is made at once. The key of this call is left alone. */
  nextKey?: string;
  /** The call was sent, but no error and no answer with a usage came. So the provider may bill it. */
  billUnknown?: true;
  /** What the provider bills of an answer that the caller does not get. */
  dropped?: Billed;
  /** The tokens that an answer in pieces had taken at least, where nobody knows the bill. */
  soFar?: TokensSoFar;
  /** How long the first piece took. */
  firstTokenMs?: number;
  /** The provider keeps the answer. It is to be called when that is not needed any more. */
  release?: () => void;
} & ({ response: ParsedResponse; failure?: never } | { failure: ProviderFailure; response?: never });

export async function callProvider(
  upstream: Upstream,
  request: ChatRequest,
  entry: ChainEntry,
  timeoutMs: number,
  { workspace, signal, answer: share }: Pick<Run, 'workspace' | 'signal' | 'answer'>,
  clock: Clock,
  /** Set when the answer is to come in pieces. */
  silences?: Silences,
  /** Set when the provider is to carry the call out in the background. */
  background?: Background,
): Promise<CallResult> {
  const { provider, endpoint, credentials, http } = upstream;
  const format = silences && provider.stream;
  if (upstream.missingKey !== undefined) return { failure: failureOf('no_key') };
  let body: string | Buffer;
  let path: string;
  try {
    path = endpoint.chatPath(entry.model);
    body = buildBody(upstream, request, entry, background ? IN_BACKGROUND : format?.ask);
  } catch (error) {
    if (error instanceof GatewayError) return { failure: untranslatable(error) };
    throw error;
  }

  const started = performance.now();
  const elapsed = () => performance.now() - started;
  const leftMs = () => Math.max(1, timeoutMs - elapsed());
  let pieces: Pieces | undefined;
  const call: OutgoingCall = { method: 'POST', url: upstream.config.baseUrl + path, body };
  const send = async () => {
    const found = credentials.headersFor(call);
    const headers = found instanceof Promise ? await inTime(found, leftMs(), signal) : found;
    if (format) pieces = { ...silences, assembler: format.assemble() };
    return (
      headers &&
      http.post(path, headers, body, leftMs(), signal, share, { asText: provider.readsText, pieces })
    );
  };
  const kept = background && new BackgroundCall(upstream, path, background);
  let answer: HttpAnswer | undefined;
  try {
    answer = kept?.hasBegun ? undefined : await send();
    // A token may have been revoked before its expiry.
    if (answer?.status === 401 && credentials.renew) {
      if (await inTime(credentials.renew(), leftMs(), signal)) answer = await send();
    }
    if (kept && (kept.hasBegun || (answer && kept.begins(answer)))) {
      answer = await kept.answer(leftMs, { signal, answer: share });
      // The provider has forgotten it, or never knew it with this key, or another run has settled the job and deleted it.
      if (answer.status === 404) {
        await kept.askWhoseItIs(signal);
        if (signal.reason) throw new HttpFailure('cancelled', true, undefined);
        return { ms: elapsed(), failure: failureOf('unknown', 404), billUnknown: true };
      }
    }
    if (!answer) return { failure: failureOf('auth') };
  } catch (error) {
    if (!(error instanceof HttpFailure)) throw error;
    const result: CallResult = { ms: elapsed(), failure: unanswered(error) };
    if (error.sent) result.billUnknown = true;
    if (pieces) notePieces(result, pieces, started);
    // Another run of the job may ask for the answer.
    if (kept?.hasBegun && signal.reason !== 'lock_lost') void kept.tidy(true);
    return result;
  }
  const ms = elapsed();
  const result: CallResult = read(upstream, answer, clock.now());
  result.ms = ms;
  if (pieces) notePieces(result, pieces, started);
  if (kept?.hasBegun) {
    result.release = () => void kept.tidy(false);
    // The call was made, and only the question for its answer was refused.
    if (answer.status > 299) result.billUnknown = true;
  }
  const id = upstreamId(provider, answer);
  if (id !== undefined) result.upstreamId = id;
  const rates = readRates(answer.headers, clock.now());
  if (rates) result.rates = rates;
  const { response } = result;
  if (response && !(await upstream.answerFits(workspace, request, response.completion))) {
    const { response: _response, billUnknown: _billUnknown, ...made } = result;
    return { ...made, failure: failureOf('schema_mismatch', answer.status), dropped: response };
  }
  return result;
}

/** What was generated before an error may be billed. */
function notePieces(result: CallResult, { assembler, firstAt }: Pieces, started: number): void {
  if (firstAt === undefined) return;
  result.firstTokenMs = firstAt - started;
  const soFar = assembler.soFar();
  if (result.failure && !result.dropped && soFar.output > 0) result.billUnknown = true;
  if (result.billUnknown) result.soFar = soFar;
}

/** A source of tokens may hang. A call waits for it no longer than for its answer, and only while somebody waits for the call. */
async function inTime<T>(work: Promise<T>, ms: number, signal: StopSignal): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const ended = new Promise<never>((_, reject) => {
    const end = (reason: HttpFailure['reason']) => reject(new HttpFailure(reason, false, undefined));
    timer = setTimeout(() => end('timeout'), ms);
    signal.onStop = () => end('cancelled');
    if (signal.reason) end('cancelled');
  });
  try {
    return await Promise.race([work, ended]);
  } finally {
    clearTimeout(timer);
    signal.onStop = undefined;
  }
}

/** Says why an entry cannot take the request. A call finds that out by itself, so this is only for the other entries. */
export function whyUnsupported(
  { provider }: Upstream,
  request: ChatRequest,
  entry: ChainEntry,
): ProviderFailure | undefined {
  try {
    provider.buildRequest(request, entry);
    return undefined;
  } catch (error) {
    if (error instanceof GatewayError) return untranslatable(error);
    throw error;
  }
}

function read(upstream: Upstream, answer: HttpAnswer, now: number): CallResult {
  const { provider } = upstream;
  if (answer.status < 200 || answer.status > 299) {
    return { failure: provider.parseError(answer.status, answer.headers, answer.body, now) };
  }
  try {
    const response = provider.parseResponse(answer.body, now);
    return isEmpty(response.usage) ? { response, billUnknown: true } : { response };
  } catch (error) {
    if (error instanceof FailedResponse) {
      const { status, headers, body } = toErrorAnswer(error, answer, upstream);
      const failure = provider.parseError(status, headers, body, now);
      const { billed } = error;
      if (!billed) return { failure };
      return isEmpty(billed.usage) ? { failure, billUnknown: true } : { failure, dropped: billed };
    }
    if (error instanceof UnusableResponse)
      return { failure: failureOf('bad_response', answer.status), billUnknown: true };
    throw error;
  }
}

/** The error of a 2xx as an answer of its own. The HTTP client leaves a 2xx as it is, and this one may quote the key. */
export function toErrorAnswer(
  { status, error }: FailedResponse,
  { headers }: HttpAnswer,
  { credentials }: Upstream,
): HttpAnswer {
  return { status, headers, body: parseJson(writeExactly({ error }), credentials.secrets()) };
}

/** A compatible server may leave its usage out. A real usage is never zero, because no prompt is empty. */
export function isEmpty({ input, cachedInput, cacheWrite, cacheWrite1h, output }: TokenUsage): boolean {
  return input + cachedInput + cacheWrite + cacheWrite1h + output === 0;
}

function upstreamId(provider: Provider, answer: HttpAnswer): string | undefined {
  const id = answer.headers[provider.requestIdHeader];
  return typeof id === 'string' && /^[\w.-]{1,128}$/.test(id) ? id : undefined;
}

/** The caller asked for something that this provider's format cannot express. Another provider's may. */
function untranslatable(error: GatewayError): ProviderFailure {
  const failure: ProviderFailure = {
    outcome: 'unsupported',
    code: error.code,
    message: error.message,
    fallback: true,
  };
  if (error.param !== null) failure.param = error.param;
  return failure;
}

/** The facts of the model say that it does not take a field of the request. Another model may. */
export function untaken({ provider, model }: ChainEntry, { field, words }: RefusedField): ProviderFailure {
  return {
    outcome: 'unsupported',
    code: 'invalid_request',
    message: `${field} is not taken by ${provider}/${model}: it ${words}.`,
    param: field,
    fallback: true,
    why: `${field} ${words}`,
  };
}

function unanswered({ reason }: HttpFailure): ProviderFailure {
  switch (reason) {
    case 'shortage':
      return {
        ...failureOf('internal_error'),
        code: 'service_unavailable',
        message: 'The gateway is short of connections.',
        reason: 'overloaded',
      };
    case 'lost':
      return failureOf('unknown');
    case 'cancelled':
      return failureOf('cancelled');
    default:
      return failureOf(reason);
  }
}
