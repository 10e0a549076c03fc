/**
 * Measures how large the prompt of a request can be, before anyone has counted its tokens. The whole body counts:
 * messages, tools, schemas and everything else.
 */
import type { ChatRequest, ContentPart } from '../chat.js';

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
}

export function measurePrompt(request: ChatRequest): PromptSize {
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
