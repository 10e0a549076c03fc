// The same Idempotency-Key and body: the second call gets the first answer, and the provider is not called again.
import { randomUUID } from 'node:crypto';

const request = {
  method: 'POST',
  headers: {
    authorization: `Bearer ${process.env.GATEWAY_KEY}`,
    'content-type': 'application/json',
    'idempotency-key': randomUUID(),
  },
  body: JSON.stringify({ model: 'fast', messages: [{ role: 'user', content: 'Say hello.' }] }),
};
const send = () => fetch(`${process.env.GATEWAY_URL}/chat/completions`, request);
const [first, second] = [await send(), await send()];
const same =
  (await first.json()).choices[0].message.content === (await second.json()).choices[0].message.content;
console.log(`Replayed: ${second.headers.get('idempotent-replayed')}. The same answer: ${same}.`);
