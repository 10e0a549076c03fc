/**
 * What today's models and servers refuse of requests that are in the right format: fields, values and roles. A row is one
 * refusal in the words in which it was seen, and `source` says where. The checks of the format itself are elsewhere.
 */
import { type Fields, isFields, type ProviderName } from './dialect.js';

export interface RefusedField {
  /** Which models; without it, all models of the provider. */
  models?: RegExp;
  /** A path: `a.b`, `messages[].name` for any message, `messages[-1].role` for the last one. */
  field: string;
  /** Whether it refuses this value. Without it, every value; `null` counts as absent. */
  refuses?(value: unknown, body: Fields): boolean;
  /** `{model}`, `{field}`, `{value}`, `{role}` and `{i}`, the number of the message, are filled in. */
  says: string | ((body: Fields) => string);
  status?: number;
  type?: string;
  code?: string;
  /** `{i}` is filled in. */
  param?: string;
  source: string;
}

const CLAUDE_GUIDES = 'https://platform.claude.com/docs/en/models';
const OPENAI_GUIDES = 'https://developers.openai.com/api/docs/guides';

/** Opus 4.7 and newer, Sonnet 5 and newer, Haiku 5.5, Fable and Mythos. */
const CLAUDE_5 = /claude-(?:opus-(?:4-[78]|[5-9])|(?:sonnet|haiku)-[5-9]|fable|mythos)(?!\d)/;
/** Opus 4.1 and newer, Sonnet and Haiku 4.5 and newer. */
const CLAUDE_4_1 = /claude-(?:opus-(?:4-[1-9]|[5-9])|(?:sonnet|haiku)-(?:4-[5-9]|[5-9])|fable|mythos)(?!\d)/;
const CLAUDE_4_6 = /claude-(?:(?:opus|sonnet)-(?:4-[6-8]|[5-9])|haiku-[5-9]|fable|mythos)(?!\d)/;

const MAY_NOT_THINK_LESS =
  '"thinking.type.{value}" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.';

