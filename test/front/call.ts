/** One call with OpenAI's SDK, in a process of its own: only there is the authority that NODE_EXTRA_CA_CERTS names known. */
import OpenAI from 'openai';

const [characters = '0'] = process.argv.slice(2);
const client = new OpenAI({
  baseURL: process.env.GATEWAY_URL,
  apiKey: process.env.GATEWAY_KEY,
  maxRetries: 0,
});
const { choices } = await client.chat.completions.create({
  model: process.env.MODEL ?? 'fast',
  messages: [{ role: 'user', content: 'x'.repeat(Number(characters)) }],
});
process.stdout.write(`${choices.length} answer`);
