/** /v1/files and /v1/batches of OpenAI. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Batches, SimulatedBatch } from './batches.js';
import { type Dialect, type Fields, isFields } from './dialect.js';
import { EMBEDDINGS_PATH, openaiEmbeddings } from './embeddings.js';
import { inputsOf } from './embeddings-request.js';
import { openai } from './openai.js';
import { invalidValue, missing, refuse } from './openai-refusals.js';

const MAX_LINES = 50_000;
/** Of all lines together. */
const MAX_INPUTS = 50_000;

const ENDPOINTS = new Map<unknown, Dialect>(
  [openai, openaiEmbeddings].map((dialect) => [dialect.chatPath, dialect]),
);

function countInputs(body: unknown): number {
  return isFields(body) ? inputsOf(body.input).length : 0;
}

interface StoredFile {
  id: string;
  key: string;
  purpose: string;
  bytes: number;
  content: string;
}

interface FileLine {
  custom_id?: unknown;
  method?: unknown;
  url?: unknown;
  body?: unknown;
}

export class OpenaiBatches {
  readonly #files = new Map<string, StoredFile>();
  #count = 0;

  constructor(private readonly batches: Batches) {}

  /** Undefined: the path is none of theirs. `form` is the upload. A string is the content of a file. */
  respond(
    method: string,
    url: URL,
    headers: IncomingHttpHeaders,
    body: unknown,
    form: FormFields | undefined,
  ): Fields | string | undefined {
    const key = /^Bearer (\S+)$/.exec(headers.authorization ?? '')?.[1] ?? '';
    const [, , room, id = '', action] = url.pathname.split('/');
    const call = `${method} ${room}${id === '' ? '' : '/id'}${action === undefined ? '' : `/${action}`}`;
    switch (call) {
      case 'POST files':
        return this.#upload(key, form);
      case 'GET files/id/content':
        return this.#fileOf(key, id).content;
      case 'POST batches':
        return this.#create(key, body);
      case 'GET batches':
        return this.#list(key, url.searchParams);
      case 'GET batches/id':
        return this.#present(this.batches.find(openai, key, id));
      case 'POST batches/id/cancel': {
        const batch = this.batches.find(openai, key, id);
        if (batch.endedAt !== undefined) throw refuse(`Cannot cancel a batch with status 'completed'.`);
        batch.isCancelled = true;
        return this.#present(batch);
      }
      default:
        return undefined;
    }
  }

  #upload(key: string, form: FormFields | undefined): Fields {
    if (form?.file === undefined) throw missing('file');
    if (form.purpose !== 'batch') throw invalidValue('purpose', form.purpose ?? '', ['batch']);
    if (!form.filename?.endsWith('.jsonl')) throw refuse('Invalid file format for Batch API. Must be .jsonl');
    const id = `file-sim${++this.#count}`;
    const file = { id, key, purpose: 'batch', bytes: form.file.length, content: form.file };
    this.#files.set(id, file);
    const created = Math.floor(Date.now() / 1000);
    return {
      id,
      object: 'file',
      bytes: file.bytes,
      created_at: created,
      purpose: 'batch',
      status: 'processed',
    };
  }

  #fileOf(key: string, id: string): StoredFile {
    const file = this.#files.get(id) ?? this.#resultFile(key, id);
    if (file?.key !== key) throw openai.notFound('GET', `/v1/files/${id}`);
    return file;
  }

  #resultFile(key: string, id: string): StoredFile | undefined {
    const match = /^file-(out|err)-(.+)$/.exec(id);
    const batch = this.batches.all.find((each) => each.id === match?.[2] && each.key === key);
    if (!match || !batch) return undefined;
    const content = contentOf(batch, match[1] === 'out');
    return { id, key, purpose: 'batch_output', bytes: content.length, content };
  }

  #create(key: string, body: unknown): Fields {
    if (!isFields(body)) throw openai.badJson();
    const { input_file_id: input, endpoint, completion_window: window, metadata } = body;
    if (typeof input !== 'string') throw missing('input_file_id');
    const dialect = ENDPOINTS.get(endpoint);
    if (!dialect) throw invalidValue('endpoint', endpoint ?? '', [...ENDPOINTS.keys()].map(String));
    if (window !== '24h') throw invalidValue('completion_window', window ?? '', ['24h']);
    const file = this.#fileOf(key, input);
    if (file.purpose !== 'batch') throw refuse('Invalid file: its purpose must be batch.', 'input_file_id');
    const { lines, errors } = readFile(file.content, dialect);
    const batch = this.batches.add(dialect, {
      key,
      endpoint: dialect.chatPath,
      inputFile: input,
      metadata: metadata ?? null,
      lines: errors.length > 0 ? [] : lines,
      ...(errors.length > 0 ? { errors } : {}),
    });
    return this.#present(batch);
  }

  #list(key: string, query: URLSearchParams): Fields {
    const limit = Number(query.get('limit') ?? 20);
    if (!(limit >= 1 && limit <= 100)) throw refuse("Invalid 'limit'", 'limit');
    const { page, more } = this.batches.list(openai, key, query.get('after'), limit);
    const data = page.map((batch) => this.#present(batch));
    return { object: 'list', data, first_id: page[0]?.id, last_id: page.at(-1)?.id, has_more: more };
  }

  #present(batch: SimulatedBatch): Fields {
    const count = (end: string) => batch.lines.filter((line) => line.end === end).length;
    const hasEnded = batch.endedAt !== undefined;
    const status = batch.errors
      ? 'failed'
      : batch.isCancelled
        ? hasEnded
          ? 'cancelled'
          : 'cancelling'
        : hasEnded
          ? 'completed'
          : 'in_progress';
    const file = (kind: 'out' | 'err') =>
      hasEnded && contentOf(batch, kind === 'out') !== '' ? `file-${kind}-${batch.id}` : null;
    return {
      id: batch.id,
      object: 'batch',
      endpoint: batch.endpoint,
      completion_window: '24h',
      status,
      errors: batch.errors ? { object: 'list', data: batch.errors } : null,
      input_file_id: batch.inputFile,
      output_file_id: file('out'),
      error_file_id: file('err'),
      created_at: Math.floor(batch.createdAt / 1000),
      request_counts: {
        total: batch.lines.length,
        completed: count('succeeded'),
        failed: count('errored') + count('expired'),
      },
      metadata: batch.metadata,
    };
  }
}