const ANTHROPIC: readonly RefusedField[] = [
  {
    models: CLAUDE_5,
    field: 'temperature',
    refuses: (value) => value !== 1,
    says: '`temperature` is deprecated for this model.',
    source: `${CLAUDE_GUIDES}/haiku-5-5/migration-guide#remove-sampling-parameters`,
  },
  {
    models: CLAUDE_5,
    field: 'top_p',
    refuses: (value) => value !== 0.99,
    says: '`top_p` is deprecated for this model.',
    source: `${CLAUDE_GUIDES}/haiku-5-5/migration-guide#remove-sampling-parameters`,
  },
  {
    models: CLAUDE_5,
    field: 'top_k',
    says: '`top_k` is deprecated for this model.',
    source: `${CLAUDE_GUIDES}/haiku-5-5/migration-guide#remove-sampling-parameters`,
  },
  {
    models: CLAUDE_4_1,
    field: 'top_p',
    refuses: (_value, body) => given(body.temperature),
    says: '`temperature` and `top_p` cannot both be specified for this model. Please use only one.',
    source: 'https://github.com/skydiscover-ai/skydiscover/issues/15',
  },
  {
    models: /claude-(?:(?:opus|sonnet)-5-5|(?:fable|mythos)-5-[1-9])(?!\d)/,
    field: 'tool_choice.type',
    refuses: (value) => value === 'any' || value === 'tool',
    says: 'tool_choice: type "tool" and "any" are not supported for this model.',
    source: `${CLAUDE_GUIDES}/sonnet-5-5/migration-guide#forced-tool-use`,
  },
  {
    field: 'tool_choice.type',
    refuses: (value, body) =>
      (value === 'any' || value === 'tool') && at(body, 'thinking.type') === 'enabled',
    says: 'Thinking may not be enabled when tool_choice forces tool use.',
    source: 'https://github.com/mastra-ai/mastra/issues/7507',
  },
  {
    models: CLAUDE_4_6,
    field: 'messages[-1].role',
    refuses: (value) => value === 'assistant',
    says: 'This model does not support assistant message prefill. The conversation must end with a user message.',
    source: 'https://github.com/smallmain/vscode-unify-chat-provider/issues/249',
  },
  {
    models: CLAUDE_5,
    field: 'thinking.type',
    refuses: (value) => value === 'enabled',
    says: MAY_NOT_THINK_LESS,
    source: `${CLAUDE_GUIDES}/opus-5-5/migration-guide#breaking-changes`,
  },
  {
    models: /claude-(?:opus-5-5|fable|mythos)(?!\d)/,
    field: 'thinking.type',
    refuses: (value) => value === 'disabled',
    says: MAY_NOT_THINK_LESS,
    source: `${CLAUDE_GUIDES}/opus-5-5/migration-guide#breaking-changes`,
  },
  {
    models: /claude-sonnet-5-5(?!\d)/,
    field: 'thinking.type',
    refuses: (value) => value === 'disabled',
    says: 'To turn thinking off on this model, send "thinking": {"type": "between_tools"} instead of {"type": "disabled"}. The model does not think before responding. The short updates it writes between tool calls come back as thinking blocks.',
    source: `${CLAUDE_GUIDES}/sonnet-5-5/migration-guide#turn-off-up-front-thinking`,
  },
  {
    models: /claude-(?:opus-[5-9]|sonnet-5-5|haiku-[5-9])(?!\d)/,
    field: 'output_config.effort',
    refuses: (value, body) =>
      (value === 'xhigh' || value === 'max') &&
      ['disabled', 'between_tools'].includes(String(at(body, 'thinking.type'))),
    says: "output_config.effort '{value}' is not supported when thinking is disabled on this model. Use effort 'high' or below, or enable thinking.",
    source: 'https://github.com/anthropics/claude-code/issues/76689',
  },
  {
    models: /claude-(?:(?:sonnet|haiku)-4-5|(?:opus|sonnet)-4(?:-[01])?(?:-\d{8}|@|$)|\d)/,
    field: 'output_config.effort',
    says: 'This model does not support the effort parameter.',
    source: 'https://platform.claude.com/docs/en/build-with-claude/effort',
  },
  {
    models: /claude-(?:(?:opus|sonnet|haiku)-4(?:-[0-5])?(?:-\d{8}|@|$)|\d)/,
    field: 'thinking.type',
    refuses: (value) => value === 'adaptive',
    says: 'adaptive thinking is not supported on this model',
    source: 'https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking',
  },
  {
    field: 'temperature',
    refuses: (value, body) =>
      value !== 1 && ['enabled', 'adaptive'].includes(String(at(body, 'thinking.type'))),
    says: '`temperature` may only be set to 1 when thinking is enabled or in adaptive mode.',
    source: 'https://github.com/dotCipher/opencode-claude-bridge/pull/1',
  },
  {
    field: 'metadata.user_id',
    refuses: (value) => /^\S+@\S+\.\S+$/.test(String(value)),
    says: 'metadata.user_id: user_id appears to contain an email address. Please send a uuid or hash value instead.',
    source: 'https://github.com/BerriAI/litellm/issues/10106',
  },
  {
    field: 'metadata.user_id',
    refuses: (value) => /^\+?\d[\d\s().-]{7,17}\d$/.test(String(value)),
    says: 'metadata.user_id: user_id appears to contain a phone number. Please send a uuid or hash value instead.',
    source: 'https://github.com/BerriAI/litellm/pull/10102',
  },
];

interface Reasoning {
  models: RegExp;
  /** What it does when a request does not say how much to think. */
  byDefault: 'thinks' | 'none';
  efforts: readonly string[];
  source: string;
}

const PROFILES =
  'https://github.com/pydantic/pydantic-ai/blob/main/pydantic_ai_slim/pydantic_ai/profiles/openai.py';

