/** The official SDK of Node; OPENAI_MODULE says which version. */
import { apiKey, baseURL, expect, failure, MODELS, PICTURE, run, SETTINGS, TIMEOUT_MS } from './features.mjs';

const { default: OpenAI } = await import(process.env.OPENAI_MODULE ?? 'openai');
const client = new OpenAI({ baseURL, apiKey });
const chat = (body, options) => client.chat.completions.create(body, options);
const ask = (model, content, more) => chat({ model, messages: [{ role: 'user', content }], ...more });
const textOf = (completion) => completion.choices[0].message.content;

const WEATHER = {
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};

await run({
  async plain() {
    for (const model of MODELS) expect(textOf(await ask(model, 'Hello.')).includes('Hello.'), 'the echo');
  },
  async turns() {
    const messages = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'One.' },
      { role: 'assistant', content: 'Two.' },
      { role: 'user', content: 'Three.' },
    ];
    for (const model of MODELS)
      expect(textOf(await chat({ model, messages })).includes('Three.'), 'the last turn');
  },
  async tools() {
    for (const model of MODELS) {
      const question = { role: 'user', content: 'Weather?' };
      const tools = [WEATHER];
      const first = await chat({ model, messages: [question], tools, tool_choice: 'required' });
      const [call] = first.choices[0].message.tool_calls;
      expect(typeof JSON.parse(call.function.arguments).city === 'string', 'arguments');
      const result = { role: 'tool', tool_call_id: call.id, content: '21 °C' };
      const last = await chat({ model, messages: [question, first.choices[0].message, result], tools });
      expect(last.choices[0].finish_reason === 'stop', 'an answer after the tool');
    }
  },
  async structured() {
    const schema = {
      type: 'object',
      properties: { name: { type: 'string' }, age: { type: 'integer', minimum: 18 } },
      required: ['name', 'age'],
      additionalProperties: false,
    };
    const format = { type: 'json_schema', json_schema: { name: 'person', strict: true, schema } };
    for (const model of MODELS) {
      const body = { model, messages: [{ role: 'user', content: 'A person.' }], response_format: format };
      const answer = JSON.parse(textOf(await client.chat.completions.parse(body)));
      expect(answer.age >= 18, 'an adult');
    }
  },
  async images() {
    const content = [
      { type: 'text', text: 'What is it?' },
      { type: 'image_url', image_url: { url: PICTURE } },
    ];
    for (const model of MODELS) expect(textOf(await ask(model, content)).includes('What is it?'), 'the echo');
  },
  async settings() {
    for (const model of MODELS)
      expect(textOf(await ask(model, 'Set.', SETTINGS)).includes('Set.'), 'the echo');
  },
  async reasoning() {
    for (const model of MODELS)
      expect(textOf(await ask(model, 'Think.', { reasoning_effort: 'high' })).includes('Think.'), 'the echo');
  },
  async embeddings() {
    const { data } = await client.embeddings.create({ model: 'embed', input: ['one', 'two'], dimensions: 4 });
    expect(data.length === 2 && data[1].index === 1 && data[1].embedding.length === 4, 'two vectors');
  },
  async errors() {
    const error = await failure(ask('no-such-model', 'Hello.'));
    expect(error instanceof OpenAI.NotFoundError && error.code === 'model_not_found', 'NotFoundError');
    const stranger = new OpenAI({ baseURL, apiKey: 'wrong' });
    expect((await failure(stranger.models.list())) instanceof OpenAI.AuthenticationError, 'a 401');
  },
  async retries() {
    expect(textOf(await ask('flaky', 'Again.')).includes('Again.'), 'the answer of a retry');
  },
  async timeouts() {
    const options = { timeout: TIMEOUT_MS, maxRetries: 0 };
    const body = { model: 'slow', messages: [{ role: 'user', content: 'Slow.' }] };
    const error = await failure(chat(body, options));
    expect(error instanceof OpenAI.APIConnectionTimeoutError, `a timeout, not ${error}`);
  },
  async models() {
    const ids = [];
    for await (const { id } of client.models.list()) ids.push(id);
    expect(ids.includes('fast') && ids.includes('gpt-4o-mini'), 'aliases and models');
  },
  async streaming() {
    const error = await failure(ask('fast', 'Stream.', { stream: true }));
    expect(error.status === 501 && error.code === 'not_implemented', '501');
  },
  async headers() {
    const body = { model: 'fast', messages: [{ role: 'user', content: 'Who?' }] };
    const { response } = await chat(body).withResponse();
    expect(response.headers.get('x-gateway-provider') === 'openai', 'x-gateway-provider');
  },
  async idempotency() {
    const once = { headers: { 'Idempotency-Key': `node-${process.pid}-${Date.now()}` } };
    const body = { model: 'fast', messages: [{ role: 'user', content: 'Once.' }] };
    const ids = [await chat(body, once), await chat(body, once)].map(({ id }) => id);
    expect(ids[0] === ids[1], 'one answer');
  },
});
