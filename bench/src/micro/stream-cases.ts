/** The same answer of about 500 tokens, read whole and read in pieces (`upstream_stream`), from bytes to what the caller gets. */
import { anthropic } from '@sluice/simulator/anthropic';
import type { Dialect, Fields } from '@sluice/simulator/dialect';
import { openai } from '@sluice/simulator/openai';
import { openaiResponses } from '@sluice/simulator/responses';
import { providers, responses } from '@sluice/worker/providers/index';
import { parseAnswer } from '@sluice/worker/providers/json';
import { SseReader } from '@sluice/worker/providers/sse';
import type { Provider } from '@sluice/worker/providers/types';
import type { Case } from './cost.js';

const BODY = {
  model: 'bench',
  max_tokens: 1_000,
  messages: [{ role: 'user', content: 'hello' }],
  stream_options: { include_usage: true },
};
const CONTEXT = { n: 1, textHash: '', userText: '', echo: false };
/** As a socket gives them. */
const CHUNK_BYTES = 4_096;

export function streamCases(): Case[] {
  return [
    ...casesOf('OpenAI', providers.openai, openai),
    ...casesOf('Anthropic', providers.anthropic, anthropic),
    ...casesOf('Responses', responses, openaiResponses),
  ];
}

function casesOf(name: string, provider: Provider, dialect: Dialect): Case[] {
  const overrides = { text: 'word '.repeat(400) };
  const answer: Fields = dialect.answer(BODY, { ...CONTEXT, overrides });
  const whole = Buffer.from(JSON.stringify(answer));
  const pieces = chunksOf(Buffer.from(dialect.pieces(answer, BODY).join('')));
  return [
    {
      name: `${name}: 500 tokens, whole`,
      run: () => provider.parseResponse(parseAnswer(whole.toString())),
    },
    { name: `${name}: 500 tokens, in pieces`, run: () => provider.parseResponse(assemble(provider, pieces)) },
  ];
}

function assemble({ stream }: Provider, chunks: readonly Buffer[]): unknown {
  const assembler = stream?.assemble();
  const reader = new SseReader((event) => assembler?.take(event));
  for (const chunk of chunks) reader.push(chunk);
  reader.end();
  return assembler?.body();
}

function chunksOf(bytes: Buffer): Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) chunks.push(bytes.subarray(at, at + CHUNK_BYTES));
  return chunks;
}
