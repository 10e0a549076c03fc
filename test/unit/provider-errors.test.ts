/** Error answers as providers document them, or as their users report them, and what the gateway must take them for. */
import { parseConfig } from '@sluice/shared/config/config';
import { OUTCOMES } from '@sluice/shared/outcomes';
import { providers } from '@sluice/worker/providers/index';
import type { Headers, ProviderFailure } from '@sluice/worker/providers/types';
import test from 'ava';
import { callStandIn } from '../helpers/call-stand-in.js';
import { createJsonServer } from '../helpers/json-server.js';
import { KEY } from '../helpers/stand-in.js';

interface Case {
  kind?: 'anthropic';
  status: number;
  headers?: Headers;
  body?: unknown;
  /** Everything that the failure must have beside what its outcome says. */
  is: Partial<ProviderFailure> & Pick<ProviderFailure, 'outcome'>;
}

const error = (message: string, fields: object = {}) => ({ error: { message, ...fields } });
const aws = (name: string) => ({ 'x-amzn-errortype': `${name}:http://internal.amazon.com/coral/` });
const DAY_MS = 86_400_000;

const OUT_OF_CREDIT = { outcome: 'auth', coolDown: 'provider' } as const;
const LIMITED = { outcome: 'rate_limited', coolDown: 'model' } as const;

const quota = (quotaId: string, retryDelay: string) => [
  {
    error: {
      code: 429,
      message: 'You exceeded your current quota, please check your plan and billing details.',
      status: 'RESOURCE_EXHAUSTED',
      details: [
        { '@type': 'type.googleapis.com/google.rpc.QuotaFailure', violations: [{ quotaId }] },
        { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay },
      ],
    },
  },
];

