/**
 * HTTP to one provider: a pool of keep-alive connections, one total time per call, a cap on the answer's size, and
 * no redirects (a redirected POST would carry the provider key to another host).
 */
import { errors, Pool } from 'undici';
import { diedOnReuse } from './dead-sockets.js';
import type { Headers } from './providers/types.js';

const MAX_RESPONSE_BYTES = 16 * 1024 * 1024;
const CONNECT_TIMEOUT_MS = 10_000;

export interface HttpAnswer {
  status: number;
  headers: Headers;
  /** The parsed JSON, or undefined when the body is not JSON. */
  body: unknown;
}

/** Why there is no answer. `cancelled`: the caller's signal, not the clock, ended the call. */
export class HttpFailure extends Error {
  override readonly name = 'HttpFailure';
  constructor(
    readonly reason: 'connection' | 'timeout' | 'cancelled' | 'too_large',
    cause: unknown,
  ) {
    super(`no answer: ${reason}`, { cause });
  }
}

export class HttpClient {
  readonly #pool: Pool;
  readonly #basePath: string;
  readonly #secret: string | undefined;

  /** `secret`, the key of the provider, is taken out of the errors it answers with. */
  constructor(baseUrl: string, connections: number, secret?: string) {
    this.#secret = secret;
    const url = new URL(baseUrl);
    this.#basePath = url.pathname.replace(/\/$/, '');
    this.#pool = new Pool(url.origin, {
      connections,
      connect: { timeout: CONNECT_TIMEOUT_MS },
      maxResponseSize: MAX_RESPONSE_BYTES,
      // The call's own timer covers the whole of it.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  async post(
    path: string,
    headers: Record<string, string>,
    body: string,
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<HttpAnswer> {
    const call = new AbortController();
    let reason: 'timeout' | 'cancelled' | undefined;
    const end = (why: 'timeout' | 'cancelled') => {
      reason ??= why;
      call.abort();
    };
    const timer = setTimeout(end, timeoutMs, 'timeout');
    const cancel = () => end('cancelled');
    if (signal?.aborted) cancel();
    signal?.addEventListener('abort', cancel, { once: true });
    try {
      return await this.#sendOnLiveSocket(path, headers, body, call.signal);
    } catch (error) {
      if (error instanceof errors.ResponseExceededMaxSizeError) throw new HttpFailure('too_large', error);
      throw new HttpFailure(reason ?? 'connection', error);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', cancel);
    }
  }

  /** Upstream may have closed a kept-alive socket just as the call was sent on it. The call is then sent again, once. */
  async #sendOnLiveSocket(
    path: string,
    headers: Record<string, string>,
    body: string,
    signal: AbortSignal,
  ): Promise<HttpAnswer> {
    try {
      return await this.#send(path, headers, body, signal);
    } catch (error) {
      if (signal.aborted || !diedOnReuse(error)) throw error;
      return await this.#send(path, headers, body, signal);
    }
  }

  async #send(
    path: string,
    headers: Record<string, string>,
    body: string,
    signal: AbortSignal,
  ): Promise<HttpAnswer> {
    const request = { path: this.#basePath + path, method: 'POST', headers, body, signal } as const;
    const response = await this.#pool.request(request);
    const text = await response.body.text();
    const isJson = /^application\/(?:[\w.-]+\+)?json\b/i.test(String(response.headers['content-type'] ?? ''));
    return {
      status: response.statusCode,
      headers: response.headers,
      body: isJson ? parseJson(text, response.statusCode < 300 ? undefined : this.#secret) : undefined,
    };
  }

  close(): Promise<void> {
    return this.#pool.destroy();
  }
}

function parseJson(text: string, secret: string | undefined): unknown {
  const hide = (_key: string, value: unknown) =>
    typeof value === 'string' && secret !== undefined ? value.replaceAll(secret, '[redacted]') : value;
  try {
    return secret === undefined ? JSON.parse(text) : JSON.parse(text, hide);
  } catch {
    return undefined;
  }
}
