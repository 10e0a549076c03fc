/**
 * Calls to the admin api. The browser adds the session's cookie, which no script can read. The header shows that this page
 * asks: a page of another site cannot send it.
 */
export class AdminError extends Error {
  override readonly name = 'AdminError';

  constructor(
    /** `unreachable`: there was no answer at all. */
    readonly code: string,
    message: string,
    readonly status = 0,
    /** Path of the field that is wrong. */
    readonly param: string | null = null,
  ) {
    super(message);
  }

  /** The gateway is away or cannot reach its Redis: the same call may work in a moment. */
  get isAway(): boolean {
    return this.status === 0 || this.status >= 500;
  }
}

export interface CallOptions {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  body?: unknown;
  signal?: AbortSignal;
  headers?: Readonly<Record<string, string>>;
}

export class AdminClient {
  constructor(private readonly onRefused: () => void) {}

  async get<T>(path: string, signal?: AbortSignal): Promise<T> {
    return (await (await this.fetch(path, signal ? { signal } : {})).json()) as T;
  }

  async send<T>(
    method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<T> {
    return (await (await this.fetch(path, { method, body, ...(headers ? { headers } : {}) })).json()) as T;
  }

  /** Sends a file as it is. */
  async sendFile<T>(path: string, file: Blob): Promise<T> {
    const headers = { 'content-type': 'application/jsonl' };
    return (await (await this.fetch(path, { method: 'POST', body: file, headers })).json()) as T;
  }

  /** Throws an AdminError for every answer that is no success. */
  async fetch(path: string, { method = 'GET', body, signal, headers }: CallOptions = {}): Promise<Response> {
    let response: Response;
    try {
      response = await fetch(path, {
        method,
        headers: {
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
          'x-sluice-console': '1',
        },
        ...(body === undefined ? {} : { body: body instanceof Blob ? body : JSON.stringify(body) }),
        ...(signal ? { signal } : {}),
        credentials: 'same-origin',
        redirect: 'error',
      });
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new AdminError('unreachable', 'The gateway does not answer.');
    }
    if (response.ok) return response;
    if (response.status === 401) this.onRefused();
    throw await toError(response);
  }
}

async function toError(response: Response): Promise<AdminError> {
  const body: unknown = await response.json().catch(() => undefined);
  const error = isRecord(body) && isRecord(body.error) ? body.error : {};
  return new AdminError(
    String(error.code ?? 'unreadable'),
    String(error.message ?? `The gateway answered with status ${response.status}.`),
    response.status,
    typeof error.param === 'string' ? error.param : null,
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** A path with its parts encoded: path`/keys/${id}`. */
export function path(texts: TemplateStringsArray, ...parts: string[]): string {
  return texts.reduce((whole, text, i) => whole + encodeURIComponent(parts[i - 1] ?? '') + text);
}

export function asAdminError(error: unknown): AdminError {
  return error instanceof AdminError ? error : new AdminError('page_fault', String(error));
}