/** The first match holds. Models that match none do not reason. */
const OPENAI_REASONING: readonly Reasoning[] = [
  { models: /^gpt-5-chat/, byDefault: 'none', efforts: [], source: PROFILES },
  { models: /^gpt-5\.\d-chat/, byDefault: 'thinks', efforts: ['medium'], source: PROFILES },
  {
    models: /^gpt-6(?:-astra|\.1-sol)/,
    byDefault: 'thinks',
    efforts: ['low', 'medium', 'high', 'xhigh'],
    source: 'https://docs.laozhang.ai/en/announcements/gpt-6-chat-tools-2026-11',
  },
  {
    models: /^gpt-(?:5\.[56]|[6-9])/,
    byDefault: 'thinks',
    efforts: ['none', 'low', 'medium', 'high', 'xhigh'],
    source: `${OPENAI_GUIDES}/deployment-checklist`,
  },
  {
    models: /^gpt-5\.[2-4]/,
    byDefault: 'none',
    efforts: ['none', 'low', 'medium', 'high', 'xhigh'],
    source: PROFILES,
  },
  { models: /^gpt-5\.1/, byDefault: 'none', efforts: ['none', 'low', 'medium', 'high'], source: PROFILES },
  { models: /^gpt-5/, byDefault: 'thinks', efforts: ['minimal', 'low', 'medium', 'high'], source: PROFILES },
  { models: /^o\d/, byDefault: 'thinks', efforts: ['low', 'medium', 'high'], source: PROFILES },
];

export function reasoningOf(model: unknown): Reasoning | undefined {
  const found = OPENAI_REASONING.find(({ models }) => models.test(String(model)));
  return found && found.efforts.length > 0 ? found : undefined;
}

/** Whether this request makes its model think. */
function thinks(body: Fields): boolean {
  const reasoning = reasoningOf(body.model);
  return reasoning !== undefined && (body.reasoning_effort ?? reasoning.byDefault) !== 'none';
}

const isReasoning = (_value: unknown, body: Fields) => reasoningOf(body.model) !== undefined;
const NOT_SUPPORTED = "Unsupported parameter: '{field}' is not supported with this model.";

/** A field that a reasoning model refuses, as OpenAI words it. */
const notSupported = (
  field: string,
  refuses: (value: unknown, body: Fields) => boolean,
  source: string,
): RefusedField => ({
  field,
  refuses,
  says: NOT_SUPPORTED,
  param: field,
  code: 'unsupported_parameter',
  source,
});

const SEARCH_REFUSES =
  'frequency_penalty logit_bias logprobs n presence_penalty seed stop temperature top_logprobs top_p'.split(
    ' ',
  );

/** The models that search name all fields at once. */
const searchModel = (field: string): RefusedField => ({
  models: /^gpt-.*-search/,
  field,
  says(body) {
    const fields = SEARCH_REFUSES.filter((name) => given(body[name]));
    return `Model incompatible request argument${fields.length > 1 ? 's' : ''} supplied: ${fields.join(', ')}`;
  },
  source: 'https://github.com/ChatGPTNextWeb/NextChat/issues/6569',
});

