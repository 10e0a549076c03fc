/** The steps of a request, in the order in which it pays for them. */
import { DirectoryCache } from '@sluice/api/cell/directory-cache';
import { parseChatRequest } from '@sluice/api/chat/parse-chat-request';
import { resolveModel } from '@sluice/api/chat/resolve-model';
import type { ChatRequest } from '@sluice/shared/chat';
import { parseConfig } from '@sluice/shared/config/config';
import { isWellFormedKey } from '@sluice/shared/contract/gateway-key';
import type { ChatJob } from '@sluice/shared/queue/job';
import { servedLogEntry } from '@sluice/shared/queue/request-log';
import { settleArgs, settleKeys } from '@sluice/shared/queue/settle';
import { keyNames } from '@sluice/shared/redis/key-names';
import { loadShippedRegistry } from '@sluice/shared/registry/model-registry';
import { makeRequestId } from '@sluice/shared/request-id';
import { Pricing } from '@sluice/worker/calls/pricing';
import { providers } from '@sluice/worker/providers/index';
import { CHAIN, startSluice } from '../sluice.js';
import type { Case } from './cost.js';
import { observingCases } from './observing.js';
import { payloadCases } from './payload-cases.js';
import { ANTHROPIC_ANSWER, OPENAI_ANSWER, REQUESTS } from './requests.js';
import { streamCases } from './stream-cases.js';

const [OPENAI_ENTRY = { provider: '', model: '' }, ANTHROPIC_ENTRY = { provider: '', model: '' }] = CHAIN;
const USAGE = { input: 8, cachedInput: 4, cacheWrite: 0, cacheWrite1h: 0, output: 3 };

export async function createCases(): Promise<{ cases: Case[]; close(): Promise<void> }> {
  // Only its Redis is needed, for the directory behind the cache.
  const sluice = await startSluice({ upstreamUrl: 'http://127.0.0.1:9', apis: 0, workers: 0 });
  const cache = new DirectoryCache(sluice.directory, sluice.digests);
  const { key, model } = sluice.caller;
  const configured = new Map(CHAIN.map(({ provider }) => [provider, true]));
  const registry = loadShippedRegistry();
  const pricing = new Pricing(() => registry);
  const { limits } = parseConfig({}, {}).request;
  const names = keyNames('bench');
  const queue = names.queueKey('openai', '');
  const job = jobOf(REQUESTS.small as ChatRequest);
  const served = {
    ...OPENAI_ENTRY,
    latencyMs: 20,
    usage: USAGE,
    ...pricing.of('openai', 'gpt-4o-mini', { usage: USAGE }, 0),
  };

  const cases: Case[] = [
    { name: 'request id', run: makeRequestId },
    {
      name: 'authenticate: digest and cache',
      run: () => (isWellFormedKey(key) ? cache.findKey(key) : undefined),
    },
    ...eachRequest('request from JSON, and checked', (_, text) => parseChatRequest(text, limits)),
    { name: 'resolve the model', run: () => resolveModel(model, 'bench', cache, configured, job.requestId) },
    ...payloadCases(),
    { name: 'job to JSON and back', run: () => JSON.parse(JSON.stringify({ ...job, request: undefined })) },
    ...eachRequest('request from JSON', (_, text) => JSON.parse(text)),
    ...eachRequest('OpenAI request to JSON', (request) =>
      JSON.stringify(providers.openai.buildRequest(request, OPENAI_ENTRY)),
    ),
    { name: 'OpenAI answer', run: () => providers.openai.parseResponse(OPENAI_ANSWER) },
    ...eachRequest('Anthropic request to JSON', (request) =>
      JSON.stringify(providers.anthropic.buildRequest(request, ANTHROPIC_ENTRY)),
    ),
    { name: 'Anthropic answer', run: () => providers.anthropic.parseResponse(ANTHROPIC_ANSWER) },
    ...streamCases(),
    {
      name: 'price, and its text',
      run: () => pricing.of('openai', 'gpt-4o-mini', { usage: USAGE, serviceTier: 'default' }, 0),
    },
    {
      name: 'log entry and settle arguments',
      run() {
        const { price, cost, costUsd } = pricing.of('openai', 'gpt-4o-mini', { usage: USAGE }, 0);
        const { provider, model } = OPENAI_ENTRY;
        const served = { provider, model, latencyMs: 20, usage: USAGE, cost, price };
        const head = {
          queueMs: 0,
          attempts: 1,
          served: { provider, model, fallbackUsed: false, latencyMs: 20, costUsd },
        };
        const settlement = { job, log: servedLogEntry(job, served, job.acceptedAt), head, body: BODY };
        const by = { as: 'worker', token: 'worker:1:1' } as const;
        const args = settleArgs(settlement, by, { nextToken: '', lockMs: 30_000, answerQuota: 0 });
        return [settleKeys(settlement, queue, names), args];
      },
    },
    ...observingCases(registry, job, servedLogEntry(job, served, job.acceptedAt), {
      queueMs: 0,
      attempts: 1,
      callMs: 20,
      served: { ...served, fallbackUsed: false },
    }),
  ];
  return { cases, close: sluice.stop };
}

const BODY = JSON.stringify(OPENAI_ANSWER);

function eachRequest(name: string, run: (request: ChatRequest, text: string) => unknown): Case[] {
  return Object.entries(REQUESTS).map(([size, request]) => {
    const text = JSON.stringify(request);
    return { name: `${name}, ${size}`, run: () => run(request, text) };
  });
}

export function jobOf(request: ChatRequest, requestId = 'bench', now = 1_767_225_600_000): ChatJob {
  return {
    requestId,
    workspace: 'bench',
    keyId: 'key_bench',
    model: request.model,
    route: 'bench',
    chain: CHAIN,
    entry: 0,
    onCrash: 'rerun',
    inbox: 'bench',
    acceptedAt: now,
    queuedAt: now,
    waitUntil: now + 10_000,
    deadline: now + 300_000,
    queueMs: 0,
    attempts: [{ ...OPENAI_ENTRY, outcome: 'ok', ms: 20 }],
    request: JSON.stringify(request),
  };
}
