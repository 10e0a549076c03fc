/**
 * Measures how large the prompt of a request can be, before anyone has counted its tokens. The whole body counts:
 * messages, tools, schemas and everything else.
 */
import { asksForEmbeddings, type ChatRequest, type ContentPart } from '../chat.js';
import type { EmbeddingInput } from '../contract/embedding-request.js';

export interface PromptSize {
  /** The bytes of the request as JSON, without the data of its images. */
  bytes: number;
  images: number;
  /** The request has files or parts of an unknown type, whose bytes say nothing about their tokens. */
  opaque: boolean;
  /** The request has audio, whose tokens have their own prices. */
  audio: boolean;
  /** The request marks parts of the prompt for a cache. Writing to the cache costs more than sending. */
  caches: boolean;
  /**
   * Only of an embeddings request, which has no output: how many inputs it has, and the tokens of those that came as tokens.
   * `bytes` has the other ones.
   */
  embeds?: { inputs: number; tokens: number };
}

export function measurePrompt(request: ChatRequest): PromptSize {
  if (asksForEmbeddings(request)) return measureInput(request.input as EmbeddingInput);
  const json = JSON.stringify(request);
  const size: PromptSize = {
    bytes: Buffer.byteLength(json),
    images: 0,
    opaque: false,
    audio: asksForAudio(request),
    caches: json.includes('"cache_control"'),
  };
  for (const { content, audio } of request.messages) {
    // An earlier answer that was spoken, which the provider keeps.
    if ((audio ?? null) !== null) size.audio = true;
    if (Array.isArray(content)) for (const part of content) addPart(size, part);
  }
  return size;
}

/** Inputs are texts, or tokens that the caller has counted. */
function measureInput(input: EmbeddingInput): PromptSize {
  let [bytes, tokens] = [0, 0];
  for (const each of Array.isArray(input) ? input : [input]) {
    if (typeof each === 'string') bytes += Buffer.byteLength(each);
    else tokens += Array.isArray(each) ? each.length : 1;
  }
  const embeds = { inputs: countInputs(input), tokens };
  return { bytes, images: 0, opaque: false, audio: false, caches: false, embeds };
}

/** Tokens without an array around them are one input. */
export function countInputs(input: EmbeddingInput): number {
  return Array.isArray(input) && typeof input[0] !== 'number' ? input.length : 1;
}

function addPart(size: PromptSize, part: ContentPart): void {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return;
    case 'image_url': {
      size.images++;
      const { url } = (part as { image_url: { url: string } }).image_url;
      // Images are not read as text, so their data is subtracted. A few bytes of escapes may stay counted.
      size.bytes -= Buffer.byteLength(url);
      return;
    }
    case 'input_audio':
      size.audio = true;
      return;
    default:
      size.opaque = true;
  }
}

function asksForAudio({ modalities, audio }: ChatRequest): boolean {
  return (Array.isArray(modalities) && modalities.includes('audio')) || (audio ?? null) !== null;
}