const OPENAI: readonly RefusedField[] = [
  ...SEARCH_REFUSES.map(searchModel),
  {
    field: 'max_tokens',
    refuses: isReasoning,
    says: `${NOT_SUPPORTED} Use 'max_completion_tokens' instead.`,
    param: 'max_tokens',
    code: 'unsupported_parameter',
    source: `${OPENAI_GUIDES}/reasoning`,
  },
  notSupported('stop', isReasoning, 'https://github.com/huggingface/smolagents/issues/1671'),
  notSupported('logit_bias', isReasoning, `${OPENAI_GUIDES}/reasoning`),
  notSupported('prediction', isReasoning, `${OPENAI_GUIDES}/predicted-outputs`),
  {
    models: /^o\d/,
    field: 'parallel_tool_calls',
    says: NOT_SUPPORTED,
    param: 'parallel_tool_calls',
    code: 'unsupported_parameter',
    source: 'https://github.com/tensorzero/tensorzero/issues/2805',
  },
  {
    field: 'temperature',
    refuses: (value, body) => value !== 1 && thinks(body),
    says: "Unsupported value: 'temperature' does not support {value} with this model. Only the default (1) value is supported.",
    param: 'temperature',
    code: 'unsupported_value',
    source: `${OPENAI_GUIDES}/deployment-checklist`,
  },
  notSupported(
    'top_p',
    (value, body) => value !== 1 && thinks(body),
    `${OPENAI_GUIDES}/deployment-checklist`,
  ),
  notSupported(
    'presence_penalty',
    (value, body) => value !== 0 && thinks(body),
    'https://github.com/danny-avila/LibreChat/discussions/11689',
  ),
  notSupported(
    'frequency_penalty',
    (value, body) => value !== 0 && thinks(body),
    'https://github.com/danny-avila/LibreChat/discussions/11689',
  ),
  notSupported(
    'logprobs',
    (value, body) => value === true && thinks(body),
    `${OPENAI_GUIDES}/deployment-checklist`,
  ),
  notSupported('top_logprobs', (_value, body) => thinks(body), `${OPENAI_GUIDES}/deployment-checklist`),
  {
    field: 'reasoning_effort',
    refuses: (_value, body) => reasoningOf(body.model) === undefined,
    says: 'Unrecognized request argument supplied: reasoning_effort',
    source: `${OPENAI_GUIDES}/reasoning`,
  },
  {
    field: 'reasoning_effort',
    refuses: (value, body) => !reasoningOf(body.model)?.efforts.includes(String(value)),
    says: ({ model, reasoning_effort }) =>
      `Unsupported value: 'reasoning_effort' does not support '${String(reasoning_effort)}' with this model. Supported values are: ${listed(reasoningOf(model)?.efforts ?? [])}.`,
    param: 'reasoning_effort',
    code: 'unsupported_value',
    source: `${OPENAI_GUIDES}/latest-model`,
  },
  {
    models: /^gpt-(?:5\.[4-9]|[6-9])/,
    field: 'tools',
    refuses: (_value, body) => thinks(body),
    says: "Function tools with reasoning_effort are not supported for {model} in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.",
    param: 'reasoning_effort',
    source: 'https://github.com/BerriAI/litellm/pull/34569',
  },
  {
    models: /^(?:gpt-[34]|o\d|chatgpt)/,
    field: 'verbosity',
    refuses: (value) => value !== 'medium',
    says: "Unsupported value: 'verbosity' does not support '{value}' with this model. Supported values are: 'medium'.",
    param: 'verbosity',
    code: 'unsupported_value',
    source: 'https://github.com/google-deepmind/concordia/issues/164',
  },
  {
    models: /^o1-(?:mini|preview)/,
    field: 'messages[].role',
    refuses: (value) => value === 'system' || value === 'developer',
    says: "Unsupported value: 'messages[{i}].role' does not support '{value}' with this model.",
    param: 'messages[{i}].role',
    code: 'unsupported_value',
    source: 'https://github.com/pydantic/pydantic-ai/issues/974',
  },
  {
    models: /^(?:gpt-3\.5|gpt-4(?!o|\.|-turbo|-vision)|o1-(?:mini|preview)|o3-mini)/,
    field: 'messages[].content',
    refuses: (content) => hasImage(content),
    says: 'Invalid content type. image_url is only supported by certain models.',
    param: 'messages.[{i}].content',
    source: 'https://github.com/vllm-project/vllm/issues/11629',
  },
  {
    models: /^(?:gpt-[34]|o1|chatgpt)/,
    field: 'service_tier',
    refuses: (value) => value === 'flex',
    says: 'Invalid service_tier argument',
    param: 'service_tier',
    source: `${OPENAI_GUIDES}/flex-processing`,
  },
  {
    models: /^(?:gpt-3\.5|gpt-4(?!o|\.))/,
    field: 'response_format.type',
    refuses: (value) => value === 'json_schema',
    says: "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model. Learn more about supported models at the Structured Outputs guide: https://platform.openai.com/docs/guides/structured-outputs",
    source: `${OPENAI_GUIDES}/structured-outputs`,
  },
];

