/** Calls to the admin api. Everything that goes wrong becomes one line for a person. */
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Response } from 'node-fetch';
import { CliError, UsageError } from '../output/cli-error.js';
import { type AdminAddress, TOKEN_PLACES } from './address.js';

const TIMEOUT_MS = 60_000;
const FILE_TIMEOUT_MS = 120_000;

export type Query = Record<string, string | number | undefined>;

/** The admin api has refused. */
export class AdminRefusal extends CliError {
  override readonly name = 'AdminRefusal';

  constructor(
    message: string,
    readonly status: number,
    readonly code: string,
    /** The whole answer; some refusals say more than their message. */
    readonly body: unknown,
  ) {
    super(message);
  }
}

export class AdminClient {
  /** An apply may make thousands of calls: they share a few connections. */
  readonly #agent: HttpAgent;

  constructor(private readonly address: AdminAddress) {
    this.#agent = new (address.url.startsWith('https:') ? HttpsAgent : HttpAgent)({ keepAlive: true });
  }

  get url(): string {
    return this.address.url;
  }

  get<T>(path: string, query: Query = {}): Promise<T> {
    return this.send<T>('GET', path + queryText(query));
  }

  /** All items of a list. */
  async list<T>(path: string, query: Query = {}): Promise<T[]> {
    return (await this.get<{ data: T[] }>(path, query)).data;
  }

  async send<T>(method: string, path: string, body?: unknown, moreMs = 0): Promise<T> {
    const response = await this.#call(method, path, AbortSignal.timeout(TIMEOUT_MS + moreMs), body);
    return (await this.#json(response)) as T;
  }

  /** Sends a file as it is read. */
  async sendFile<T>(path: string, query: Query, file: NodeJS.ReadableStream, bytes: number): Promise<T> {
    const headers = { 'content-type': 'application/jsonl', 'content-length': String(bytes) };
    const signal = AbortSignal.timeout(FILE_TIMEOUT_MS);
    const response = await this.#call('POST', path + queryText(query), signal, file, headers);
    return (await this.#json(response)) as T;
  }

  /** The body as it arrives, for as long as it takes. */
  async stream(path: string, query: Query): Promise<NodeJS.ReadableStream> {
    const response = await this.#call('GET', path + queryText(query));
    if (!response.body) throw new CliError(`${this.url} sent an empty answer`);
    return response.body;
  }

  async #call(
    method: string,
    path: string,
    signal?: AbortSignal,
    body?: unknown,
    raw?: Record<string, string>,
  ): Promise<Response> {
    const { url, token } = this.address;
    // Loaded with the first call: `sluice --help` and `sluice check` do without it.
    const { default: fetch } = await import('node-fetch');
    const response = await fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : (raw ?? { 'content-type': 'application/json' })),
      },
      agent: this.#agent,
      // The token is for this address only.
      redirect: 'manual',
      ...(body === undefined ? {} : { body: raw ? (body as NodeJS.ReadableStream) : JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    }).catch((error: unknown) => {
      throw this.unreachable(error);
    });
    if (!response.ok) throw this.#refusal(path, response.status, await this.#json(response));
    return response;
  }

  async #json(response: Response): Promise<unknown> {
    const text = await response.text().catch((error: unknown) => {
      throw this.unreachable(error);
    });
    try {
      return JSON.parse(text);
    } catch {
      throw new CliError(
        `${this.url} answered ${response.status} without JSON; ADMIN_URL must be the admin listener`,
      );
    }
  }

  #refusal(path: string, status: number, body: unknown): CliError {
    const { message, code } = errorOf(body);
    if (status === 401)
      return new CliError(
        `the admin api at ${this.url} refused the token of ${this.address.tokenFrom}; it is looked for in ${TOKEN_PLACES}`,
      );
    // A path that names nothing is always there.
    if (status === 404 && /^\/\w+(?:\?|$)/.test(path))
      return new CliError(`${this.url} is not the admin api; ADMIN_URL must be the admin listener`);
    return new AdminRefusal(message ?? `${this.url} answered ${status}`, status, code ?? '', body);
  }

  unreachable(error: unknown): CliError {
    const reason =
      error instanceof Error && error.name === 'TimeoutError' ? 'no answer in time' : codeOf(error);
    return new CliError(
      `cannot reach the admin api at ${this.url} (${reason}); start the gateway with "npm start", or set ADMIN_URL`,
    );
  }
}

/** A path whose parts are what the caller has: path`/workspaces/${id}`. */
export function path(texts: TemplateStringsArray, ...parts: string[]): string {
  const encoded = parts.map((part) => {
    if (/^\.{0,2}$/.test(part)) throw new UsageError(`"${part}" is no name`);
    return encodeURIComponent(part);
  });
  return texts.map((text, i) => text + (encoded[i] ?? '')).join('');
}

function queryText(query: Query): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) given.set(name, String(value));
  return given.size === 0 ? '' : `?${given}`;
}

function errorOf(body: unknown): { message?: string; code?: string } {
  const error = (body as { error?: { message?: string; code?: string } } | null)?.error;
  return typeof error === 'object' && error !== null ? error : {};
}

function codeOf(error: unknown): string {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code;
  return error instanceof Error ? error.message : String(error);
}
