/**
 * The provider's words about a failure, for the log. The log has no prompt, and providers quote what they were sent. So words
 * that the prompt has too are left out. The HTTP client has already removed keys, and `cleanUpstreamText` the rest.
 */
import type { ChatRequest } from '@sluice/shared/chat';

const MAX_LENGTH = 300;
/** Searching a larger request would take too long. Nothing is kept then. */
const MAX_REQUEST_CHARACTERS = 200_000;
/** A common run of this many bytes is no coincidence: sixteen Latin letters, or five Chinese ones. */
const BLOCK = 16;
const MAX_DEPTH = 32;

const QUOTED = /(["'`‘’“”«»]).{1,200}?["'`‘’“”«»]/gu;
/** Numbers and addresses: words that say who or what somebody is. */
const TELLING = /[\p{L}\p{N}@._+-]*[\p{N}@][\p{L}\p{N}@._+-]*/gu;
const SHORTEST_TELLING = 4;
/** Text that was escaped or encoded cannot be compared: `\u00e9`, `\xe9`, `%C3`, `&#233;` and base64. */
const ENCODED = /\\u[\da-f]{4}|\\x[\da-f]{2}|%[\da-f]{2}|&#?\w{2,8};|[\w+/=-]{40}/i;
/** The names in these objects are the caller's. All other field names are those of the api. */
const NAMES_OF_CALLER = new Set(['properties', '$defs', 'definitions', 'metadata']);

/** Undefined when nothing may be kept. `size`: the characters of the request's body. */
export function discreetWords(said: string, request: ChatRequest, size: number): string | undefined {
  if (size > MAX_REQUEST_CHARACTERS || ENCODED.test(said)) return undefined;
  // The model is no secret, and most messages name it.
  const { model: _, ...rest } = request;
  const texts: string[] = [];
  collectTexts(rest, texts, 0);
  const prompt = Buffer.from(fold(texts.join('\n')));
  const isInPrompt = (text: string) => {
    const folded = fold(text);
    return folded !== '' && prompt.includes(folded);
  };
  const whole = said
    .replace(QUOTED, (quoted) => (isInPrompt(quoted) ? '“…”' : quoted))
    .replace(TELLING, (word) => (word.length >= SHORTEST_TELLING && isInPrompt(word) ? '…' : word));
  const words = whole.length <= MAX_LENGTH ? whole : `${whole.slice(0, MAX_LENGTH - 1)}…`;
  const bytes = Buffer.from(fold(words));
  for (let i = 0; i + BLOCK <= bytes.length; i += 2)
    if (prompt.includes(bytes.subarray(i, i + BLOCK))) return undefined;
  return words;
}

/** Only the letters and digits, so that a change of case, accents, spaces or punctuation hides nothing. */
function fold(text: string): string {
  return text
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '');
}

function collectTexts(value: unknown, texts: string[], depth: number): void {
  if (typeof value === 'string') texts.push(value);
  else if (typeof value === 'object' && value !== null && depth < MAX_DEPTH)
    for (const [name, each] of Object.entries(value)) {
      if (NAMES_OF_CALLER.has(name) && typeof each === 'object') texts.push(...Object.keys(each ?? {}));
      collectTexts(each, texts, depth + 1);
    }
}
