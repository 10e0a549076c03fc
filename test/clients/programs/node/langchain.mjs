/** LangChain for JavaScript. */
import { AIMessage, HumanMessage, SystemMessage, ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai';
import { z } from 'zod';
import { apiKey, baseURL, expect, failure, MODELS, PICTURE, run, SETTINGS, TIMEOUT_MS } from './features.mjs';

// Without disableStreaming a 501 would be retried for more than a minute wherever LangChain prefers to stream.
const model = (name, more = {}) =>
  new ChatOpenAI({ model: name, apiKey, configuration: { baseURL }, disableStreaming: true, ...more });

await run({
  async plain() {
    for (const name of MODELS)
      expect((await model(name).invoke('Hello.')).text.includes('Hello.'), 'the echo');
  },
  async turns() {
    const turns = [
      new SystemMessage('Be brief.'),
      new HumanMessage('One.'),
      new AIMessage('Two.'),
      new HumanMessage('Three.'),
    ];
    for (const name of MODELS)
      expect((await model(name).invoke(turns)).text.includes('Three.'), 'the last turn');
  },
  async tools() {
    const getWeather = tool(() => '21 °C', {
      name: 'get_weather',
      description: 'The weather of a city',
      schema: z.object({ city: z.string() }),
    });
    for (const name of MODELS) {
      const question = new HumanMessage('Weather?');
      const first = await model(name).bindTools([getWeather], { tool_choice: 'required' }).invoke([question]);
      const [call] = first.tool_calls;
      expect(typeof call.args.city === 'string', 'arguments');
      const result = new ToolMessage({ tool_call_id: call.id, content: await getWeather.invoke(call.args) });
      const last = await model(name).bindTools([getWeather]).invoke([question, first, result]);
      expect(last.text.includes('Weather?'), 'an answer after the tool');
    }
  },
  async structured() {
    const schema = z.object({ name: z.string(), age: z.number().int().min(18) });
    for (const name of MODELS) {
      const answer = await model(name)
        .withStructuredOutput(schema, { method: 'jsonSchema', strict: true })
        .invoke('A person.');
      expect(answer.age >= 18, 'an adult');
    }
  },
  async images() {
    const content = [
      { type: 'text', text: 'What is it?' },
      { type: 'image_url', image_url: { url: PICTURE } },
    ];
    for (const name of MODELS) {
      const { text } = await model(name).invoke([new HumanMessage({ content })]);
      expect(text.includes('What is it?'), 'the echo');
    }
  },
  async settings() {
    const { temperature, max_tokens: maxTokens, stop, user, ...modelKwargs } = SETTINGS;
    for (const name of MODELS) {
      const set = model(name, { temperature, maxTokens, stop, user, modelKwargs });
      expect((await set.invoke('Set.')).text.includes('Set.'), 'the echo');
    }
  },
  async reasoning() {
    for (const name of MODELS) {
      const thinking = model(name, { modelKwargs: { reasoning_effort: 'high' } });
      expect((await thinking.invoke('Think.')).text.includes('Think.'), 'the echo');
    }
  },
  async embeddings() {
    const embeddings = new OpenAIEmbeddings({
      model: 'embed',
      apiKey,
      configuration: { baseURL },
      dimensions: 4,
    });
    const vectors = await embeddings.embedDocuments(['one', 'two']);
    expect(vectors.length === 2 && vectors[1].length === 4, 'two vectors');
  },
  async errors() {
    const error = await failure(model('no-such-model').invoke('Hello.'));
    expect(error.status === 404 && error.code === 'model_not_found', 'a 404 with its code');
  },
  async retries() {
    expect((await model('flaky').invoke('Again.')).text.includes('Again.'), 'the answer of a retry');
  },
  async timeouts() {
    const error = await failure(model('slow', { timeout: TIMEOUT_MS, maxRetries: 0 }).invoke('Slow.'));
    expect(/time/i.test(`${error.name} ${error.message}`), `a timeout, not ${error}`);
  },
  models: null,
  async streaming() {
    const streaming = model('fast', { disableStreaming: false, maxRetries: 0 });
    const error = await failure(streaming.stream('Stream.'));
    expect(error.status === 501, '501');
    // As in the page's lines: what is asked to stream comes whole.
    let text = '';
    for await (const chunk of await model('fast').stream('Whole.')) text += chunk.text;
    expect(text.includes('Whole.'), 'the whole answer');
  },
  headers: null,
  async idempotency() {
    const once = { headers: { 'Idempotency-Key': `langchain-${process.pid}-${Date.now()}` } };
    const [a, b] = [
      await model('fast').invoke('Once.', { options: once }),
      await model('fast').invoke('Once.', { options: once }),
    ];
    expect(a.id === b.id, 'one answer');
  },
});
