/** What the embeddings endpoints refuse. */

import { tokensOf } from './answer-text.js';
import { type Fields, Refusal, type ServerName } from './dialect.js';
import { checkRange, checkString, invalidType, invalidValue, refuse } from './openai-refusals.js';
import { SERVERS } from './openai-servers.js';

const MOST_INPUTS = 2_048;
const MOST_TOKENS = 300_000;
const MOST_TOKENS_OF_INPUT = 8_192;
const LARGEST_TOKEN = 100_257;
const FIELDS: ReadonlySet<string> = new Set(['model', 'input', 'dimensions', 'encoding_format', 'user']);
/** How long the vectors of a model are. */
const SIZES: readonly (readonly [RegExp, number])[] = [
  [/^text-embedding-3-large|^gemini-embedding/, 3_072],
  [/^text-embedding|^codestral-embed/, 1_536],
  [/^mistral-embed/, 1_024],
];
const EMBEDS = /embed/;

export type EmbeddedInput = string | number[];

export function sizeOf(model: unknown): number {
  return SIZES.find(([pattern]) => pattern.test(String(model)))?.[1] ?? 8;
}

/** The inputs one by one. */
export function inputsOf(input: unknown): EmbeddedInput[] {
  if (!Array.isArray(input)) return [input as string];
  return typeof input[0] === 'number' ? [input as number[]] : (input as EmbeddedInput[]);
}

export function tokensOfInput(input: EmbeddedInput): number {
  return typeof input === 'string' ? tokensOf(input.length) : input.length;
}

export function checkEmbeddingRequest(body: Fields, knowsModel: (id: string) => boolean): void {
  const unknown = Object.keys(body).filter((field) => !FIELDS.has(field));
  if (unknown.length > 0)
    throw refuse(
      `Unrecognized request argument${unknown.length > 1 ? 's' : ''} supplied: ${unknown.sort().join(', ')}`,
    );
  const { dimensions = null, encoding_format: format = null, user = null } = body;
  const model = checkModel(body.model, knowsModel);
  checkInput(body.input);
  if (format !== null && format !== 'float' && format !== 'base64')
    throw invalidValue('encoding_format', format, ['float', 'base64']);
  if (user !== null) checkString(user, 'user');
  if (dimensions !== null) checkDimensions(dimensions, model);
  checkTokens(body.input);
}

function checkModel(model: unknown, knowsModel: (id: string) => boolean): string {
  if (model === undefined || model === null || model === '')
    throw refuse('you must provide a model parameter');
  checkString(model, 'model');
  if (!knowsModel(model)) {
    const message = `The model \`${model}\` does not exist or you do not have access to it.`;
    throw new Refusal(404, message, 'invalid_request_error', null, 'model_not_found');
  }
  if (!EMBEDS.test(model)) {
    const message = 'You are not allowed to generate embeddings from this model';
    throw new Refusal(403, message, 'invalid_request_error');
  }
  return model;
}

function checkInput(input: unknown): void {
  const isText = (value: unknown) => typeof value === 'string' && value !== '';
  const isToken = (value: unknown) =>
    Number.isInteger(value) && Number(value) >= 0 && Number(value) <= LARGEST_TOKEN;
  const areTokens = (value: unknown) => Array.isArray(value) && value.length > 0 && value.every(isToken);
  const isList =
    Array.isArray(input) &&
    input.length > 0 &&
    input.length <= MOST_INPUTS &&
    (input.every(isText) || input.every(areTokens));
  if (isText(input) || areTokens(input) || isList) return;
  throw refuse(
    "'$.input' is invalid. Please check the API reference: https://platform.openai.com/docs/api-reference.",
  );
}

function checkDimensions(dimensions: unknown, model: string): void {
  if (model.startsWith('text-embedding-ada'))
    throw refuse('This model does not support specifying dimensions.');
  const most = sizeOf(model);
  if (Number.isInteger(dimensions) && Number(dimensions) > most)
    throw refuse(`Invalid value for 'dimensions' = ${dimensions}. Must be less than or equal to ${most}.`);
  checkRange(dimensions, 'dimensions', 'integer', 1, most);
}

function checkTokens(input: unknown): void {
  const counts = inputsOf(input).map(tokensOfInput);
  const longest = Math.max(...counts);
  if (longest > MOST_TOKENS_OF_INPUT)
    throw refuse(
      `This model's maximum context length is ${MOST_TOKENS_OF_INPUT} tokens, however you requested ${longest} tokens (${longest} in your prompt; 0 for the completion). Please reduce your prompt; or completion length.`,
    );
  const all = counts.reduce((sum, count) => sum + count, 0);
  if (all <= MOST_TOKENS) return;
  const code = 'max_tokens_per_request';
  throw new Refusal(400, `Requested ${all} tokens, max ${MOST_TOKENS} tokens per request`, code, null, code);
}

const OWN_FIELDS: Partial<Record<ServerName, string>> = {
  mistral: 'model input metadata output_dimension output_dtype encoding_format',
  gemini: 'model input dimensions encoding_format',
};

/** Mistral's and Gemini's endpoints take texts only. */
export function checkEmbeddingRequestTo(
  server: ServerName,
  body: Fields,
  knowsModel: (id: string) => boolean,
): void {
  const takes = new Set(OWN_FIELDS[server]?.split(' '));
  const unknown = Object.entries(body).flatMap(([name, value]) => (takes.has(name) ? [] : { name, value }));
  const refusal = unknown.length > 0 ? SERVERS[server].refuseUnknown?.(unknown) : undefined;
  if (refusal !== undefined) throw refusal;
  const model = checkModel(body.model, knowsModel);
  checkInput(body.input);
  if (inputsOf(body.input).some((input) => typeof input !== 'string'))
    throw invalidType('input', 'a string or an array of strings', [0]);
  if (model.startsWith('mistral-embed') && (body.output_dimension ?? null) !== null)
    throw refuse('This model does not support output_dimension.');
}
