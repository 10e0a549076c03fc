/**
 * What the error answers of providers mean. The first row that fits decides, and a row fits when everything in it does. The
 * rows at the end know nothing but the status. test/unit/provider-errors.test.ts has such answers.
 */
import type { FailedCall } from '@sluice/shared/outcomes';

/** An outcome, or a word for which parse-error.ts knows the outcome and the cool-down. */
export type Meaning = FailedCall | 'out_of_credit' | 'daily_limit';

interface ErrorRow {
  by: string;
  status?: readonly number[];
  /** One of the names that the provider has for its error, in the body or in a header. */
  name?: readonly string[];
  /** For errors without a name of their own: the message, and the ids of used-up quotas. */
  says?: RegExp;
  /** The field that the provider names. */
  param?: RegExp;
  means: Meaning;
}

/** A refusal of the request itself, unless a row knows better. */
const REFUSED: readonly number[] = [400, 413, 422];

const TOO_LONG =
  /maximum context length|maximum prompt length|prompt is too long|exceed context limit|input is too long for|longer than the model's context length|input token count.{0,40}exceeds the maximum/i;
const UNKNOWN_MODEL =
  /^(?:invalid model\b|model not exist|the provided model identifier is invalid|.{1,200} is not a valid model id)|on-demand throughput isn.t supported/i;
const NO_CHAT_MODEL =
  /only supported in v1\/responses|not a chat model|chatCompletion operation does not work/i;

/** `value`: another value of the field would pass. */
export const UNTAKEN: Readonly<Record<string, 'field' | 'value'>> = {
  unsupported_parameter: 'field',
  unknown_parameter: 'field',
  unsupported_value: 'value',
};
const UNTAKEN_CODES = Object.keys(UNTAKEN);