const CASES: Record<string, Case> = {
  'OpenAI: no prepaid credit is left': {
    status: 429,
    body: error('No credits.', { type: 'insufficient_quota', code: 'credit_balance_exhausted' }),
    is: { outcome: 'rate_limited', coolDown: 'provider' },
  },
  'OpenAI: the spend limit of the organisation is reached': {
    status: 429,
    body: error('Limit reached.', { code: 'organization_spend_limit_exceeded' }),
    is: { outcome: 'rate_limited', coolDown: 'provider' },
  },
  'OpenAI: the spend limit of the project is reached': {
    status: 429,
    body: error('Limit reached.', { code: 'project_spend_limit_exceeded' }),
    is: { outcome: 'rate_limited', coolDown: 'provider' },
  },
  'OpenAI: the usage limit of the organisation is reached': {
    status: 429,
    body: error('Limit reached.', { code: 'organization_usage_limit_exceeded' }),
    is: { outcome: 'rate_limited', coolDown: 'provider' },
  },
  'OpenAI: requests come faster than before': {
    status: 429,
    headers: { 'retry-after': '3' },
    body: error('Slow down.', { type: 'rate_limit_error', code: 'slow_down' }),
    is: { ...LIMITED, retryAfterMs: 3_000 },
  },
  'OpenAI: requests of a day are used up, and the header says for how long': {
    status: 429,
    headers: { 'retry-after': '432' },
    body: error('Rate limit reached for gpt-4 on requests per day (RPD): Limit 200, Used 200.'),
    is: { ...LIMITED, retryAfterMs: 432_000 },
  },
  'OpenAI: a model that has no chat completions': {
    status: 404,
    body: error('This model is only supported in v1/responses and not in v1/chat/completions.', {
      param: 'model',
    }),
    is: { outcome: 'model_not_found', param: 'model' },
  },
  'Azure: a model that has no chat completions': {
    status: 400,
    body: error('The chatCompletion operation does not work with the specified model, gpt-5-codex.', {
      code: 'OperationNotSupported',
    }),
    is: { outcome: 'model_not_found', param: 'model' },
  },
  'Azure: the filter refuses the prompt': {
    status: 400,
    body: error('The response was filtered.', {
      type: null,
      param: 'prompt',
      code: 'content_filter',
      innererror: { code: 'ResponsibleAIPolicyViolation' },
    }),
    is: {
      outcome: 'bad_request',
      message: 'The response was filtered.',
      param: 'prompt',
      providerCode: 'content_filter',
    },
  },
  'Azure: an unknown deployment': {
    status: 404,
    body: error('The API deployment for this resource does not exist.', { code: 'DeploymentNotFound' }),
    is: { outcome: 'model_not_found' },
  },
  'Anthropic: the spend limit that the account has set': {
    kind: 'anthropic',
    status: 400,
    body: {
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message: 'You have reached your specified workspace API usage limits. You will regain access soon.',
      },
    },
    is: OUT_OF_CREDIT,
  },
  'Anthropic: the spend limit of the account’s tier': {
    kind: 'anthropic',
    status: 429,
    body: {
      type: 'error',
      error: {
        type: 'rate_limit_error',
        message: 'Your organization has reached its monthly limit.',
        details: { error_code: 'enforced_spend_limit_reached' },
      },
    },
    is: { outcome: 'rate_limited', coolDown: 'provider' },
  },
  'Anthropic: overloaded': {
    kind: 'anthropic',
    status: 529,
    body: { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
    is: { outcome: 'overloaded' },
  },
  'Anthropic: overloaded, with another status': {
    kind: 'anthropic',
    status: 500,
    body: { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
    is: { outcome: 'overloaded' },
  },
  'Gemini: requests of a minute are used up': {
    status: 429,
    body: quota('GenerateRequestsPerMinutePerProjectPerModel-FreeTier', '20.5s'),
    is: { ...LIMITED, retryAfterMs: 20_500 },
  },
  // It names a short wait also when the day's requests are used up.
  'Gemini: requests of a day are used up': {
    status: 429,
    body: quota('GenerateRequestsPerDayPerProjectPerModel-FreeTier', '20s'),
    is: { ...LIMITED, retryAfterMs: DAY_MS },
  },
  'Gemini: no prepaid credit is left': {
    status: 402,
    body: [error('Prepay credits are used up.', { code: 402, status: 'RESOURCE_EXHAUSTED' })],
    is: OUT_OF_CREDIT,
  },
  'Gemini: no prepaid credit is left, as a rate limit': {
    status: 429,
    body: [error('Your prepayment credits are depleted.', { code: 429, status: 'RESOURCE_EXHAUSTED' })],
    is: { outcome: 'rate_limited', coolDown: 'provider' },
  },
  'Gemini: a prompt over the context': {
    status: 400,
    body: [error('The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).')],
    is: { outcome: 'context_length' },
  },
  'Gemini: not in this country': {
    status: 400,
    body: [error('User location is not supported for the API use.', { status: 'FAILED_PRECONDITION' })],
    is: { outcome: 'auth' },
  },
  'Gemini: a wrong key': {
    status: 400,
    body: [error('Please pass a valid API key.', { details: [{ reason: 'API_KEY_INVALID' }] })],
    is: { outcome: 'auth' },
  },
  'Bedrock: throttled': {
    kind: 'anthropic',
    status: 429,
    headers: aws('ThrottlingException'),
    body: { message: 'Too many tokens, please wait before trying again.' },
    is: LIMITED,
  },
  'Bedrock: throttled, with another status': {
    kind: 'anthropic',
    status: 400,
    body: { __type: 'com.amazon.coral.service#ThrottlingException', message: 'Too many requests' },
    is: LIMITED,
  },
  'Bedrock: tokens of a day are used up': {
    kind: 'anthropic',
    status: 429,
    headers: aws('ThrottlingException'),
    body: { message: 'Too many tokens per day, please wait before trying again.' },
    is: { ...LIMITED, retryAfterMs: DAY_MS },
  },
  'Bedrock: the quota of the account is used up': {
    kind: 'anthropic',
    status: 400,
    headers: aws('ServiceQuotaExceededException'),
    body: { message: 'Your request exceeds the service quota for your account.' },
    is: LIMITED,
  },
  'Bedrock: the model is not ready': {
    kind: 'anthropic',
    status: 429,
    headers: aws('ModelNotReadyException'),
    body: { message: 'The model is not ready for inference.' },
    is: LIMITED,
  },
  'Bedrock: the model took too long': {
    kind: 'anthropic',
    status: 408,
    headers: aws('ModelTimeoutException'),
    body: { message: 'Processing time exceeded the model timeout length.' },
    is: { outcome: 'timeout' },
  },
  'Bedrock: the model failed': {
    kind: 'anthropic',
    status: 424,
    headers: aws('ModelErrorException'),
    body: { message: 'The request failed due to an error while processing the model.' },
    is: { outcome: 'server_error' },
  },
  'Bedrock: not available': {
    kind: 'anthropic',
    status: 503,
    headers: aws('ServiceUnavailableException'),
    body: { message: 'Bedrock is unable to process your request.' },
    is: { outcome: 'overloaded' },
  },
  'Bedrock: a signature that is too old': {
    kind: 'anthropic',
    status: 400,
    headers: aws('RequestExpired'),
    body: { message: 'The request is no longer valid.' },
    is: { outcome: 'auth' },
  },
  'Bedrock: a model that needs an inference profile': {
    kind: 'anthropic',
    status: 400,
    headers: aws('ValidationException'),
    body: { message: 'Invocation of model ID x with on-demand throughput isn’t supported.' },
    is: { outcome: 'model_not_found' },
  },
  'Bedrock: a prompt over the context': {
    kind: 'anthropic',
    status: 400,
    headers: aws('ValidationException'),
    body: { message: 'Input is too long for requested model.' },
    is: { outcome: 'context_length' },
  },
  'Groq: the flex tier has no capacity': {
    status: 498,
    body: error('Flex tier capacity exceeded.', { code: 'capacity_exceeded' }),
    is: LIMITED,
  },
  'Groq: a request that is larger than the limit of a minute': {
    status: 413,
    body: error(
      'Request too large for model `x` in organization `org_1` on tokens per minute (TPM): Limit 6000, Requested 7000.',
      { type: 'tokens', code: 'rate_limit_exceeded' },
    ),
    is: { outcome: 'request_too_large' },
  },
  'Groq: a model that was taken out of service': {
    status: 400,
    body: error('The model `x` has been decommissioned.', { code: 'model_decommissioned' }),
    is: { outcome: 'model_not_found' },
  },
  'Groq: the account is restricted': {
    status: 400,
    body: error('Organization has been restricted.', { code: 'organization_restricted' }),
    is: { outcome: 'auth' },
  },
  'Groq: the model called a tool in a wrong way': {
    status: 400,
    body: error('Failed to call a function.', { code: 'tool_use_failed', failed_generation: '{' }),
    is: { outcome: 'schema_mismatch' },
  },
  'Groq: the model wrote no valid JSON': {
    status: 400,
    body: error('Failed to generate JSON.', { code: 'json_validate_failed', failed_generation: '{' }),
    is: { outcome: 'schema_mismatch' },
  },
  'DeepSeek: no balance is left': {
    status: 402,
    body: error('Insufficient Balance', { type: 'unknown_error', code: 'invalid_request_error' }),
    is: OUT_OF_CREDIT,
  },
  'OpenRouter: no credit is left': {
    status: 402,
    body: error('Insufficient credits.', { code: 402 }),
    is: OUT_OF_CREDIT,
  },
  'OpenRouter: the credit that is left does not cover this request': {
    status: 402,
    body: error(
      'This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens.',
      {
        code: 402,
      },
    ),
    is: { outcome: 'request_too_large' },
  },
  'OpenRouter: requests under way may cost the whole credit': {
    status: 402,
    headers: { 'retry-after': '4' },
    body: error('Too much in flight.', {
      code: 402,
      metadata: { limit_source: 'openrouter_in_flight_budget' },
    }),
    is: { ...LIMITED, retryAfterMs: 4_000 },
  },
  'OpenRouter: its own time is over': {
    status: 408,
    body: error('Timed out', { code: 408 }),
    is: { outcome: 'timeout' },
  },
  'OpenRouter: free requests of a day are used up': {
    status: 429,
    body: error('Rate limit exceeded: free-models-per-day. Add 10 credits to unlock more.', { code: 429 }),
    is: { ...LIMITED, retryAfterMs: DAY_MS },
  },
  'OpenRouter: the prompt was flagged': {
    status: 403,
    body: error('x requires moderation on y. Your input was flagged for "violence".', { code: 403 }),
    is: {
      outcome: 'bad_request',
      message: 'x requires moderation on y. Your input was flagged for "violence".',
    },
  },
  'xAI: the prompt was flagged': {
    status: 403,
    body: {
      code: 'The caller does not have permission to execute the specified operation',
      error:
        'Content violates usage guidelines. Team: 0a1b-2c3d, API key ID: 4e5f-6a7b, Model: grok-4, Failed check: SAFETY_CHECK_TYPE_BIO',
    },
    is: {
      outcome: 'bad_request',
      message:
        'Content violates usage guidelines. [redacted], [redacted], Model: grok-4, Failed check: SAFETY_CHECK_TYPE_BIO',
    },
  },
  'OpenRouter: the error of the provider behind it': {
    status: 400,
    body: error('Provider returned error', {
      code: 400,
      metadata: {
        provider_name: 'Other',
        raw: JSON.stringify(error('Invalid temperature.', { code: 'bad_value', param: 'temperature' })),
      },
    }),
    is: {
      outcome: 'bad_request',
      message: 'Invalid temperature.',
      param: 'temperature',
      providerCode: 'bad_value',
    },
  },
  'OpenRouter: the words of the provider behind it': {
    status: 429,
    body: error('Provider returned error', { code: 429, metadata: { raw: 'x is rate-limited upstream.' } }),
    is: { ...LIMITED, said: 'x is rate-limited upstream.' },
  },
  'Mistral: a model and a tier without capacity': {
    status: 503,
    body: {
      object: 'error',
      message: 'Service tier capacity exceeded for this model.',
      type: 'service_tier_capacity_exceeded',
      code: '3505',
    },
    is: LIMITED,
  },
  'Mistral: too many requests': {
    status: 429,
    body: { object: 'error', message: 'Rate limit exceeded', type: 'rate_limited', code: '1300' },
    is: LIMITED,
  },
  'Mistral: an unknown model': {
    status: 400,
    body: {
      object: 'error',
      message: 'No such model.',
      type: 'invalid_request_error',
      code: 'unknown_model',
    },
    is: { outcome: 'model_not_found' },
  },
  'Mistral: messages in a wrong order': {
    status: 400,
    body: {
      object: 'error',
      message: 'Expected last role User or Tool but got assistant',
      type: 'invalid_request_message_order',
      param: null,
      code: '3230',
    },
    is: {
      outcome: 'refused_field',
      message: 'Expected last role User or Tool but got assistant',
      providerCode: '3230',
    },
  },
  'Mistral: an id of a tool call in another form': {
    status: 400,
    body: {
      object: 'error',
      message: 'Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.',
      type: 'invalid_function_call',
      param: null,
      code: '3280',
    },
    is: {
      outcome: 'refused_field',
      message: 'Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.',
      providerCode: '3280',
    },
  },
  'Together: the limit of spending is reached': {
    status: 402,
    body: error('Credit limit exceeded.', { type: 'credit_limit', code: null }),
    is: OUT_OF_CREDIT,
  },
  'Together: a prompt over the context': {
    status: 403,
    body: error('Input token count + max_tokens must be less than the context length of the model.'),
    is: { outcome: 'context_length' },
  },
  'Fireworks: the account is suspended': {
    status: 412,
    body: error('Account x is suspended, possibly due to reaching the monthly spending limit.', {
      code: 'PRECONDITION_FAILED',
    }),
    is: OUT_OF_CREDIT,
  },
  'xAI: a prompt over the context': {
    status: 400,
    body: { code: 'Client specified an invalid argument', error: 'The maximum prompt length is 131072.' },
    is: { outcome: 'context_length' },
  },
  ...Object.fromEntries(
    [521, 522, 523, 525, 526, 530].map((status): [string, Case] => [
      `Cloudflare: ${status}, the provider behind it cannot be reached`,
      { status, is: { outcome: 'connection' } },
    ]),
  ),
  'Cloudflare: 520, the provider behind it sent no HTTP': { status: 520, is: { outcome: 'server_error' } },
  'Cloudflare: 524, the provider behind it took too long': { status: 524, is: { outcome: 'timeout' } },
};

for (const [name, { kind = 'openai', status, headers = {}, body, is }] of Object.entries(CASES))
  test(`${name} (${status}) is ${is.outcome}`, (t) => {
    const failure = providers[kind].parseError(status, headers, body, 0);
    const { code, message, fallback } = OUTCOMES[is.outcome as 'auth'];
    const rest = is.message === undefined && failure.said === failure.message ? {} : { message };
    t.like(failure, { status, code, fallback, ...rest, ...is });
    t.is(failure.coolDown, is.coolDown);
    t.is(failure.retryAfterMs, is.retryAfterMs);
    t.is(failure.providerCode, is.providerCode);
  });

test('an error in a 200 is told without the key that it quotes', async (t) => {
  const [config] = parseConfig({ providers: { mistral: { preset: 'mistral' } } }, {}).providers.values();
  if (!config) return t.fail();
  const body = error(`${'x'.repeat(490)}${KEY}: is not valid`, { code: 400, param: KEY });
  const server = await createJsonServer({ '/v1/chat/completions': body });
  try {
    const call = { origin: server.url, model: 'mistral-large-latest', key: KEY };
    const { failure, billUnknown } = await callStandIn(config, call);
    t.like(failure, { outcome: 'bad_request', status: 400, param: '[redacted]' });
    t.notRegex(JSON.stringify(failure), /key-of/);
    t.is(billUnknown, undefined);
  } finally {
    await server.close();
  }
});
