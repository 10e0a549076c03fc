/** Calls of a provider's own batch API. They are rare, so they share nothing with the calls of requests. */
import { Blob } from 'node:buffer';
import type { BatchApi } from '@sluice/shared/config/batch-api';
import { batchApiOf } from '@sluice/shared/config/batch-api';
import { cutMember } from '@sluice/shared/json/member';
import { readLines } from '@sluice/shared/json/read-lines';
import type { JobEndpoint } from '@sluice/shared/queue/job';
import type { Dispatcher } from 'undici';
import { batchFormats } from '../providers/index.js';
import { isObject, toId, toText } from '../providers/json.js';
import { type BatchFormat, type BatchNews, type BatchResult, UnusableResponse } from '../providers/types.js';
import type { Upstream } from './call-provider.js';
import { parseJson } from './http-client.js';
import { readText } from './read-text.js';
import { loadUndici } from './undici-pool.js';
import type { Upstreams } from './upstreams.js';

const TIMEOUT_MS = 30_000;
/** An upload has some megabytes. */
const UPLOAD_TIMEOUT_MS = 120_000;
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;
const MAX_RESULT_BYTES = 16 * 1024 * 1024;
/** The results are read as fast as they are stored. When the time is over, they are read again, without those that are. */
const RESULTS_TIMEOUT_MS = 1_800_000;
const MAX_PAGES = 20;
/** No line of ours has a longer id. */
const MAX_LINE_ID = 64;
/** The file of lines is deleted by the provider after three days. */
const FILE_SECONDS = 3 * 86_400;
/** These say of a 429 that it does not pass by itself. */
const SPENT = ['insufficient_quota', 'billing_hard_limit_reached'];
/** Proxies answer so when they have lost the server, or have no more patience with it. */
const FROM_BETWEEN = [408, 502, 504, 524];
/** The call failed before anything of it was sent. */
const NOT_SENT = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
];

/** `bytes`: how long its text is. */
export type ReadResult = BatchResult & { bytes: number };

/** The provider answered, and does not do it. The words are ours, and hold nothing of the batch. */
export class BatchRefused extends Error {
  override readonly name = 'BatchRefused';
  constructor(
    readonly status: number,
    private readonly code: string | undefined,
  ) {
    super(`its batch API answers ${status}${inWords(code)}`);
  }

  /** It is of no use to ask again soon, and nothing was done. */
  get isFinal(): boolean {
    return this.status < 500 && this.status !== 408 && this.status !== 409 && !this.isBusy;
  }

  /** The answer comes from somebody on the way, who waits no longer. The provider may still do it. */
  get isFromBetween(): boolean {
    return FROM_BETWEEN.includes(this.status);
  }

  /** Nothing was done, because there is too much to do. */
  get isBusy(): boolean {
    return this.status === 529 || (this.status === 429 && !SPENT.includes(this.code ?? ''));
  }
}

/** Whether nothing of the call can have reached the provider. */
export function wasNotSent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && NOT_SENT.includes(String(error.code));
}

/** The provider's own word for what is wrong, if it is one. */
export function inWords(code: string | undefined): string {
  return code !== undefined && /^[\w.-]{1,64}$/.test(code) ? `, ${code}` : '';
}

export class BatchClient {
  readonly #format: BatchFormat;
  readonly #api: BatchApi;

  constructor(
    private readonly upstream: Upstream,
    private readonly endpoint?: JobEndpoint,
  ) {
    const api = batchApiOf(upstream.config);
    if (!api) throw new BatchRefused(404, 'no_batch_api');
    this.#api = api;
    this.#format = batchFormats[upstream.config.kind];
  }

  line(id: string, body: Record<string, unknown>): string {
    return this.#format.line(id, body, this.endpoint);
  }

  /** Uploads the lines where the provider wants a file. Returns the id of the file, or ''. */
  async upload(lines: readonly string[]): Promise<string> {
    if (this.#api.files === '') return '';
    const form = new FormData();
    form.append('purpose', 'batch');
    form.append('expires_after[anchor]', 'created_at');
    form.append('expires_after[seconds]', String(FILE_SECONDS));
    form.append('file', new Blob([`${lines.join('\n')}\n`]), 'lines.jsonl');
    const file = await this.#json('POST', this.#api.files, {}, await encode(form), UPLOAD_TIMEOUT_MS);
    const id = isObject(file) ? toId(file.id) : undefined;
    if (id === undefined) throw new UnusableResponse('the uploaded file has no id');
    return id;
  }

  async create(mark: string, file: string, lines: readonly string[]): Promise<BatchNews> {
    const body = this.#format.create(mark, file, lines, this.endpoint);
    return this.#format.parseBatch(
      await this.#json('POST', this.#api.batches, {}, body, this.createTimeoutMs),
    );
  }

  /** Without a file, the call that creates a batch has all lines. */
  get createTimeoutMs(): number {
    return this.#api.files === '' ? UPLOAD_TIMEOUT_MS : TIMEOUT_MS;
  }

  /** The provider's batches since a moment, newest first. */
  async listSince(since: number): Promise<BatchNews[]> {
    const found: BatchNews[] = [];
    let after: string | undefined;
    for (let page = 0; page < MAX_PAGES; page++) {
      const query = this.#format.listQuery(after);
      const { batches, next } = this.#format.parseList(await this.#json('GET', this.#api.batches, query));
      found.push(...batches.filter(({ created }) => created >= since));
      if (next === undefined || batches.some(({ created }) => created < since)) break;
      after = next;
    }
    return found;
  }

  async get(id: string): Promise<BatchNews> {
    return this.#format.parseBatch(await this.#json('GET', this.#pathOf(id)));
  }