const GROQ_DOCS = 'https://console.groq.com/docs/openai';

const GROQ: readonly RefusedField[] = [
  ...['logprobs', 'logit_bias', 'top_logprobs'].map((field) => ({
    field,
    refuses: (value: unknown) => value !== false,
    says: '`{field}` is not supported with this model',
    param: field,
    source: GROQ_DOCS,
  })),
  { field: 'n', refuses: (value) => value !== 1, says: "'n' : number must be at most 1", source: GROQ_DOCS },
  {
    field: 'messages[].name',
    says: "'messages.{i}' : for 'role:{role}' the following must be satisfied[('messages.{i}' : property 'name' is unsupported)]",
    source: GROQ_DOCS,
  },
];

const isForeignRole = (value: unknown) => value === 'developer' || value === 'function';
const FOREIGN_ROLE =
  "Input tag '{value}' found using 'role' does not match any of the expected tags: 'system', 'user', 'assistant', 'tool'";

const MISTRAL: readonly RefusedField[] = [
  {
    field: 'messages[].role',
    refuses: isForeignRole,
    status: 422,
    says: `{"detail":[{"type":"union_tag_invalid","loc":["body","messages",{i}],"msg":"${FOREIGN_ROLE}"}]}`,
    source: 'https://docs.mistral.ai/studio-api/conversations/chat-completion',
  },
  {
    field: 'logprobs',
    refuses: (value) => value !== false,
    says: 'Logprobs are not enabled for this model',
    code: '3051',
    source: 'measured with mistral-small-latest and ministral-3b-latest, 2026-10-04',
  },
  ...['messages[].tool_call_id', 'messages[].tool_calls'].map((field) => ({
    field,
    refuses: (value: unknown) => callIds(value).some((id) => !/^[a-zA-Z0-9]{9}$/.test(id)),
    says: 'Tool call id was {value} but must be a-z, A-Z, 0-9, with a length of 9.',
    type: 'invalid_function_call',
    code: '3280',
    source: 'https://github.com/sst/opencode/issues/1680',
  })),
  {
    field: 'messages[].role',
    refuses: (value, body) => value === 'user' && hasUserAfterTool(body),
    says: "Unexpected role 'user' after role 'tool'",
    type: 'invalid_request_message_order',
    code: '3230',
    source: 'https://github.com/avante-corp/avante.nvim/pull/2695',
  },
  {
    field: 'messages[-1].role',
    refuses: (value) => value === 'assistant',
    says: 'Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant',
    type: 'invalid_request_message_order',
    code: '3230',
    source: 'https://github.com/NEKOparapa/AiNiee/issues/641',
  },
];

const hasImage = (content: unknown) =>
  Array.isArray(content) && content.some((part) => isFields(part) && part.type === 'image_url');

const DEEPSEEK: readonly RefusedField[] = [
  {
    field: 'messages[].content',
    refuses: hasImage,
    says: 'Failed to deserialize the JSON body into the target type: messages[{i}]: unknown variant `image_url`, expected `text` at line 1 column 60',
    source: 'https://github.com/1jehuang/jcode/issues/310',
  },
  {
    field: 'messages[].role',
    refuses: isForeignRole,
    says: 'Failed to deserialize the JSON body into the target type: messages[{i}].role: unknown variant `{value}`, expected one of `system`, `user`, `assistant`, `tool`, `latest_reminder` at line 1 column 60',
    source: 'https://github.com/theopenco/llmgateway/pull/3462',
  },
  {
    field: 'response_format.type',
    refuses: (value) => value === 'json_schema',
    says: 'This response_format type is unavailable now',
    source: 'https://github.com/llm-exe/llm-exe/issues/662',
  },
  {
    // The v4 models think unless they are told not to.
    models: /^deepseek-(?!chat)/,
    field: 'tool_choice',
    refuses: (value, body) =>
      value !== 'auto' && value !== 'none' && at(body, 'thinking.type') !== 'disabled',
    says: 'Thinking mode does not support this tool_choice',
    source: 'https://github.com/deepseek-ai/DeepSeek-V3/issues/1376',
  },
];

