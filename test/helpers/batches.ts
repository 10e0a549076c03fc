import OpenAI, { toFile } from 'openai';
import type { Batch } from 'openai/resources/batches';
import { until } from './until.js';

export interface Line {
  custom_id: string;
  method: string;
  url: string;
  body: unknown;
}

export interface ResultLine {
  id: string;
  custom_id: string;
  response: { status_code: number; request_id: string; body: Record<string, unknown> } | null;
  error: { code: string; message: string } | null;
}

const FINAL = ['completed', 'failed', 'expired', 'cancelled'];

/** A line that asks this text of a route. */
export function line(id: string, text: string, model = 'fast'): Line {
  return {
    custom_id: id,
    method: 'POST',
    url: '/v1/chat/completions',
    body: { model, messages: [{ role: 'user', content: text }] },
  };
}

export function toJsonl(lines: readonly unknown[]): string {
  return lines.map((each) => `${JSON.stringify(each)}\n`).join('');
}

/** Stores the lines and makes a batch of them. */
export async function createBatch(client: OpenAI, content: string, more: object = {}): Promise<Batch> {
  const file = await client.files.create({
    file: await toFile(Buffer.from(content), 'lines.jsonl'),
    purpose: 'batch',
  });
  return client.batches.create({
    input_file_id: file.id,
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
    ...more,
  });
}

export function batchEnd(client: OpenAI, id: string): Promise<Batch> {
  return until('the end of the batch', async () => {
    const batch = await client.batches.retrieve(id).catch((error: unknown) => {
      // An api process that was killed is started again meanwhile, and one whose Redis has stopped for seconds says so.
      if (error instanceof OpenAI.APIConnectionError) return undefined;
      if (error instanceof OpenAI.APIError && error.status === 503) return undefined;
      throw error;
    });
    return batch && FINAL.includes(batch.status) && batch;
  });
}

export async function readResults(client: OpenAI, fileId: string | null | undefined): Promise<ResultLine[]> {
  if (!fileId) return [];
  const text = await (await client.files.content(fileId)).text();
  return text
    .split('\n')
    .filter((each) => each !== '')
    .map((each) => JSON.parse(each) as ResultLine);
}
