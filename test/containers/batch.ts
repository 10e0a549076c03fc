/** A batch whose api processes are killed one after the other: each of them reads what another one has written. */
import OpenAI, { toFile } from 'openai';
import { until } from '../helpers/until.js';

const LINES = 60;

export interface BatchOutcome {
  answered: number;
  lines: number;
  outputFile: string;
  output: string;
}

/** How many lines were answered, each once. `text` is one that the simulator answers slowly. */
export async function runBatchDuring(
  url: string,
  apiKey: string,
  text: string,
  during: () => Promise<void>,
): Promise<BatchOutcome> {
  // It tries again when the balancer has no ready process for a moment.
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 10 });
  const lines = Array.from({ length: LINES }, (_, i) =>
    JSON.stringify({
      custom_id: `line-${i}`,
      method: 'POST',
      url: '/v1/chat/completions',
      body: { model: 'fast', messages: [{ role: 'user', content: text }] },
    }),
  );
  const file = await client.files.create({
    file: await toFile(Buffer.from(lines.join('\n')), 'lines.jsonl'),
    purpose: 'batch',
  });
  const { id } = await client.batches.create({
    input_file_id: file.id,
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
  });
  await until('lines are answered', async () => {
    const { request_counts } = await client.batches.retrieve(id);
    return (request_counts?.completed ?? 0) > 0;
  });
  await during();
  const { output_file_id } = await until('the batch is over', async () => {
    const batch = await client.batches.retrieve(id);
    if (batch.status === 'failed') throw new Error(JSON.stringify(batch.errors));
    return batch.status === 'completed' && batch;
  });
  const outputFile = output_file_id ?? '';
  const output = await (await client.files.content(outputFile)).text();
  const ids = output
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { custom_id: string }).custom_id);
  if (new Set(ids).size !== ids.length) throw new Error('a line is in the output file twice');
  return { answered: ids.length, lines: LINES, outputFile, output };
}