export interface FormFields {
  file?: string;
  filename?: string;
  purpose?: string;
}

/** Checks the file as the real API does before it runs a line. */
function readFile(content: string, { chatPath }: Dialect) {
  const errors: Fields[] = [];
  const seen = new Set<unknown>();
  const models = new Set<unknown>();
  const lines = content
    .split('\n')
    .filter((text) => text.trim() !== '')
    .map((text, i) => {
      const wrong = (code: string, message: string) =>
        errors.push({ code, message, line: i + 1, param: null });
      let line: FileLine = {};
      try {
        line = JSON.parse(text) as FileLine;
      } catch {
        wrong('invalid_json_line', 'This line is not parseable as valid JSON.');
        return { customId: '', body: undefined };
      }
      if (typeof line.custom_id !== 'string') wrong('missing_required_parameter', 'custom_id is required.');
      if (seen.has(line.custom_id)) wrong('duplicate_custom_id', 'The custom_id is used twice.');
      if (line.method !== 'POST') wrong('invalid_method', 'The method must be POST.');
      if (line.url !== chatPath) wrong('invalid_url', 'The URL differs from the batch’s endpoint.');
      seen.add(line.custom_id);
      models.add(isFields(line.body) ? line.body.model : undefined);
      return { customId: String(line.custom_id), body: line.body };
    });
  const whole = (code: string, message: string) => errors.push({ code, message, line: null, param: null });
  if (lines.length === 0) whole('empty_file', 'The file has no lines.');
  if (lines.length > MAX_LINES) whole('too_many_tasks', 'The file has too many lines.');
  const inputs = lines.reduce((sum, { body }) => sum + countInputs(body), 0);
  if (chatPath === EMBEDDINGS_PATH && inputs > MAX_INPUTS)
    whole('too_many_inputs', 'The lines have too many embedding inputs.');
  if (models.size > 1) whole('mismatched_model', 'All lines must have the same model.');
  return { lines, errors };
}

function contentOf(batch: SimulatedBatch, isOutput: boolean): string {
  return batch.lines
    .map(({ customId, end, status, answer }, i) => {
      if ((end === 'succeeded') !== isOutput || end === 'canceled') return '';
      const response =
        answer === undefined ? null : { status_code: status, request_id: `req_batch${i}`, body: answer };
      const error = response ? null : { code: 'batch_expired', message: 'This request was not run in time.' };
      return `${JSON.stringify({ id: `batch_req_${i}`, custom_id: customId, response, error })}\n`;
    })
    .join('');
}
