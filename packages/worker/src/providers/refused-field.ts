/**
 * A 400 or 422 that is about the model or the provider, and not about the request: the provider does not know a field, or the
 * model does not take it or its value. Another model may take the same request. What is out of range, too long or against a
 * policy would be refused by others too, and is not meant here.
 */
import type { ProviderFailure } from './types.js';

export interface RefusalWords {
  code?: string | undefined;
  param?: string | undefined;
  message?: string | undefined;
}

/** The codes of OpenAI and of those who follow it. `value`: another value of the field would pass. */
const CODES: Readonly<Record<string, 'field' | 'value'>> = {
  unsupported_parameter: 'field',
  unknown_parameter: 'field',
  unsupported_value: 'value',
};

/** Each as the provider writes it. The words may quote a caller, so they decide about this one request only. */
const WORDS: readonly RegExp[] = [
  / is deprecated for this model/, // Anthropic
  /cannot both be specified for this model/, // Anthropic
  /(?:is|are) not supported (?:with|for|on|by) this model/i, // Anthropic, OpenAI, Groq
  /does not support (?:assistant message prefill|the effort parameter|parameter |this tool_choice)/i, // Anthropic, xAI, DeepSeek
  /^To turn thinking off on this model/, // Anthropic
  /Extra inputs are not permitted/i, // Anthropic, Mistral, Fireworks, vLLM
  /^Function tools with reasoning_effort are not supported/, // OpenAI
  /^Unrecognized request arguments? supplied/, // OpenAI
  /^Model incompatible request argument supplied/, // OpenAI
  /^Argument not supported/, // xAI
  /property '[^']{1,200}' is unsupported/, // Groq, Cerebras
  /role: unknown variant/, // DeepSeek
  /^This response_format type is unavailable now/, // DeepSeek
  /Unknown name "[^"]{1,200}"(?: at [^:]{1,200})?: Cannot find field/, // Gemini
  /is not enabled for this model/i, // Gemini, Mistral
  /^The '[^']{1,64}' parameter is not supported/, // Bedrock
];

/** Bedrock says this before a model's own words. */
const BEFORE_BEDROCKS = /^The model returned the following errors: /;
const MOST_READ = 2_000;

/** Undefined: the refusal is not of this kind. */
export function readRefusedField({
  code,
  param,
  message = '',
}: RefusalWords): Pick<ProviderFailure, 'param' | 'refusedField'> | undefined {
  const refused = Object.hasOwn(CODES, code ?? '') ? CODES[code ?? ''] : undefined;
  const text = message.replace(BEFORE_BEDROCKS, '').slice(0, MOST_READ);
  if (!refused && !WORDS.some((words) => words.test(text))) return undefined;
  const field = param ?? fieldIn(text);
  if (field === undefined) return {};
  const isName = /^[a-z][a-z0-9_]{0,63}$/.test(param ?? '');
  return {
    param: field,
    ...(refused && isName ? { refusedField: { field, isValue: refused === 'value' } } : {}),
  };
}

/** The first name in quotes, or after a colon at the end. */
function fieldIn(text: string): string | undefined {
  const quoted = /[`'"]([a-zA-Z_]\w{0,63})(?:[.[][^`'"]{0,64})?[`'"]/.exec(text);
  const after = /(?:supplied|parameter|supported): (\w{1,64})/.exec(text);
  return quoted?.[1] ?? after?.[1];
}
