/** One real call of a provider, and in words what is wrong when it fails. For an operator, not for callers. */
import { setTimeout } from 'node:timers/promises';
import type { ProviderVerdict } from '@sluice/shared/admin-api';
import { asRequest, type ChatRequest } from '@sluice/shared/chat';
import type { ProviderConfig } from '@sluice/shared/config/provider';
import type { Logger } from '@sluice/shared/process/logger';
import type { ChainEntry } from '@sluice/shared/queue/job';
import { FailedResponse, UnusableResponse } from '../providers/types.js';
import { AnswerRoom } from './answer-room.js';
import { toErrorAnswer, type Upstream } from './call-provider.js';
import { type HttpAnswer, HttpFailure } from './http-client.js';
import { goesByResponses } from './model-apis.js';
import { StopSignal } from './stop-signal.js';

const TIMEOUT_MS = 15_000;
const INTERNAL = 'no completion came from this internal address; the log of the worker says why';
const MAX_ANSWER_BYTES = 1_048_576;
/** Enough for any model to say a word: some refuse fewer. */
const MAX_TOKENS = 16;

/** A provider with several keys works when each of them does. */
export async function testKeys(upstream: Upstream, model: string, logger: Logger): Promise<ProviderVerdict> {
  if (upstream.pool.size === 0) return discreetTest(upstream, model, logger);
  const verdicts = await Promise.all(
    [...upstream.pool].map(async ([key, own]) => ({ key, ...(await discreetTest(own, model, logger)) })),
  );
  const problems = verdicts.flatMap(({ key, problem }) => (problem === null ? [] : `key ${key}: ${problem}`));
  const [{ key: _, ...first }] = verdicts as [(typeof verdicts)[number]];
  return {
    ...first,
    works: problems.length === 0,
    problem: problems.length === 0 ? null : problems.join('; '),
  };
}

/**
 * Somebody who may add a provider would learn by its test what is in the network of the workers. So every failure at an
 * internal address looks the same, and takes the same time. A provider of gateway.yaml is that of the people who run them.
 */
async function discreetTest(upstream: Upstream, model: string, logger: Logger): Promise<ProviderVerdict> {
  const verdict = await testProvider(upstream, model);
  const { provider, works, problem, status, ms } = verdict;
  if (works || !upstream.config.added || !upstream.http.leadsInside) return verdict;
  logger.info({ provider, problem, status, ms }, 'the test of a provider at an internal address failed');
  await setTimeout(Math.max(0, TIMEOUT_MS - ms));
  return { ...verdict, problem: INTERNAL, status: null, ms: Math.max(ms, TIMEOUT_MS) };
}

async function testProvider(given: Upstream, model: string): Promise<ProviderVerdict> {
  const upstream = endpointFor(given, model);
  const { config, missingKey } = upstream;
  const started = performance.now();
  const verdict = (problem: string | null, status: number | null = null): ProviderVerdict => ({
    object: 'provider_test',
    provider: config.name,
    model,
    works: problem === null,
    problem,
    status,
    ms: Math.round(performance.now() - started),
  });
  if (missingKey !== undefined) return verdict(`no key is set: ${missingKey} is empty in the worker`);
  try {
    const answer = await ask(upstream, model);
    if (!answer)
      return verdict('there is no token: its file or command failed; the log of the worker says how');
    return verdict(await problemOf(upstream, model, answer), answer.status);
  } catch (error) {
    if (!(error instanceof HttpFailure)) throw error;
    return verdict(unreachable(config.baseUrl, error));
  }
}

/** The facts about models are the registry's, which a test does without. */
function endpointFor(given: Upstream, model: string): Upstream {
  if (given.embeddings && model.includes('embed')) return given.embeddings;
  const byResponses = goesByResponses(given, entryFor(given, model), requestFor(given, model));
  return (byResponses && given.responses) || given;
}

function requestFor({ api }: Upstream, model: string): ChatRequest {
  if (api === 'embeddings') return asRequest({ model, input: 'OK' });
  return { model, messages: [{ role: 'user', content: 'Say OK.' }] };
}

function entryFor({ config }: Upstream, model: string): ChainEntry {
  return { provider: config.name, model, max_tokens: MAX_TOKENS };
}

