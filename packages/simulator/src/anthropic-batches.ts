/** /v1/messages/batches of Anthropic. */
import type { IncomingHttpHeaders } from 'node:http';
import { anthropic } from './anthropic.js';
import { checkFields, checkList, checkNoExtras, checkString, refuse } from './anthropic-refusals.js';
import type { Batches, SimulatedBatch } from './batches.js';
import type { Fields } from './dialect.js';

const MAX_REQUESTS = 100_000;
const CUSTOM_ID = /^[a-zA-Z0-9_-]{1,64}$/;

export class AnthropicBatches {
  constructor(private readonly batches: Batches) {}

  /** Undefined: the path is none of theirs. A string is the results as JSON lines. */
  respond(
    method: string,
    url: URL,
    headers: IncomingHttpHeaders,
    body: unknown,
  ): Fields | string | undefined {
    const key = String(headers['x-api-key'] ?? '');
    const [, , , , id = '', action] = url.pathname.split('/');
    const call = `${method}${id === '' ? '' : ' id'}${action === undefined ? '' : ` ${action}`}`;
    switch (call) {
      case 'POST':
        return this.#create(key, body);
      case 'GET':
        return this.#list(key, url.searchParams);
      case 'GET id':
        return present(this.batches.find(anthropic, key, id));
      case 'GET id results': {
        const batch = this.batches.find(anthropic, key, id);
        if (batch.endedAt === undefined) throw refuse('Batch has no available results.');
        return results(batch);
      }
      case 'POST id cancel': {
        const batch = this.batches.find(anthropic, key, id);
        if (batch.endedAt === undefined) batch.isCancelled = true;
        return present(batch);
      }
      default:
        return undefined;
    }
  }

  #create(key: string, body: unknown): Fields {
    checkFields(body, 'body');
    checkNoExtras(body, new Set(['requests']), '');
    checkList(body.requests, 'requests');
    if (body.requests.length === 0) throw refuse('requests: List should have at least 1 item');
    if (body.requests.length > MAX_REQUESTS) throw refuse('requests: List should have at most 100000 items');
    const seen = new Set<string>();
    const lines = body.requests.map((request, i) => {
      checkFields(request, `requests.${i}`);
      checkNoExtras(request, new Set(['custom_id', 'params']), `requests.${i}.`);
      const { custom_id: customId, params } = request;
      checkString(customId, `requests.${i}.custom_id`);
      if (!CUSTOM_ID.test(customId))
        throw refuse(`requests.${i}.custom_id: String should match pattern '${CUSTOM_ID.source}'`);
      if (seen.has(customId)) throw refuse('requests: custom_ids must be unique');
      seen.add(customId);
      checkFields(params, `requests.${i}.params`);
      return { customId, body: params };
    });
    return present(this.batches.add(anthropic, { key, lines }));
  }

  #list(key: string, query: URLSearchParams): Fields {
    const limit = Number(query.get('limit') ?? 20);
    if (!(limit >= 1 && limit <= 1000)) throw refuse('limit: Input should be between 1 and 1000');
    const { page, more } = this.batches.list(anthropic, key, query.get('after_id'), limit);
    return {
      data: page.map(present),
      has_more: more,
      first_id: page[0]?.id ?? null,
      last_id: page.at(-1)?.id ?? null,
    };
  }
}

function present(batch: SimulatedBatch): Fields {
  const hasEnded = batch.endedAt !== undefined;
  // Anthropic counts lines only when the whole batch has ended.
  const count = (end: string) => (hasEnded ? batch.lines.filter((line) => line.end === end).length : 0);
  return {
    id: batch.id,
    type: 'message_batch',
    processing_status: hasEnded ? 'ended' : batch.isCancelled ? 'canceling' : 'in_progress',
    request_counts: {
      processing: hasEnded ? 0 : batch.lines.length,
      succeeded: count('succeeded'),
      errored: count('errored'),
      canceled: count('canceled'),
      expired: count('expired'),
    },
    created_at: new Date(batch.createdAt).toISOString(),
    ended_at: hasEnded ? new Date(batch.endedAt ?? 0).toISOString() : null,
    expires_at: new Date(batch.createdAt + 86_400_000).toISOString(),
    cancel_initiated_at: null,
    archived_at: null,
    results_url: hasEnded ? `https://api.anthropic.com/v1/messages/batches/${batch.id}/results` : null,
  };
}

function results(batch: SimulatedBatch): string {
  return batch.lines
    .map(({ customId, end, answer }) => {
      const result =
        end === 'succeeded'
          ? { type: end, message: answer }
          : end === 'errored'
            ? { type: end, error: answer }
            : { type: end };
      return `${JSON.stringify({ custom_id: customId, result })}\n`;
    })
    .join('');
}
