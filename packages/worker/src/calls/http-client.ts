/**
 * HTTP to one provider: a pool of keep-alive connections, one total time per call, a cap on the answer's size, and
 * no redirects (a redirected POST would carry the provider key to another host).
 */
import { type LookupAddress, lookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { parseExactly } from '@sluice/shared/json/exact';
import { findExcess } from '@sluice/shared/json/measure';
import { isPublic } from '@sluice/shared/process/is-public';
import type { Dispatcher } from 'undici';
import { type Headers, MAX_ANSWER_BYTES } from '../providers/types.js';
import { type AnswerShare, SMALL_ANSWER_BYTES } from './answer-room.js';
import { deathOnReuse } from './dead-sockets.js';
import { hideSecrets } from './hide-secrets.js';
import { isShortage } from './shortage.js';
import type { StopSignal } from './stop-signal.js';
import { errors, Pool } from './undici-pool.js';

const CONNECT_TIMEOUT_MS = 10_000;

export interface HttpAnswer {
  status: number;
  headers: Headers;
  /** The parsed JSON with unchanged numbers, or the text that was asked for. Undefined when the body is not usable JSON. */
  body: unknown;
}

/** Why there is no answer. `cancelled`: the caller's signal, not the clock, ended the
 * call. `shortage`: this process could not open a connection. */
export class HttpFailure extends Error {
  override readonly name = 'HttpFailure';
  constructor(
    readonly reason: 'connection' | 'lost' | 'timeout' | 'cancelled' | 'too_large' | 'shortage',
    /** Whether any of the call was sent: the provider may then bill it. */
    readonly sent: boolean,
    cause: unknown,
  ) {
    super(`no answer: ${reason}`, { cause });
  }
}

export class HttpClient {
  readonly #pool: Pool;
  readonly #basePath: string;
  #leadsInside: boolean;

  /** `secrets`, such as the provider's key, are removed from the errors that the provider sends. */
  constructor(
    baseUrl: string,
    connections: number,
    private readonly secrets: () => readonly string[] = () => [],
  ) {
    const url = new URL(baseUrl);
    this.#basePath = url.pathname.replace(/\/$/, '');
    // Node does not look up an IP address.
    const address = url.hostname.replace(/^\[|\]$/g, '');
    this.#leadsInside = isIP(address) !== 0 && !isPublic(address);
    this.#pool = new Pool(url.origin, {
      connections,
      connect: { timeout: CONNECT_TIMEOUT_MS, lookup: this.#lookup },
      maxResponseSize: MAX_ANSWER_BYTES,
      // The call has its own timer for its whole time.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  /** Whether a connection went to an address that is not public, or was to go there. */
  get leadsInside(): boolean {
    return this.#leadsInside;
  }

  readonly #lookup: LookupFunction = (hostname, options, callback) => {
    lookup(hostname, options, (error, found: string | LookupAddress[], family) => {
      const addresses = typeof found === 'string' ? [found] : (found ?? []).map(({ address }) => address);
      if (!addresses.every(isPublic)) this.#leadsInside = true;
      callback(error, found, family);
    });
  };

  async post(
    path: string,
    headers: Readonly<Record<string, string>>,
    body: string | Buffer,
    timeoutMs: number,
    signal: StopSignal,
    share: AnswerShare,
    asText = false,
  ): Promise<HttpAnswer> {
    if (signal.reason) throw new HttpFailure('cancelled', false, undefined);
    const request = { path: this.#basePath + path, method: 'POST', headers, body } as const;
    // An earlier call of the same job may have left a share.
    share.giveBack();
    const call = new Call(this.#pool, request, this.secrets, share, asText);
    const timer = setTimeout(() => call.end('timeout'), timeoutMs);
    signal.onStop = () => call.end('cancelled');
    try {
      return await call.answer();
    } finally {
      clearTimeout(timer);
      signal.onStop = undefined;
    }
  }

  close(): Promise<void> {
    return this.#pool.destroy();
  }
}

/** One request and its answer as undici's events, because a stream for each answer would cost more than the rest. */
class Call implements Dispatcher.DispatchHandler {
  #controller: Dispatcher.DispatchController | undefined;
  #ended: HttpFailure | undefined;
  #triedAgain = false;
  #sent = false;
  #status = 0;
  #headers: Headers = {};
  #chunks: Buffer[] = [];
  #bytes = 0;
  #hasRoom = false;
  #resolve: (answer: HttpAnswer) => void = () => {};
  #reject: (failure: HttpFailure) => void = () => {};

  constructor(
    private readonly pool: Pool,
    private readonly request: Dispatcher.DispatchOptions,
    private readonly secrets: () => readonly string[],
    private readonly share: AnswerShare,
    private readonly asText: boolean,
  ) {}

  answer(): Promise<HttpAnswer> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.pool.dispatch(this.request, this);
    });
  }

  end(reason: HttpFailure['reason'], cause?: unknown): void {
    if (this.#ended) return;
    this.#ended = new HttpFailure(reason, this.#sent, cause);
    this.#reject(this.#ended);
    this.#controller?.abort(this.#ended);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#ended) controller.abort(this.#ended);
    else this.#sent = true;
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: Headers): void {
    this.#status = status;
    this.#headers = headers;
    const announced = Number(headers['content-length']);
    if (announced > SMALL_ANSWER_BYTES) this.#takeRoom(controller, announced);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes > SMALL_ANSWER_BYTES && !this.#hasRoom) this.#takeRoom(controller, MAX_ANSWER_BYTES);
  }

  /** Takes room once, for the largest possible answer, so that an answer can be read to its end. */
  #takeRoom(controller: Dispatcher.DispatchController, bytes: number): void {
    this.#hasRoom = true;
    if (!this.share.take(bytes, () => controller.resume())) controller.pause();
  }

  onResponseEnd(): void {
    const [first, ...more] = this.#chunks;
    const text = (more.length > 0 ? Buffer.concat(this.#chunks) : first)?.toString() ?? '';
    const isJson = /^application\/(?:[\w.-]+\+)?json\b/i.test(String(this.#headers['content-type'] ?? ''));
    this.#resolve({
      status: this.#status,
      headers: this.#headers,
      body: isJson ? this.#read(text) : undefined,
    });
  }

  #read(text: string): unknown {
    if (this.#status >= 300) return parseJson(text, this.secrets());
    return this.asText ? text : parseJson(text, []);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    // Upstream may have closed a kept-alive socket just as the call was sent on it. The call is then sent again, once.
    if (!this.#ended && !this.#triedAgain && deathOnReuse(error) === 'stale') {
      this.#triedAgain = true;
      this.#sent = false;
      this.pool.dispatch(this.request, this);
    } else this.end(toReason(error), error);
  }
}

function toReason(error: Error): HttpFailure['reason'] {
  if (error instanceof errors.ResponseExceededMaxSizeError) return 'too_large';
  if (isShortage(error)) return 'shortage';
  return deathOnReuse(error) ? 'lost' : 'connection';
}

/** Serialising this depth does not overflow the stack. A short text cannot nest so deep. */
const ANSWER_LIMITS = { depth: 1_000, keys: Number.POSITIVE_INFINITY, elements: Number.POSITIVE_INFINITY };
const SHORT = 2 * ANSWER_LIMITS.depth;

/** Undefined: the text is not usable JSON. `secrets` are removed from its strings. */
export function parseJson(text: string, secrets: readonly string[]): unknown {
  if (text.length > SHORT && findExcess(text, ANSWER_LIMITS)) return undefined;
  try {
    return secrets.length === 0 ? parseExactly(text) : JSON.parse(text, hideSecrets(secrets));
  } catch {
    return undefined;
  }
}