/** `inserted` stands between the base URL and the path. */
async function ask(upstream: Upstream, model: string, inserted = ''): Promise<HttpAnswer | undefined> {
  const { config, provider, endpoint, credentials, http } = upstream;
  const sent = provider.buildRequest(requestFor(upstream, model), entryFor(upstream, model));
  const body = JSON.stringify(endpoint.adapt(sent, model));
  const path = inserted + endpoint.chatPath(model);
  const headers = await credentials.headersFor({ method: 'POST', url: config.baseUrl + path, body });
  const share = new AnswerRoom(MAX_ANSWER_BYTES).share();
  return (
    headers &&
    http.post(path, headers, body, TIMEOUT_MS, new StopSignal(), share, { asText: provider.readsText })
  );
}

/** Null: it works. */
async function problemOf(upstream: Upstream, model: string, answer: HttpAnswer): Promise<string | null> {
  const { provider, config } = upstream;
  if (answer.status >= 200 && answer.status < 300) {
    try {
      provider.parseResponse(answer.body);
      return null;
    } catch (error) {
      if (error instanceof FailedResponse && error.status >= 400)
        return problemOf(upstream, model, toErrorAnswer(error, answer, upstream));
      if (!(error instanceof UnusableResponse)) throw error;
      return `something answers at ${addressOf(upstream, model)}, but not with a completion; is base_url right?`;
    }
  }
  const { outcome, said } = provider.parseError(answer.status, answer.headers, answer.body);
  if (answer.status === 404 || answer.status === 405) {
    if (isAboutModel(answer.body, upstream.endpoint.nameOf(model))) return unknownModel(upstream, model);
    return wrongPath(upstream, model);
  }
  if (outcome === 'model_not_found') return unknownModel(upstream, model);
  if (outcome === 'auth') {
    return `it refuses ${credentialsOf(config)} (${answer.status})`;
  }
  if (outcome === 'rate_limited') return 'the key works, and it is rate limiting now (429)';
  return `it answers ${answer.status}${said === undefined ? '' : `: ${said}`}`;
}

function credentialsOf({ auth, apiKeyEnv, added }: ProviderConfig): string {
  if (apiKeyEnv !== undefined) return apiKeyEnv;
  if (auth.sigv4) return 'the credentials of AWS';
  if (auth.token) return 'the token';
  return added && added.keyIds.size > 0 ? 'the stored key' : 'a missing key';
}

function unknownModel({ endpoint }: Upstream, model: string): string {
  const name = endpoint.nameOf(model);
  return `it does not know the model ${model}${name === model ? '' : `, which is ${name} there`}`;
}

/** The most common mistakes are a base URL without its `/v1`, and one with it where the path has it too. */
async function wrongPath(upstream: Upstream, model: string): Promise<string> {
  const { baseUrl } = upstream.config;
  const here = `wrong path: nothing is at ${addressOf(upstream, model)}`;
  if (/\/v\d+$/.test(baseUrl))
    return /\/v\d+\//.test(upstream.config.path)
      ? `${here}; leave ${baseUrl.slice(baseUrl.lastIndexOf('/'))} out of base_url`
      : here;
  const answer = await ask(upstream, model, '/v1').catch(() => undefined);
  const isThere = answer !== undefined && answer.status !== 404 && answer.status !== 405;
  return isThere ? `${here}; base_url lacks /v1: write ${baseUrl}/v1` : here;
}

function addressOf({ config, endpoint }: Upstream, model: string): string {
  return config.baseUrl + endpoint.chatPath(model);
}

/** A 404 is about the model when it says so: of a wrong path servers say nothing about models. */
function isAboutModel(body: unknown, name: string): boolean {
  const text = JSON.stringify(body ?? '');
  return text.includes(JSON.stringify(name).slice(1, -1)) || /model|deployment/i.test(text);
}

function unreachable(baseUrl: string, { reason, cause }: HttpFailure): string {
  const { origin } = new URL(baseUrl);
  if (reason === 'timeout') return `${origin} does not answer within ${TIMEOUT_MS / 1000} s`;
  const code =
    typeof cause === 'object' && cause !== null && 'code' in cause ? ` (${String(cause.code)})` : '';
  return `${origin} cannot be reached${code}`;
}
