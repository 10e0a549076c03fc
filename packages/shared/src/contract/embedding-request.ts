/** An embeddings request. Unknown fields travel to the provider as they are, as those of a chat request do. */
import { nameLength } from './chat-request.js';
import { array, integer, kind, nonempty, object, oneOf, Quick, refine, string } from './quick-structs.js';

/** OpenAI's own bounds: inputs of a request, and tokens of all of them together. */
export const MOST_INPUTS = 2_048;
export const MOST_TOKENS = 300_000;

const name = refine(
  string,
  `must have 1 to ${nameLength.maxLength} characters`,
  ({ length }) => length >= nameLength.minLength && length <= nameLength.maxLength,
  nameLength,
);
const token = refine(integer, 'must be 0 or more', (value) => value >= 0, { minimum: 0 });
const text = refine(string, 'must not be empty', ({ length }) => length > 0, { minLength: 1 });
const anyOther = kind<never>('a text, texts, tokens, or arrays of tokens', () => false, {});
const inputs = <T>(item: Quick<T>): Quick<T[]> =>
  refine(nonempty(array(item)), `must have ${MOST_INPUTS} inputs at most`, fits, { maxItems: MOST_INPUTS });
const tokens = refine(
  nonempty(array(token)),
  `must have ${MOST_TOKENS} tokens at most`,
  ({ length }) => length <= MOST_TOKENS,
  { maxItems: MOST_TOKENS },
);
const texts = inputs(text);
const tokenArrays = refine(
  inputs(tokens),
  `must have ${MOST_TOKENS} tokens at most`,
  (arrays) => arrays.reduce((sum, { length }) => sum + length, 0) <= MOST_TOKENS,
  {},
);

function fits({ length }: { length: number }): boolean {
  return length <= MOST_INPUTS;
}

export type EmbeddingInput = string | string[] | number[] | number[][];

/** The first element says which of the four forms it is, so that a mistake is told in terms of that form. */
function formOf(value: unknown): Quick<EmbeddingInput> {
  if (typeof value === 'string') return text;
  if (!Array.isArray(value)) return anyOther;
  const [first] = value;
  if (typeof first === 'number') return tokens;
  return Array.isArray(first) ? tokenArrays : texts;
}

const input = Quick.chosen<EmbeddingInput>(formOf, [text, texts, tokens, tokenArrays]);

export const embeddingRequest = object(
  { model: name, input },
  {
    dimensions: refine(integer, 'must be 1 or more', (value) => value >= 1, { minimum: 1 }),
    encoding_format: oneOf('float', 'base64'),
    user: string,
  },
);
