/**
 * The provider's words about a failure, for the log. The log has no prompt, and providers quote what they were sent. So words
 * that the prompt has too are left out. The HTTP client has already removed keys, and `cleanUpstreamText` the rest.
 */
import type { ChatRequest } from '@sluice/shared/chat';

const MAX_LENGTH = 300;
/** Searching a larger request would take too long. Nothing is kept then. */
const MAX_REQUEST_CHARACTERS = 1_000_000;
/** A common run of this many characters is no coincidence. Any run of twice as many has such a block. */
const BLOCK = 16;
const MAX_DEPTH = 32;

const QUOTED = /(["'`‘’“”«»]).{1,200}?["'`‘’“”«»]/gu;
/** Names, numbers and addresses: words that say who or what somebody is. */
const TELLING = /[\p{L}\p{N}@._+-]*[\p{N}@][\p{L}\p{N}@._+-]*/gu;
const SHORTEST_TELLING = 4;

/** Undefined when nothing may be kept. `size`: the characters of the request's body. */
export function discreetWords(said: string, request: ChatRequest, size: number): string | undefined {
  if (size > MAX_REQUEST_CHARACTERS) return undefined;
  // The model is no secret, and most messages name it.
  const { model: _, ...rest } = request;
  const texts: string[] = [];
  collectTexts(rest, texts, 0);
  const prompt = texts.join('\n').replace(/\s+/g, ' ');
  const words = said
    .replace(QUOTED, (quoted) => (prompt.includes(quoted.slice(1, -1)) ? '“…”' : quoted))
    .replace(TELLING, (word) => (word.length >= SHORTEST_TELLING && prompt.includes(word) ? '…' : word));
  for (let i = 0; i + BLOCK <= words.length; i += BLOCK)
    if (prompt.includes(words.slice(i, i + BLOCK))) return undefined;
  return words.length <= MAX_LENGTH ? words : `${words.slice(0, MAX_LENGTH - 1)}…`;
}

/** The texts of the request. Its field names are not the caller's. */
function collectTexts(value: unknown, texts: string[], depth: number): void {
  if (typeof value === 'string') texts.push(value);
  else if (typeof value === 'object' && value !== null && depth < MAX_DEPTH)
    for (const each of Object.values(value)) collectTexts(each, texts, depth + 1);
}
