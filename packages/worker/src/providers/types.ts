import type { ChatRequest, Completion, TokenUsage } from '@sluice/shared/chat';
import type { ErrorCode } from '@sluice/shared/errors';
import type { AttemptOutcome } from '@sluice/shared/outcomes';
import type { AnnouncedRates } from '@sluice/shared/queue/announced-limits';
import type { ChainEntry, JobEndpoint } from '@sluice/shared/queue/job';
import type { Reason } from '@sluice/shared/reasons';
import type { SseEvent } from './sse.js';

/** A larger answer is not read. 2,048 vectors of 1,536 numbers fit, as base64: the most that one request can ask for there. */
export const MAX_ANSWER_BYTES = 18 * 1024 * 1024;

/**
 * A provider turns the common format into its own and back. Everything here is pure: no I/O, no metrics, no
 * mutation of the input, so that a call can be built again on a retry or a fallback.
 */
export interface Provider {
  /** With every call, beside the credentials. */
  headers: Readonly<Record<string, string>>;
  /** Lower-case name of the response header that holds upstream's own request id. */
  requestIdHeader: string;
  /** The provider's request body. Throws GatewayError `invalid_request` naming the field that cannot be translated. */
  buildRequest(request: ChatRequest, entry: ChainEntry): Record<string, unknown>;
  /** Whether `buildRequest` leaves the messages of this JSON as they are. Absent: it never does. */
  passesMessages?(json: Buffer): boolean;
  /** `parseResponse` gets the text of a 2xx body, and not its parsed JSON. */
  readsText?: true;
  /** Throws UnusableResponse when a 2xx body is not a completion. `now` (ms) dates an answer that has no date. */
  parseResponse(body: unknown, now?: number): ParsedResponse;
  /** Never throws, whatever the body is. `now` (ms) is what a `retry-after` date is counted from. */
  parseError(status: number, headers: Headers, body: unknown, now?: number): ProviderFailure;
  /** The query for one page of the model list. */
  modelsQuery(after?: string): Record<string, string>;
  /** Throws UnusableResponse when the body is not a model list. */
  parseModels(body: unknown): ModelsPage;
  /** How it answers in pieces. Absent: it does not. */
  stream?: StreamFormat;
}

/** An answer in pieces, put together to the body of the whole one, which `parseResponse` reads. */
export interface StreamFormat {
  /** What the body of a call has more when the answer is to come in pieces. */
  ask: Readonly<Record<string, unknown>>;
  /** Whether the answer to this request can come in pieces. */
  takes(request: ChatRequest): boolean;
  assemble(): Assembler;
}

export interface Assembler {
  /** The characters that it holds. */
  readonly held: number;
  /** Whether the last piece has come. A server may say so, and not end its answer. */
  readonly isComplete: boolean;
  /** False when the event is only a sign of life. */
  take(event: SseEvent): boolean;
  /** The body as the provider would have sent it whole. Undefined when the pieces make none. */
  body(): unknown;
  /** The tokens that the call has taken so far, at least. */
  soFar(): TokensSoFar;
}

export interface TokensSoFar {
  input: number;
  output: number;
}

/** Response headers by lower-case name. */
export type Headers = Record<string, string | string[] | undefined>;

export interface ParsedResponse {
  completion: Completion;
  usage: TokenUsage;
  /** The tier that the provider says it served, for the price. */
  serviceTier?: string;
  /** Some of its tokens are audio, which has prices that the registry does not know. */
  hasAudio?: true;
  /** Writes an answer that is no completion, with the caller's name of the model. */
  write?: (model: string) => string;
  /** What the provider says that the call cost, in USD. Any number: nobody has checked it. */
  reportedUsd?: number;
}

/** The parts of an answer that decide its price. */
export type Billed = Pick<ParsedResponse, 'usage' | 'serviceTier' | 'hasAudio' | 'reportedUsd'>;

/** A failed provider call, in the gateway's terms. */
export interface ProviderFailure {
  outcome: Exclude<AttemptOutcome, 'ok'>;
  code: ErrorCode;
  /** Safe to show to the caller: no provider key, no internal address. */
  message: string;
  param?: string;
  /** Set when the provider's code and field, not its words, say that it does not take a field, or not this value of it. */
  refusedField?: { field: string; isValue: boolean };
  /** The model is served by OpenAI's Responses API only: at all, or a request with tools. */
  needsResponses?: 'always' | 'with_tools';
  /** The provider's own code for a mistake of the caller. It has letters, digits and `_.-` only. */
  providerCode?: string;
  /** Why, where the outcome alone does not say it. */
  reason?: Reason;
  /** Upstream's words, cleaned. They may still quote the prompt, or a key that looks like nothing. */
  said?: string;
  /** Which field of the request the model does not take. */
  why?: string;
  /** Whether the next entry of the chain may be tried. */
  fallback: boolean;
  status?: number;
  /** How long the provider asked to be left alone. */
  retryAfterMs?: number;
  /** The limit that a refusal names in words. */
  saidLimit?: AnnouncedRates;
  /** Too many calls ran at a time, as far as the provider's words and headers tell. */
  isCrowded?: true;
  /** Set when nobody should call meanwhile: that model, or the whole provider. */
  coolDown?: 'model' | 'provider';
}

export interface ModelsPage {
  models: { id: string; created: number }[];
  /** Set when there is another page. */
  next?: string;
}

/** How a provider's own batch API speaks. Everything here is pure, too. */
export interface BatchFormat {
  /** One line of the batch as JSON. `id` comes back with its result. */
  line(id: string, body: Record<string, unknown>, endpoint?: JobEndpoint): string;
  /** The body that creates the batch: of uploaded lines (`file`), or with the lines themselves. */
  create(mark: string, file: string, lines: readonly string[], endpoint?: JobEndpoint): string;
  /** Throws UnusableResponse, like the other readers. */
  parseBatch(body: unknown): BatchNews;
  listQuery(after?: string): Record<string, string>;
  parseList(body: unknown): { batches: BatchNews[]; next?: string };
  /** Where the results are: paths behind that of the batches, or behind that of the files. */
  results(news: BatchNews): { of: 'batches' | 'files'; path: string }[];
  parseResult(line: unknown): BatchResult;
}

/** What the provider says about one of its batches. */
export interface BatchNews {
  id: string;
  status: 'under_way' | 'ended' | 'failed';
  /** When it was created, in ms. */
  created: number;
  /** All lines, and those that have ended. */
  total: number;
  ended: number;
  /** The mark that was given at its creation, where the provider keeps one. */
  mark?: string;
  /** Files with results. */
  files: string[];
  /** The provider's code for a failed one. */
  code?: string;
}

/** The result of a line. Without a status the provider has not run it. */
export interface BatchResult {
  id: string;
  status?: number;
  body?: unknown;
}

/** A 2xx answer that is not usable as a completion. */
export class UnusableResponse extends Error {
  override readonly name = 'UnusableResponse';
}

/** A 2xx answer that tells of an error. It means what it would mean with a status of its own. */
export class FailedResponse extends UnusableResponse {
  constructor(
    /** The status that the error names. 200 when it names none. */
    readonly status: number,
    readonly error: unknown,
    /** What was generated before the error came. The provider may charge for it. */
    readonly billed?: Billed,
  ) {
    super('the answer is an error');
  }
}