  async cancel(id: string): Promise<void> {
    await this.#json('POST', `${this.#pathOf(id)}/cancel`, {}, '');
  }

  /** Cancels a batch that may have ended meanwhile. */
  async stop(id: string): Promise<void> {
    await this.cancel(id).catch((error: unknown) => {
      if (!(error instanceof BatchRefused) || error.status >= 500 || error.status === 429) throw error;
    });
  }

  /** Streams the results. A line that cannot be read is left out, and so counts as not run. */
  async *results(news: BatchNews): AsyncIterable<ReadResult> {
    for (const { of, path } of this.#format.results(news)) {
      const { body } = await this.#send('GET', this.#api[of] + path, {}, undefined, RESULTS_TIMEOUT_MS);
      for await (const { text } of readLines(body, MAX_RESULT_BYTES)) {
        const result = text === undefined ? undefined : this.#readResult(text);
        if (result) yield result;
      }
    }
  }

  #readResult(text: string): ReadResult | undefined {
    const result = this.#parseResult(text, []);
    if (!result || result.id === '' || result.id.length > MAX_LINE_ID) return undefined;
    const isError = result.status !== undefined && result.status >= 300;
    // The words of an error go to the caller. A provider may quote the key in them.
    const shown = isError ? this.#parseResult(text, this.upstream.credentials.secrets()) : result;
    return shown && { ...shown, bytes: text.length };
  }

  #parseResult(text: string, secrets: readonly string[]): BatchResult | undefined {
    const line = (this.endpoint && withBodyAsText(text)) ?? parseJson(text, secrets);
    return isObject(line) ? this.#format.parseResult(line) : undefined;
  }

  #pathOf(id: string): string {
    return `${this.#api.batches}/${encodeURIComponent(id)}`;
  }

  async #json(
    method: 'GET' | 'POST',
    path: string,
    query: Record<string, string> = {},
    body?: string | EncodedForm,
    timeoutMs = TIMEOUT_MS,
  ): Promise<unknown> {
    const answer = await this.#send(method, path, query, body, timeoutMs);
    const parsed = parseJson(await readText(answer.body, MAX_ANSWER_BYTES), []);
    if (parsed === undefined) throw new UnusableResponse('the answer is not JSON');
    return parsed;
  }

  /** Throws BatchRefused for any answer but 2xx. Redirects are not followed. */
  async #send(
    method: 'GET' | 'POST',
    path: string,
    query: Record<string, string>,
    body: string | EncodedForm | undefined,
    timeoutMs: number,
  ): Promise<Dispatcher.ResponseData> {
    const { config, credentials } = this.upstream;
    const search = new URLSearchParams({ ...config.query, ...query }).toString();
    const url = config.baseUrl + path + (search === '' ? '' : `?${search}`);
    const found = await credentials.headersFor({ method, url, body: typeof body === 'string' ? body : '' });
    if (!found || this.upstream.missingKey !== undefined) throw new BatchRefused(401, 'no_key');
    const { 'content-type': json, ...headers } = found;
    const type = typeof body === 'object' ? body.type : (json ?? 'application/json');
    const answer = await loadUndici().request(url, {
      method,
      headers: body === undefined ? headers : { ...headers, 'content-type': type },
      body: (typeof body === 'object' ? body.bytes : body) ?? null,
      headersTimeout: Math.min(timeoutMs, UPLOAD_TIMEOUT_MS),
      bodyTimeout: TIMEOUT_MS,
      signal: AbortSignal.timeout(timeoutMs),
    });
    if (answer.statusCode >= 200 && answer.statusCode < 300) return answer;
    const error = parseJson(
      await readText(answer.body, MAX_ANSWER_BYTES).catch(() => ''),
      credentials.secrets(),
    );
    throw new BatchRefused(answer.statusCode, codeIn(error));
  }
}

/** Deeper than a result with vectors is nested. */
const MOST_DEPTH = 16;

/** The result of a line as its parser wants it, with the text of a good answer unread. Undefined when it is no good answer. */
function withBodyAsText(text: string): unknown {
  const response = cutMember(text, 'response', '0', MOST_DEPTH);
  const body = response && cutMember(response.member, 'body', '0', MOST_DEPTH);
  const [line, answer] = [parseJson(response?.outline ?? '', []), parseJson(body?.outline ?? '', [])];
  if (!body || !isObject(line) || !isObject(answer) || !isGood(answer.status_code)) return undefined;
  return { ...line, response: { ...answer, body: body.member } };
}

function isGood(status: unknown): boolean {
  return typeof status === 'number' && status >= 200 && status < 300;
}

/** One of a provider's keys makes the batch, and only the same key can ask for it. */
export function batchUpstreamOf(
  upstreams: Upstreams,
  provider: string,
  key = '',
): { own: Upstream; key: string } {
  const upstream = upstreams.get(provider);
  if (!upstream) throw new BatchRefused(404, 'provider_removed');
  const [first] = upstream.pool.keys();
  const name = key === '' ? (first ?? '') : key;
  if (name === '') return { own: upstream, key: '' };
  const own = upstream.pool.get(name);
  if (!own) throw new BatchRefused(401, 'key_removed');
  return { own, key: name };
}

interface EncodedForm {
  type: string;
  bytes: Uint8Array;
}

/** Node encodes the form, because undici 7 never ends the upload of its own FormData on Node 24. */
async function encode(form: FormData): Promise<EncodedForm> {
  const encoded = new Response(form);
  return {
    type: encoded.headers.get('content-type') ?? '',
    bytes: new Uint8Array(await encoded.arrayBuffer()),
  };
}

function codeIn(body: unknown): string | undefined {
  const error = isObject(body) && isObject(body.error) ? body.error : undefined;
  return toText(error?.code) ?? toText(error?.type);
}
