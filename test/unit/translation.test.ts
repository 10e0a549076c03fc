/** Every cell of the table in docs/translation.md: a feature, at a provider, there and back. */
import { readFileSync } from 'node:fs';
import type { ChatMessage, ChatRequest } from '@sluice/shared/chat';
import { createSimulator } from '@sluice/simulator/simulator';
import { Endpoint } from '@sluice/worker/calls/endpoint';
import { providerFor, responses } from '@sluice/worker/providers/index';
import test from 'ava';
import { type Family, FEATURES } from '../translation/features.js';
import { withMatrix } from '../translation/matrix.js';
import { FAMILIES, MODELS, presetConfig } from '../translation/presets.js';

const picked = (from: Record<string, unknown>, like: Record<string, unknown>) =>
  Object.fromEntries(Object.keys(like).map((field) => [field, from[field]]));

const providerOf = (preset: string, family: Family) =>
  family === 'responses' ? responses : providerFor(presetConfig(preset));

for (const [preset, family] of FAMILIES) {
  const config = presetConfig(preset);
  const provider = providerOf(preset, family);
  const endpoint = new Endpoint(config, provider);
  const model = MODELS[family];
  const send = (request: Partial<ChatRequest>): Record<string, unknown> => {
    const whole = { model, messages: [], ...request } as ChatRequest;
    const before = structuredClone(whole);
    const body = endpoint.adapt(provider.buildRequest(whole, { provider: 'x', model }), model);
    // The same request may be built again for the next entry.
    if (JSON.stringify(before) !== JSON.stringify(whole)) throw new Error('the request was changed');
    return body;
  };

  for (const { name, verdicts, request, sent, answer, message, usage, finishReason, sentBack } of FEATURES)
    test(`${preset}, ${family}: ${name}: ${verdicts[family]}`, (t) => {
      if (request && sent) t.deepEqual(picked(send(request), sent[family]), sent[family]);
      if (!answer) return;
      const { completion } = provider.parseResponse(answer[family]);
      const [choice] = completion.choices;
      const got: Record<string, unknown> = { ...choice?.message };
      if (message) t.deepEqual(picked(got, message[family]), message[family]);
      if (usage) t.deepEqual(picked({ ...completion.usage }, usage), usage);
      if (finishReason !== undefined) t.is(choice?.finish_reason, finishReason);
      if (!sentBack || !choice) return;
      const results = (choice.message.tool_calls ?? []).map(
        ({ id }): ChatMessage => ({ role: 'tool', tool_call_id: id, content: 'done' }),
      );
      const messages = [{ role: 'user', content: 'Go on.' } as ChatMessage, choice.message, ...results];
      const body = send({ messages });
      const turns = (body.messages ?? []) as Record<string, unknown>[];
      const turn = turns.find(({ role }) => role === 'assistant') ?? body;
      t.deepEqual(picked(turn, sentBack[family]), sentBack[family]);
    });
}

for (const family of ['openai', 'anthropic', 'responses'] as const)
  test(`what is sent to ${family} is taken by its strict simulator`, async (t) => {
    const simulator = await createSimulator();
    t.teardown(() => simulator.close());
    const provider = providerOf(family === 'responses' ? 'openai' : family, family);
    const model = MODELS[family];
    const [url, headers] =
      family !== 'anthropic'
        ? [
            `${simulator.openaiBaseUrl}/${family === 'openai' ? 'chat/completions' : family}`,
            { authorization: 'Bearer k' },
          ]
        : [`${simulator.anthropicBaseUrl}/v1/messages`, { 'x-api-key': 'k', ...provider.headers }];
    const thoughts = FEATURES.flatMap(({ sentBack, answer }) => (sentBack && answer ? [answer[family]] : []));
    const returned = thoughts.map((answer): Partial<ChatRequest> => {
      const message = provider.parseResponse(answer).completion.choices[0]?.message;
      const results = (message?.tool_calls ?? []).map(
        ({ id }): ChatMessage => ({ role: 'tool', tool_call_id: id, content: 'done' }),
      );
      const tools = [{ type: 'function', function: { name: 'weather' } }];
      return {
        messages: [{ role: 'user', content: 'Go on.' }, message as ChatMessage, ...results],
        tools,
      };
    });
    const requests: Partial<ChatRequest>[] = [
      ...FEATURES.flatMap(({ request }) => (request ? [request] : [])),
      ...returned,
    ];
    t.true(requests.length > 5);
    for (const request of requests) {
      const body = provider.buildRequest({ model, messages: [], ...request } as ChatRequest, {
        provider: 'x',
        model,
      });
      const answer = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers } as Record<string, string>,
        body: JSON.stringify(body),
      });
      t.is(answer.status, 200, `${await answer.text()} ${JSON.stringify(body)}`);
    }
  });

test('the table in docs/translation.md is as the tests have it', (t) => {
  const page = readFileSync(new URL('../../../docs/translation.md', import.meta.url), 'utf8');
  t.is(page, withMatrix(page), 'docs/translation.md is out of date: run "npm run docs"');
});
