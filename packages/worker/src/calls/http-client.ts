/**
 * HTTP to one provider: a pool of keep-alive connections, one total time per call, a cap on the answer's size, and
 * no redirects (a redirected POST would carry the provider key to another host). An answer in pieces is also watched for
 * silence.
 */
import { type LookupAddress, lookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { isPublic } from '@sluice/shared/process/is-public';
import type { Dispatcher } from 'undici';
import { parseAnswer } from '../providers/json.js';
import { SseReader } from '../providers/sse.js';
import { type Assembler, type Headers, MAX_ANSWER_BYTES } from '../providers/types.js';
import { type AnswerShare, SMALL_ANSWER_BYTES } from './answer-room.js';
import { deathOnReuse } from './dead-sockets.js';
import { hideSecrets } from './hide-secrets.js';
import { isShortage } from './shortage.js';
import type { StopSignal } from './stop-signal.js';
import { Pool } from './undici-pool.js';

/** In pieces the same answer takes many times the bytes, of which few are held. */
const MAX_STREAM_BYTES = 8 * MAX_ANSWER_BYTES;
const CONNECT_TIMEOUT_MS = 10_000;
/** After the last piece the answer ends at once. A server that does not end it is not waited for. */
const END_MS = 1_000;

export interface HttpAnswer {
  status: number;
  headers: Headers;
  /** The parsed JSON with unchanged numbers, or the text that was asked for. Undefined when the body is not usable JSON. */
  body: unknown;
}

/** How long an answer in pieces may be silent: before its first piece, and after it. */
export interface Silences {
  firstMs: number;
  stallMs: number;
}

/** An answer in pieces, and who puts it together. */
export interface Pieces extends Silences {
  assembler: Assembler;
  /** When the first piece came. It is set by the call. */
  firstAt?: number;
}

/** Why there is no answer. `cancelled`: the caller's signal, not the clock, ended the
 * call. `stalled`: an answer in pieces was silent for too long. `shortage`: this process could not open a connection. */
export class HttpFailure extends Error {
  override readonly name = 'HttpFailure';
  constructor(
    readonly reason: 'connection' | 'lost' | 'timeout' | 'stalled' | 'cancelled' | 'too_large' | 'shortage',
    /** Whether any of the call was sent: the provider may then bill it. */
    readonly sent: boolean,
    cause: unknown,
  ) {
    super(`no answer: ${reason}`, { cause });
  }
}

export interface CallOptions {
  /** The body of an answer stays a text. */
  asText?: boolean | undefined;
  pieces?: Pieces | undefined;
  method?: 'GET' | 'POST' | 'DELETE';
}

const PLAIN: CallOptions = {};

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
      // The call has its own limits of bytes and time.
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
    body: string | Buffer | null,
    timeoutMs: number,
    signal: StopSignal,
    share: AnswerShare,
    { asText = false, pieces, method = 'POST' }: CallOptions = PLAIN,
  ): Promise<HttpAnswer> {
    if (signal.reason) throw new HttpFailure('cancelled', false, undefined);
    const request = { path: this.#basePath + path, method, headers, body } as const;
    // An earlier call of the same job may have left a share.
    share.giveBack();
    const watch = pieces && new PieceWatch(pieces);
    const call = new Call(this.#pool, request, this.secrets, share, asText, watch);
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

  /** Closes when the last call under way has ended. */
  closeWhenIdle(): Promise<void> {
    return this.#pool.close();
  }
}

/** Reads the pieces of one answer, and notices silence. */
class PieceWatch {
  readonly #reader: SseReader;
  #timer: NodeJS.Timeout | undefined;
  #onSilence: () => void = () => {};
  #heard = 0;
  #isEnding = false;

  constructor(private readonly pieces: Pieces) {
    const { assembler } = pieces;
    this.#reader = new SseReader((event) => {
      if (assembler.isComplete || !assembler.take(event) || pieces.firstAt !== undefined) return;
      pieces.firstAt = performance.now();
    });
  }

  get isComplete(): boolean {
    return this.pieces.assembler.isComplete;
  }

  /** The bytes of memory that the answer takes so far. */
  get held(): number {
    return this.pieces.assembler.held + this.#reader.held;
  }

  /** Before the first piece a sign of life does not help. */
  listen(onSilence = this.#onSilence): void {
    this.#onSilence = onSilence;
    if (this.#isEnding) return;
    if (this.#timer && this.pieces.firstAt === undefined) return;
    this.stop();
    const { firstAt, firstMs, stallMs } = this.pieces;
    this.#timer = setTimeout(() => this.#doubt(), firstAt === undefined ? firstMs : stallMs);
  }

  /** Nobody reads meanwhile, so silence says nothing. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  push(chunk: Buffer): void {
    const isFirst = this.pieces.firstAt === undefined;
    this.#heard++;
    if (this.#isEnding) return;
    this.#reader.push(chunk);
    if (this.isComplete) {
      this.#isEnding = true;
      this.stop();
      this.#timer = setTimeout(() => this.#onSilence(), END_MS);
      return;
    }
    if (!this.#timer) return;
    if (!isFirst) this.#timer.refresh();
    else if (this.pieces.firstAt !== undefined) this.listen();
  }

  body(): unknown {
    this.#reader.end();
    return this.pieces.assembler.body();
  }

  /** After a standstill of this process timers end before anything is read. So what lies there is read first. */
  #doubt(): void {
    const { firstAt } = this.pieces;
    const heard = this.#heard;
    this.#timer = undefined;
    setImmediate(() => {
      const goesOn = firstAt === undefined ? this.pieces.firstAt !== undefined : this.#heard > heard;
      if (goesOn) this.listen();
      else this.#onSilence();
    });
  }
}

const NOBODY_WAITS = () => {};

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
  /** Set when the answer comes in pieces. */
  #pieces: PieceWatch | undefined;
  #resolve: (answer: HttpAnswer) => void = () => {};
  #reject: (failure: HttpFailure) => void = () => {};

  constructor(
    private readonly pool: Pool,
    private request: Dispatcher.DispatchOptions | undefined,
    private readonly secrets: () => readonly string[],
    private readonly share: AnswerShare,
    private readonly asText: boolean,
    private readonly watch: PieceWatch | undefined,
  ) {}

  answer(): Promise<HttpAnswer> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.watch?.listen(() => this.end('stalled'));
      if (this.request) this.pool.dispatch(this.request, this);
    });
  }

  end(reason: HttpFailure['reason'], cause?: unknown): void {
    if (this.#ended) return;
    this.#ended = new HttpFailure(reason, this.#sent, cause);
    this.watch?.stop();
    // The last piece has come, and only the end of the answer is missing.
    if (this.#pieces?.isComplete) this.#resolve(this.#assembled(this.#pieces));
    else this.#reject(this.#ended);
    this.#controller?.abort(this.#ended);
    this.#letGo();
  }

  /**
   * An ended call can be reached for a while from old objects. It would become old with all that it has (under-way.ts): by its
   * promise, that is the whole run of its job.
   */
  #letGo(): void {
    this.request = undefined;
    this.#controller = undefined;
    this.#headers = {};
    this.#chunks = [];
    this.#pieces = undefined;
    this.#resolve = NOBODY_WAITS;
    this.#reject = NOBODY_WAITS;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#ended) controller.abort(this.#ended);
    else this.#sent = true;
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: Headers): void {
    this.#status = status;
    this.#headers = headers;
    if (this.watch && status < 300 && !isJson(headers)) {
      this.#pieces = this.watch;
      return;
    }
    // The provider answers whole, although it was asked for pieces.
    this.watch?.stop();
    const announced = Number(headers['content-length']);
    if (announced > MAX_ANSWER_BYTES) this.end('too_large');
    else if (announced > SMALL_ANSWER_BYTES) this.#takeRoom(controller, announced);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#ended) return;
    this.#bytes += chunk.length;
    if (this.#pieces) this.#onPieces(controller, this.#pieces, chunk);
    else if (this.#bytes > MAX_ANSWER_BYTES) this.end('too_large');
    else {
      this.#chunks.push(chunk);
      if (this.#bytes > SMALL_ANSWER_BYTES && !this.#hasRoom) this.#takeRoom(controller, MAX_ANSWER_BYTES);
    }
  }

  #onPieces(controller: Dispatcher.DispatchController, pieces: PieceWatch, chunk: Buffer): void {
    pieces.push(chunk);
    const { held } = pieces;
    if (held > MAX_ANSWER_BYTES || this.#bytes > MAX_STREAM_BYTES) this.end('too_large');
    else if (held > SMALL_ANSWER_BYTES && !this.#hasRoom) this.#takeRoom(controller, MAX_ANSWER_BYTES);
  }

  /** Takes room once, for the largest possible answer, so that an answer can be read to its end. */
  #takeRoom(controller: Dispatcher.DispatchController, bytes: number): void {
    this.#hasRoom = true;
    const resume = () => {
      if (!this.#ended) this.#pieces?.listen();
      controller.resume();
    };
    if (this.share.take(bytes, resume)) return;
    this.#pieces?.stop();
    controller.pause();
  }

  onResponseEnd(): void {
    this.#deliver();
    this.#letGo();
  }

  #deliver(): void {
    if (this.#pieces) {
      this.watch?.stop();
      this.#resolve(this.#assembled(this.#pieces));
      return;
    }
    const [first, ...more] = this.#chunks;
    const text = (more.length > 0 ? Buffer.concat(this.#chunks) : first)?.toString() ?? '';
    this.#resolve({
      status: this.#status,
      headers: this.#headers,
      body: isJson(this.#headers) ? this.#read(text) : undefined,
    });
  }

  #read(text: string): unknown {
    if (this.#status >= 300) return parseJson(text, this.secrets());
    return this.asText ? text : parseJson(text, []);
  }

  #assembled(pieces: PieceWatch): HttpAnswer {
    return { status: this.#status, headers: this.#headers, body: pieces.body() };
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    // Upstream may have closed a kept-alive socket just as the call was sent on it. The call is then sent again, once.
    if (this.request && !this.#triedAgain && deathOnReuse(error) === 'stale') {
      this.#triedAgain = true;
      this.#sent = false;
      this.pool.dispatch(this.request, this);
    } else this.end(toReason(error), error);
  }
}

function toReason(error: Error): HttpFailure['reason'] {
  if (isShortage(error)) return 'shortage';
  return deathOnReuse(error) ? 'lost' : 'connection';
}

function isJson({ 'content-type': type }: Headers): boolean {
  return /^application\/(?:[\w.-]+\+)?json\b/i.test(String(type ?? ''));
}

/** Undefined: the text is not usable JSON. `secrets` are removed from its strings. */
export function parseJson(text: string, secrets: readonly string[]): unknown {
  if (secrets.length === 0) return parseAnswer(text);
  return parseAnswer(text, (json) => JSON.parse(json, hideSecrets(secrets)));
}
