/** Embeddings: how answers are read, what requests are estimated at, and what the simulated endpoint refuses. */
import { asRequest, type EmbeddingRequest } from '@sluice/shared/chat';
import { parseConfigText } from '@sluice/shared/config/config';
import { cutMember } from '@sluice/shared/json/member';
import { CostEstimate } from '@sluice/shared/registry/cost-estimate';
import { loadShippedRegistry } from '@sluice/shared/registry/model-registry';
import { estimateTokens } from '@sluice/shared/registry/token-estimate';
import { createSimulator } from '@sluice/simulator/simulator';
import { embeddings } from '@sluice/worker/providers/openai/embeddings';
import { FailedResponse, UnusableResponse } from '@sluice/worker/providers/types';
import test from 'ava';

const SMALL = 'text-embedding-3-small';
const ENTRY = { provider: 'openai', model: SMALL };
const DATA = '[{"object":"embedding","index":0,"embedding":[1.0,-0.0,1e-7]}]';

test('the vectors of an answer stay as they were written, and the rest is read', (t) => {
  const text = `{ "data" : ${DATA} ,"model":"x", "usage":{"prompt_tokens":7,"total_tokens":7},"n":1.0}`;
  const { usage, write } = embeddings.parseResponse(text);
  t.is(usage.input, 7);
  t.is(usage.output, 0);
  t.is(
    write?.('mine'),
    `{"object":"list","data": ${DATA} ,"model":"mine","usage":{"prompt_tokens":7,"total_tokens":7},"n":1.0}`,
  );
});

test('what has no vectors is unusable, and an error is one', (t) => {
  const unusable = [
    undefined,
    '',
    '[]',
    '{}',
    '{"data":{}}',
    '{"data":[]}',
    '{"data":[1]}',
    `{"data":${DATA},"data":${DATA}}`,
    `{"data":${DATA}`,
    `{"d\\u0061ta":${DATA}}`,
    '{"data":[{"embedding":[-Infinity]}]}',
    `{"data":[{"embedding":${'['.repeat(40)}${']'.repeat(40)}}]}`,
  ];
  for (const text of unusable)
    t.throws(() => embeddings.parseResponse(text), { instanceOf: UnusableResponse }, text);
  const failed = t.throws(() => embeddings.parseResponse('{"error":{"message":"no","code":429}}'), {
    instanceOf: FailedResponse,
  });
  t.is((failed as FailedResponse).status, 429);
});

test('a request passes as it came, unless its answer surely is too large', (t) => {
  const build = (body: EmbeddingRequest) => embeddings.buildRequest(asRequest(body), ENTRY);
  t.deepEqual(build({ model: 'mine', input: 'a', user: null, extra: 1 }), {
    model: SMALL,
    input: 'a',
    user: null,
    extra: 1,
  });
  const input = Array<string>(2_048).fill('a');
  t.notThrows(() => build({ model: 'm', input, encoding_format: 'base64' }));
  t.notThrows(() => build({ model: 'm', input, dimensions: 256 }));
  t.throws(() => build({ model: 'm', input }), { message: /encoding_format base64/ });
});

test('presets say who has embeddings, and where', (t) => {
  const pathOf = (preset: string) =>
    parseConfigText(
      `providers: { p: { preset: ${preset}, resource: r, region: r, project: p, api_key: "\${K}", auth: {} } }`,
      { K: 'x' },
    ).providers.get('p')?.embeddingsPath;
  for (const preset of [
    'openai',
    'azure',
    'mistral',
    'gemini',
    'together',
    'fireworks',
    'openrouter',
    'vllm',
  ])
    t.is(pathOf(preset), '/embeddings', preset);
  t.is(pathOf('azure-deployments'), '/deployments/{model}/embeddings');
  for (const preset of ['anthropic', 'bedrock', 'vertex', 'groq', 'deepseek', 'xai'])
    t.is(pathOf(preset), undefined, preset);
  const path = (more: string) =>
    parseConfigText(`providers: { p: { kind: openai, base_url: "http://x/v1", ${more} } }`, {}).providers.get(
      'p',
    )?.embeddingsPath;
  t.is(path('path: /generate'), undefined);
  t.is(path('path: /generate, embeddings_path: "/embed/{model}"'), '/embed/{model}');
  t.is(path('embeddings_path: none'), undefined);
});

