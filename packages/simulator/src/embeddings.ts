/** The embeddings endpoints. A vector follows from model and input alone, so that tests know it. */
import { hash } from 'node:crypto';
import { mergeUsage } from './answer-text.js';
import { type AnswerContext, type Dialect, type Fields, isFields, type ServerName } from './dialect.js';
import {
  checkEmbeddingRequest,
  checkEmbeddingRequestTo,
  type EmbeddedInput,
  inputsOf,
  sizeOf,
  tokensOfInput,
} from './embeddings-request.js';
import { openai, serverDialect } from './openai.js';

export const EMBEDDINGS_PATH = '/v1/embeddings';

export const openaiEmbeddings: Dialect = {
  ...openai,
  chatPath: EMBEDDINGS_PATH,
  checkBody: checkEmbeddingRequest,
  lastUserText,
  answer,
};

/** Another server with the same endpoint. Gemini's counts no tokens. */
export function serverEmbeddings(name: ServerName): Dialect {
  const { errorBody } = serverDialect(name);
  return {
    ...openaiEmbeddings,
    name,
    chatPath: `/${name}${EMBEDDINGS_PATH}`,
    checkBody: (body, knowsModel) => checkEmbeddingRequestTo(name, body, knowsModel),
    errorBody,
    answer(body, context) {
      const { usage, ...answered } = answer(body, context);
      return name === 'gemini' ? answered : { id: `sim${context.n}`, ...answered, usage };
    },
  };
}

function lastUserText(body: unknown): string {
  const input = isFields(body) ? body.input : undefined;
  const last = Array.isArray(input) ? input.at(-1) : input;
  return typeof last === 'string' ? last : '';
}

function answer(body: Fields, { overrides }: AnswerContext): Fields {
  const inputs = inputsOf(body.input);
  const size = Number(body.dimensions ?? body.output_dimension ?? sizeOf(body.model));
  const tokens = inputs.reduce((sum, input) => sum + tokensOfInput(input), 0);
  return {
    object: 'list',
    data: inputs.map((input, index) => {
      const vector = vectorOf(String(body.model), input, size);
      const embedding =
        body.encoding_format === 'base64'
          ? Buffer.from(vector.buffer).toString('base64')
          : Array.from(vector);
      return { object: 'embedding', index, embedding };
    }),
    model: body.model,
    usage: mergeUsage({ prompt_tokens: tokens, total_tokens: tokens }, overrides.usage),
  };
}

/** Of length 1, as those of OpenAI are. */
export function vectorOf(model: string, input: EmbeddedInput, size: number): Float32Array {
  let state = Number.parseInt(hash('sha256', `${model}\n${JSON.stringify(input)}`).slice(0, 8), 16) | 1;
  const vector = new Float32Array(size);
  let squares = 0;
  for (let i = 0; i < size; i++) {
    // Marsaglia's xorshift.
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    const value = state / 0x8000_0000;
    vector[i] = value;
    squares += value * value;
  }
  return vector.map((value) => value / Math.sqrt(squares));
}
