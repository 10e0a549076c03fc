/**
 * Embeddings in OpenAI's format. An answer may have megabytes of numbers, which nobody here needs. So its `data` is cut out of
 * the text unread, and put back as it came.
 */
import { randomBytes } from 'node:crypto';
import type { ChatRequest, Completion } from '@sluice/shared/chat';
import type { EmbeddingInput } from '@sluice/shared/contract/embedding-request';
import { parseExactly, writeExactly } from '@sluice/shared/json/exact';
import { cutMember } from '@sluice/shared/json/member';
import type { ChainEntry } from '@sluice/shared/queue/job';
import { countInputs } from '@sluice/shared/registry/prompt-size';
import { hasError, statusIn } from '../error-in-answer.js';
import { isObject, toTokenCount } from '../json.js';
import { refuse } from '../refuse.js';
import {
  FailedResponse,
  MAX_ANSWER_BYTES,
  type ParsedResponse,
  type Provider,
  UnusableResponse,
} from '../types.js';
import { openai } from './index.js';

/** Stands in an outline where the data belongs. It is a secret of this process, so that no provider can send it. */
const DATA_HERE = `data ${randomBytes(16).toString('base64url')}`;
const PLACE = JSON.stringify(DATA_HERE);
/** An answer without data is an error, and short. */
const MOST_WITHOUT_DATA = 65_536;
const NO_COMPLETION: Completion = {
  created: 0,
  choices: [],
  usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
};
/** How many numbers the vectors of a model have, unless the request says it. */
const SIZES: readonly (readonly [names: RegExp, numbers: number])[] = [
  [/^text-embedding-3-large|gemini-embedding/, 3_072],
  [/^text-embedding|^codestral-embed/, 1_536],
  [/^mistral-embed/, 1_024],
];
/** Of a number. A float has a sign, a point, a comma and most often more digits than these. */
const BASE64_BYTES = 16 / 3;
const LEAST_FLOAT_BYTES = 10;
/** A vector is an array of numbers in an object in `data`. */
const MOST_DEPTH = 16;

export const embeddings: Provider = {
  ...openai,
  buildRequest,
  passesMessages: () => false,
  readsText: true,
  parseResponse,
};

/** Everything passes as it came, but for the model. The gateway's own parts have added `messages`. */
function buildRequest({ messages: _, ...request }: ChatRequest, entry: ChainEntry): Record<string, unknown> {
  if (answerBytes(request, entry.model) > MAX_ANSWER_BYTES)
    refuse(
      'input',
      'The answer would be too large. Send fewer inputs, or ask for fewer dimensions or for encoding_format base64.',
    );
  return { ...request, model: entry.model };
}

/** At least. 0 when nobody knows how long the vectors are. */
function answerBytes(request: Record<string, unknown>, model: string): number {
  const { input, dimensions, encoding_format: format } = request;
  const numbers = toTokenCount(dimensions) || (SIZES.find(([names]) => names.test(model))?.[1] ?? 0);
  const bytes = format === 'base64' ? BASE64_BYTES : LEAST_FLOAT_BYTES;
  return countInputs(input as EmbeddingInput) * numbers * bytes;
}

function parseResponse(text: unknown): ParsedResponse {
  const json = typeof text === 'string' ? text : '';
  const cut = cutMember(json, 'data', PLACE, MOST_DEPTH);
  const outline = readJson(cut?.outline ?? json.slice(0, MOST_WITHOUT_DATA));
  if (!isObject(outline)) throw new UnusableResponse('the body is not an object');
  if (hasError(outline.error)) throw new FailedResponse(statusIn(outline.error) ?? 200, outline.error);
  if (!cut || outline.data !== DATA_HERE || !areVectors(cut.member))
    throw new UnusableResponse('the body has no embeddings');
  const usage = isObject(outline.usage) ? outline.usage : {};
  const tokens = toTokenCount(usage.prompt_tokens) || toTokenCount(usage.total_tokens);
  return {
    completion: NO_COMPLETION,
    write: (model) => putData(writeExactly({ object: 'list', ...outline, model }), cut.member),
    usage: { input: tokens, cachedInput: 0, cacheWrite: 0, cacheWrite1h: 0, output: 0 },
  };
}

/** Some servers write numbers that are none, with which no client can read the answer. */
function areVectors(data: string): boolean {
  if (!/^\s*\[\s*\{/.test(data)) return false;
  const isSuspect = data.includes('NaN') || data.includes('Infinity');
  return !isSuspect || !/[[,]\s*-?(?:NaN|Infinity)/.test(data);
}

function putData(outline: string, data: string): string {
  const at = outline.indexOf(PLACE);
  return outline.slice(0, at) + data + outline.slice(at + PLACE.length);
}

function readJson(text: string): unknown {
  try {
    return parseExactly(text);
  } catch {
    return undefined;
  }
}