test('a member is cut out of a text once, and only where it is sure', (t) => {
  t.deepEqual(cutMember('{"a":1,"b":[{"a":2}]}', 'b', '0', 8), {
    outline: '{"a":1,"b":0}',
    member: '[{"a":2}]',
  });
  t.is(cutMember('{"a":1}', 'b', '0', 8), undefined);
  t.is(cutMember('{"b":1,"b":2}', 'b', '0', 8), undefined);
  t.is(cutMember('{"b":[[1]]}', 'b', '0', 2), undefined);
});

test('the estimate has the input alone: tokens as they are counted, and a text by its bytes', (t) => {
  const providers = new Map([
    ['openai', { kind: 'openai' as const, prices: 'openai', baseUrl: 'https://api.openai.com/v1' }],
  ]);
  const estimate = new CostEstimate(providers, () => loadShippedRegistry());
  const costOf = (input: EmbeddingRequest['input'], mode: 'strict' | 'expected') =>
    estimate.ofChain([ENTRY], asRequest({ model: 'm', input }), mode).cost / 20_000;
  t.is(costOf([1, 2, 3], 'expected'), 3);
  t.is(costOf([[1, 2], [3]], 'strict'), 3 + 2 * 4);
  t.is(costOf('a'.repeat(300), 'expected'), 100);
  t.is(costOf('a'.repeat(300), 'strict'), 304);
  // The window of 8,192 tokens is that of one input.
  t.is(costOf(Array<string>(100).fill('a'.repeat(3_000)), 'expected'), 100_000);
  t.deepEqual(estimateTokens(asRequest({ model: 'm', input: ['a'.repeat(8), 'bb'] })), {
    input: 3,
    output: 0,
  });
  t.deepEqual(estimateTokens(asRequest({ model: 'm', input: [[1], [2, 3]] })), { input: 3, output: 0 });
  t.is(estimate.unknownField([ENTRY], asRequest({ model: 'm', input: 'a', models: ['x'] })), undefined);
});

test('the simulated endpoint refuses what the real one refuses', async (t) => {
  const simulator = await createSimulator();
  const post = async (body: object, server = '') => {
    const response = await fetch(`${simulator.url}${server}/v1/embeddings`, {
      method: 'POST',
      headers: { authorization: 'Bearer sk-x', 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return { status: response.status, text: await response.text() };
  };
  const refusals: [object, number, RegExp][] = [
    [{ input: 'a' }, 400, /must provide a model/],
    [{ model: 'text-embedding-nonexistent', input: 'a' }, 404, /does not exist/],
    [{ model: 'gpt-4o', input: 'a' }, 403, /not allowed to generate embeddings/],
    [{ model: SMALL }, 400, /'\$.input' is invalid/],
    [{ model: SMALL, input: ['a', ''] }, 400, /'\$.input' is invalid/],
    [{ model: SMALL, input: Array(2_049).fill('a') }, 400, /'\$.input' is invalid/],
    [{ model: SMALL, input: [100_258] }, 400, /'\$.input' is invalid/],
    [{ model: SMALL, input: Array(8_193).fill(1) }, 400, /maximum context length is 8192/],
    [{ model: SMALL, input: Array(37).fill(Array(8_192).fill(1)) }, 400, /max 300000 tokens per request/],
    [{ model: SMALL, input: 'a', dimensions: 1_537 }, 400, /less than or equal to 1536/],
    [{ model: 'text-embedding-ada-002', input: 'a', dimensions: 2 }, 400, /does not support specifying/],
    [{ model: SMALL, input: 'a', encoding_format: 'hex' }, 400, /Supported values/],
    [{ model: SMALL, input: 'a', messages: [] }, 400, /Unrecognized request argument supplied: messages/],
  ];
  try {
    for (const [body, status, message] of refusals) {
      const answer = await post(body);
      t.is(answer.status, status, String(message));
      t.regex(answer.text, message);
    }
    t.is((await post({ model: 'mistral-embed', input: 'a', dimensions: 2 }, '/mistral')).status, 422);
    t.is((await post({ model: 'mistral-embed', input: 'a', output_dimension: 2 }, '/mistral')).status, 400);
    t.is((await post({ model: 'gemini-embedding-001', input: [1, 2] }, '/gemini')).status, 400);
    const [first, again] = [
      await post({ model: SMALL, input: 'a' }),
      await post({ model: SMALL, input: 'a' }),
    ];
    t.is(first.text, again.text);
  } finally {
    await simulator.close();
  }
});