const grok = (models: RegExp, field: string, name: string, source: string): RefusedField => ({
  models,
  field,
  says: `Model {model} does not support parameter ${name}.`,
  source,
});
const PENALTIES = 'https://github.com/miaoxworld/NativeTavern/issues/83';

const XAI: readonly RefusedField[] = [
  grok(/^grok-(?:3-mini|[4-9]|build|code)/, 'presence_penalty', 'presencePenalty', PENALTIES),
  grok(/^grok-(?:3-mini|[4-9]|build|code)/, 'frequency_penalty', 'frequencyPenalty', PENALTIES),
  grok(
    /^grok-(?:3-mini|[4-9]|build|code)/,
    'stop',
    'stop',
    'https://github.com/huggingface/smolagents/pull/1766',
  ),
  grok(
    /^grok-(?:3(?!-mini)|4(?!\.[3-9])|build|code)/,
    'reasoning_effort',
    'reasoningEffort',
    'https://github.com/vercel/ai/releases/tag/@ai-sdk%2Fxai@4.0.8',
  ),
];

const GEMINI: readonly RefusedField[] = [
  {
    field: 'logprobs',
    refuses: (value) => value === true,
    says: 'Logprobs is not enabled for this model',
    source: 'https://github.com/GoogleCloudPlatform/generative-ai/issues/2947',
  },
];

const BEDROCK: readonly RefusedField[] = [
  {
    models: /gpt-oss/,
    field: 'max_tokens',
    says: "The 'max_tokens' parameter is not supported, use 'max_completion_tokens' instead",
    code: 'unsupported_parameter',
    source: 'https://github.com/CherryHQ/cherry-studio/issues/9655',
  },
  {
    models: /gpt-oss/,
    field: 'frequency_penalty',
    says: "The 'frequency_penalty' parameter is not supported",
    code: 'unsupported_parameter',
    source: 'https://github.com/brainlid/langchain/pull/356',
  },
];

const CEREBRAS: readonly RefusedField[] = [
  {
    field: 'messages[].role',
    refuses: isForeignRole,
    status: 422,
    says: `body.messages.{i}: ${FOREIGN_ROLE}`,
    source: 'https://inference-docs.cerebras.ai/resources/openai',
  },
];

/** The first row that a request meets is the one that it is refused by. */
export const REFUSED_FIELDS: Readonly<Record<ProviderName, readonly RefusedField[]>> = {
  openai: OPENAI,
  anthropic: ANTHROPIC,
  mistral: MISTRAL,
  groq: GROQ,
  deepseek: DEEPSEEK,
  xai: XAI,
  gemini: GEMINI,
  bedrock: BEDROCK,
  fireworks: [],
  cerebras: CEREBRAS,
  together: [],
  openrouter: [],
};

export function at(body: Fields, path: string): unknown {
  let value: unknown = body;
  for (const name of path.split('.')) value = isFields(value) ? value[name] : undefined;
  return value;
}

export function given(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function hasUserAfterTool({ messages }: Fields): boolean {
  const roles = Array.isArray(messages) ? messages.filter(isFields).map(({ role }) => role) : [];
  return roles.some((role, i) => role === 'user' && roles[i - 1] === 'tool');
}

function callIds(value: unknown): string[] {
  if (!Array.isArray(value)) return [String(value)];
  return value.filter(isFields).map(({ id }) => String(id));
}

function listed(values: readonly string[]): string {
  const quoted = values.map((value) => `'${value}'`);
  const last = quoted.pop() ?? '';
  if (quoted.length === 0) return last;
  return `${quoted.join(', ')}, and ${last}`;
}