const ROWS: readonly ErrorRow[] = [
  // Nobody pays. No model of the provider will answer.
  {
    by: 'OpenAI',
    name: [
      ...[
        'insufficient_quota',
        'billing_hard_limit_reached',
        'billing_not_active',
        'credit_balance_exhausted',
      ],
      ...['organization_spend_limit_exceeded', 'organization_usage_limit_exceeded'],
      'project_spend_limit_exceeded',
    ],
    means: 'out_of_credit',
  },
  { by: 'Anthropic', name: ['billing_error', 'enforced_spend_limit_reached'], means: 'out_of_credit' },
  {
    by: 'Anthropic',
    status: [400],
    says: /credit balance is too low|reached your specified (?:workspace )?API usage limits/i,
    means: 'out_of_credit',
  },
  { by: 'Gemini', status: [429], says: /credits are depleted/i, means: 'out_of_credit' },
  { by: 'Fireworks', status: [412], says: /suspended/i, means: 'out_of_credit' },
  // The credit that is left covers smaller requests.
  { by: 'OpenRouter', status: [402], says: /fewer max_tokens/i, means: 'request_too_large' },
  { by: 'OpenRouter', status: [402], name: ['openrouter_in_flight_budget'], means: 'rate_limited' },
  {
    by: 'DeepSeek, Gemini, OpenRouter, Together',
    status: [402],
    says: /balance|credit|spending/i,
    means: 'out_of_credit',
  },

  // Too much at a time. Other requests may pass.
  { by: 'Groq', status: [413], says: /tokens per minute/i, means: 'request_too_large' },
  {
    by: 'OpenAI, Anthropic',
    status: [429],
    says: /request (?:is )?too large|long context/i,
    means: 'request_too_large',
  },
  // Gemini's ids of quotas are words like GenerateRequestsPerDay.
  { by: 'Gemini, Bedrock, OpenRouter', status: [429], says: /per[- ]?day/i, means: 'daily_limit' },
  // Only the flex tier of Groq has no capacity, and only one model or tier of Mistral.
  { by: 'Groq', status: [498], means: 'rate_limited' },
  { by: 'Mistral', name: ['service_tier_capacity_exceeded', '3505'], means: 'rate_limited' },
  {
    by: 'Bedrock',
    name: ['ThrottlingException', 'ServiceQuotaExceededException', 'ModelNotReadyException'],
    means: 'rate_limited',
  },
  { by: 'OpenAI, Anthropic', name: ['rate_limit_exceeded', 'rate_limit_error'], means: 'rate_limited' },

  // The prompt, or what is in it.
  {
    by: 'Azure, OpenAI',
    status: [400],
    name: ['content_filter', 'content_policy_violation'],
    means: 'bad_request',
  },
  {
    by: 'OpenRouter, xAI',
    status: [403],
    says: /requires moderation|violates usage guidelines/i,
    means: 'bad_request',
  },
  {
    by: 'OpenAI, llama.cpp',
    status: REFUSED,
    name: ['context_length_exceeded', 'exceed_context_size_error'],
    means: 'context_length',
  },
  // A message is too long for this provider. Any other field is a plain mistake.
  {
    by: 'OpenAI',
    status: REFUSED,
    name: ['string_above_max_length'],
    param: /^messages/,
    means: 'context_length',
  },
  {
    by: 'Anthropic, Bedrock, Fireworks, Gemini, Mistral, SGLang, vLLM, xAI',
    status: REFUSED,
    says: TOO_LONG,
    means: 'context_length',
  },
  { by: 'Together', status: [403], says: /context length/i, means: 'context_length' },

  // The model.
  {
    by: 'OpenAI, Groq, Mistral',
    status: [...REFUSED, 403],
    name: ['model_not_found', 'model_decommissioned', 'unknown_model'],
    means: 'model_not_found',
  },
  {
    by: 'Mistral, DeepSeek, OpenRouter, Bedrock',
    status: REFUSED,
    says: UNKNOWN_MODEL,
    means: 'model_not_found',
  },
  { by: 'OpenAI, Azure', status: [400, 404], says: NO_CHAT_MODEL, means: 'model_not_found' },
  {
    by: 'OpenAI',
    status: [403],
    says: /not allowed to (?:generate embeddings|sample) from this model/i,
    means: 'model_not_found',
  },
  // The model did not keep to the caller's schema or tools.
  { by: 'Groq', status: [400], name: ['tool_use_failed', 'json_validate_failed'], means: 'schema_mismatch' },

  // The key or the account.
  {
    by: 'Gemini, xAI',
    status: REFUSED,
    says: /^(?:api key not valid|incorrect api key|api key expired)|location is not supported/i,
    means: 'auth',
  },
  { by: 'Gemini, Groq', status: [400], name: ['API_KEY_INVALID', 'organization_restricted'], means: 'auth' },
  {
    by: 'Bedrock',
    status: [400],
    name: [
      ...[
        'AccessDeniedException',
        'ExpiredTokenException',
        'IncompleteSignature',
        'InvalidSignatureException',
      ],
      ...['NotAuthorized', 'RequestExpired', 'UnrecognizedClientException'],
    ],
    means: 'auth',
  },

  // The model or the provider does not take a field, or not this value of it. Another one may. What is out of range, too long or
  // against a policy is not meant here. The words may quote a caller, so they decide about this one request only.
  { by: 'OpenAI', status: REFUSED, name: UNTAKEN_CODES, means: 'refused_field' },
  {
    by: 'Anthropic, OpenAI, Groq, Gemini, Mistral',
    status: REFUSED,
    says: /(?:is|are) (?:deprecated for|not supported (?:with|for|on|by)|not enabled for) this model|cannot both be specified for this model/i,
    means: 'refused_field',
  },
  {
    by: 'Anthropic',
    status: [400],
    says: /does not support (?:assistant message prefill|the effort parameter)|to turn thinking off on this model/i,
    means: 'refused_field',
  },
  {
    by: 'Anthropic, Mistral, Fireworks, vLLM',
    status: REFUSED,
    says: /extra inputs are not permitted|extra_forbidden/i,
    means: 'refused_field',
  },
  {
    by: 'OpenAI',
    status: [400],
    says: /^(?:function tools with reasoning_effort are not supported|(?:unrecognized|model incompatible) request arguments? supplied|invalid service_tier argument|invalid content type\. image_url is only supported by certain models)/i,
    means: 'refused_field',
  },
  // Of ids of tool calls, of the order of messages, and of roles. Other providers are not as strict.
  { by: 'Mistral', status: REFUSED, name: ['3230', '3280'], means: 'refused_field' },
  {
    by: 'Mistral, Cerebras',
    status: REFUSED,
    says: /found using 'role' does not match any of the expected tags/i,
    means: 'refused_field',
  },
  {
    by: 'xAI, DeepSeek',
    status: REFUSED,
    says: /does not support (?:parameter |this tool_choice)|argument not supported|(?:role|\]): unknown variant|untagged enum ChatCompletionRequestContent|response_format type is unavailable|in the thinking mode must be passed back/i,
    means: 'refused_field',
  },
  {
    by: 'Groq, Cerebras',
    status: REFUSED,
    says: /property '[^']{1,200}' is unsupported|content' : value must be a string/i,
    means: 'refused_field',
  },
  {
    by: 'Gemini',
    status: [400],
    says: /unknown name "[^"]{1,200}"(?: at [^:]{1,200})?: cannot find field/i,
    means: 'refused_field',
  },
  {
    by: 'Bedrock',
    status: [400],
    says: /the '[^']{1,64}' parameter is not supported/i,
    means: 'refused_field',
  },

  // The provider is in trouble.
  {
    by: 'OpenAI, Anthropic, Bedrock',
    name: ['server_is_overloaded', 'overloaded_error', 'ServiceUnavailableException'],
    means: 'overloaded',
  },
  // In the middle of a stream, whose status was good.
  { by: 'OpenAI, Anthropic', status: [200], name: ['server_error', 'api_error'], means: 'server_error' },
  { by: 'Anthropic', status: [200], name: ['timeout_error'], means: 'timeout' },
  { by: 'Bedrock', status: [424], means: 'server_error' },
  { by: 'Cloudflare', status: [521, 522, 523, 525, 526, 530], means: 'connection' },
  { by: 'Cloudflare', status: [524], means: 'timeout' },

  // Nothing but the status.
  { by: 'anybody', status: REFUSED, means: 'bad_request' },
  { by: 'anybody', status: [401, 402, 403], means: 'auth' },
  { by: 'anybody', status: [404], means: 'model_not_found' },
  { by: 'anybody', status: [408], means: 'timeout' },
  { by: 'anybody', status: [429], means: 'rate_limited' },
  { by: 'anybody', status: [503, 529], means: 'overloaded' },
  { by: 'anybody', status: [409], means: 'server_error' },
];

export interface NamedError {
  names: readonly string[];
  /** What `says` is looked for in. */
  text: string;
  param?: string | undefined;
}

export function meaningOf(status: number, { names, text, param = '' }: NamedError): Meaning {
  const row = ROWS.find(
    (each) =>
      (each.status === undefined || each.status.includes(status)) &&
      (each.name === undefined || each.name.some((name) => names.includes(name))) &&
      (each.says === undefined || each.says.test(text)) &&
      (each.param === undefined || each.param.test(param)),
  );
  return row?.means ?? (status >= 500 && status <= 599 ? 'server_error' : 'bad_response');
}
