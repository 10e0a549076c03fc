import type { IncomingHttpHeaders } from 'node:http';

/** Servers that take OpenAI's format. */
export type ServerName =
  | 'mistral'
  | 'groq'
  | 'deepseek'
  | 'xai'
  | 'gemini'
  | 'fireworks'
  | 'cerebras'
  | 'bedrock'
  | 'together'
  | 'openrouter';

export type ProviderName = 'openai' | 'anthropic' | ServerName;

export type Fields = Record<string, unknown>;

/** The parts of a normal answer that a scripted rule may change. */
export interface Overrides {
  text?: string;
  /** Merged over the computed usage, nested objects one level deep; in the provider's own field names. */
  usage?: Fields;
  serviceTier?: string;
  /** The provider's own word: `finish_reason` or `stop_reason`. */
  finishReason?: string;
  emptyChoices?: boolean;
}

/** The facts of one call that an answer is made from. */
export interface AnswerContext {
  n: number;
  /** First 16 hex digits of the SHA-256 of the last user text; empty when echoing is switched off. */
  textHash: string;
  userText: string;
  echo: boolean;
  overrides: Overrides;
}

/** How one provider checks requests and words its answers. */
export interface Dialect {
  name: ProviderName;
  chatPath: string;
  requestIdHeader: string;
  /** Throws Refusal, like the other checks. */
  checkAuth(headers: IncomingHttpHeaders, acceptKeys: readonly string[] | undefined): void;
  checkContentType(headers: IncomingHttpHeaders): void;
  /** After it the body is safe to answer. */
  checkBody(body: Fields, knowsModel: (id: string) => boolean): void;
  /** Tolerates any shape: it is also used on bodies that will be refused. */
  lastUserText(body: unknown): string;
  answer(body: Fields, context: AnswerContext): Fields;
  /** The same answer as the events of a stream. */
  pieces(answer: Fields, body: Fields): string[];
  /** The event of an error in the middle of a stream. */
  errorPiece(refusal: Refusal, requestId: string): string;
  errorBody(refusal: Refusal, requestId: string): unknown;
  badJson(): Refusal;
  tooLarge(): Refusal;
  notFound(method: string, path: string): Refusal;
  wrongMethod(method: string, path: string): Refusal;
  contextLength(body: unknown): Refusal;
  /** The body that the provider sends with a bare status, such as a scripted 429. */
  statusRefusal(status: number): Refusal;
  modelList(ids: readonly string[], query: URLSearchParams): Fields & { data: Fields[] };
}

/** A request that the provider would refuse. */
export class Refusal extends Error {
  override readonly name = 'Refusal';

  constructor(
    readonly status: number,
    message: string,
    readonly type: string,
    readonly param: string | null = null,
    readonly code: string | null = null,
  ) {
    super(message);
  }
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isJsonContentType(value: string | undefined): boolean {
  return value !== undefined && /^application\/json\s*(;|$)/i.test(value);
}

/** Canonical base64 only: the providers decode the data and fail on anything else. */
export function isBase64(data: string): boolean {
  return data.length > 0 && data.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(data);
}

export const IMAGE_TYPES: ReadonlySet<string> = new Set([
  'image/jpeg',
  'image/png',
  'image/gif',
  'image/webp',
]);
