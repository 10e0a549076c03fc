import OpenAI from 'openai';

const client = new OpenAI({ baseURL: process.env.GATEWAY_URL, apiKey: process.env.GATEWAY_KEY });
const { data, response } = await client.chat.completions
  .create({ model: 'fast', messages: [{ role: 'user', content: 'Say hello.' }] })
  .withResponse();
console.log(data.choices[0].message.content);
console.log(`Served by ${response.headers.get('x-gateway-provider')}.`);
