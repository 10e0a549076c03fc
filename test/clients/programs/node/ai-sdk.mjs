/** Vercel's AI SDK. */
import { createOpenAI } from '@ai-sdk/openai';
import { embedMany, generateText, Output, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';
import { apiKey, baseURL, expect, failure, MODELS, PICTURE, run, SETTINGS, TIMEOUT_MS } from './features.mjs';

const gateway = createOpenAI({ baseURL, apiKey });
const ask = (model, prompt, more) => generateText({ model: gateway.chat(model), prompt, ...more });

await run({
  async plain() {
    for (const model of MODELS) expect((await ask(model, 'Hello.')).text.includes('Hello.'), 'the echo');
  },
  async turns() {
    const messages = [
      { role: 'user', content: 'One.' },
      { role: 'assistant', content: 'Two.' },
      { role: 'user', content: 'Three.' },
    ];
    for (const name of MODELS) {
      const model = gateway.chat(name);
      const { text } = await generateText({ model, system: 'Be brief.', messages });
      expect(text.includes('Three.'), 'the last turn');
    }
  },
  async tools() {
    const cities = [];
    const getWeather = tool({
      inputSchema: z.object({ city: z.string() }),
      execute({ city }) {
        cities.push(city);
        return '21 °C';
      },
    });
    for (const model of MODELS) {
      const { steps } = await ask(model, 'Weather?', {
        tools: { getWeather },
        stopWhen: stepCountIs(2),
        prepareStep: ({ stepNumber }) => ({ toolChoice: stepNumber === 0 ? 'required' : 'auto' }),
      });
      expect(steps.length === 2 && cities.length > 0, 'a call and an answer');
    }
    expect(cities.length === MODELS.length, 'one call each');
  },
  async structured() {
    const schema = z.object({ name: z.string(), age: z.number().int().min(18) });
    for (const model of MODELS) {
      const { output } = await ask(model, 'A person.', { output: Output.object({ schema }) });
      expect(output.age >= 18, 'an adult');
    }
  },
  async images() {
    const content = [
      { type: 'text', text: 'What is it?' },
      { type: 'image', image: PICTURE },
    ];
    for (const name of MODELS) {
      const { text } = await generateText({
        model: gateway.chat(name),
        messages: [{ role: 'user', content }],
      });
      expect(text.includes('What is it?'), 'the echo');
    }
  },
  async settings() {
    const settings = {
      temperature: SETTINGS.temperature,
      maxOutputTokens: SETTINGS.max_tokens,
      stopSequences: SETTINGS.stop,
      seed: SETTINGS.seed,
      presencePenalty: SETTINGS.presence_penalty,
      frequencyPenalty: SETTINGS.frequency_penalty,
      providerOptions: { openai: { user: SETTINGS.user } },
    };
    for (const model of MODELS)
      expect((await ask(model, 'Set.', settings)).text.includes('Set.'), 'the echo');
  },
  async reasoning() {
    const providerOptions = { openai: { reasoningEffort: 'high' } };
    for (const model of MODELS)
      expect((await ask(model, 'Think.', { providerOptions })).text.includes('Think.'), 'the echo');
  },
  async embeddings() {
    const { embeddings, usage } = await embedMany({
      model: gateway.embedding('embed'),
      values: ['one', 'two'],
      providerOptions: { openai: { dimensions: 4 } },
    });
    expect(embeddings.length === 2 && embeddings[1].length === 4 && usage.tokens === 2, 'two vectors');
  },
  async errors() {
    const error = await failure(ask('no-such-model', 'Hello.'));
    expect(error.statusCode === 404 && error.data.error.code === 'model_not_found', 'a 404 with its code');
  },
  async retries() {
    expect((await ask('flaky', 'Again.')).text.includes('Again.'), 'the answer of a retry');
  },
  async timeouts() {
    const error = await failure(ask('slow', 'Slow.', { abortSignal: AbortSignal.timeout(TIMEOUT_MS) }));
    expect(error.name === 'TimeoutError' || error.name === 'AbortError', `a timeout, not ${error}`);
  },
  models: null,
  async streaming() {
    let error;
    const { fullStream } = streamText({
      model: gateway.chat('fast'),
      prompt: 'Stream.',
      onError: (event) => {
        error = event.error;
      },
    });
    for await (const _ of fullStream);
    // The AI SDK repeats every 5xx, whatever x-should-retry says.
    expect((error?.lastError ?? error)?.statusCode === 501, '501');
  },
  async headers() {
    const { response } = await ask('fast', 'Who?');
    expect(response.headers['x-gateway-provider'] === 'openai', 'x-gateway-provider');
  },
  async idempotency() {
    const once = { headers: { 'Idempotency-Key': `ai-${process.pid}-${Date.now()}` } };
    const [a, b] = [await ask('fast', 'Once.', once), await ask('fast', 'Once.', once)];
    expect(a.response.id === b.response.id, 'one answer');
  },
});
