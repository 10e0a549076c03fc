import { type Gateway, startGateway } from '../helpers/gateway.js';
import test from '../helpers/needs-redis.js';

let gateway: Gateway;
test.before(async () => {
  gateway = await startGateway();
});
test.after.always(() => gateway?.stop());

test('a chat completion on an alias comes back in the common format with the five headers', async (t) => {
  const { status, headers, body } = await gateway.chat({
    model: 'fast',
    messages: [{ role: 'user', content: 'Hello there' }],
  });
  t.is(status, 200);
  t.regex(body.id, /^chatcmpl_[\w-]{20}$/);
  t.is(body.object, 'chat.completion');
  t.is(body.model, 'fast');
  t.is(headers.get('x-gateway-provider'), 'openai');
  t.is(headers.get('x-gateway-model'), 'gpt-4o-mini');
  t.is(headers.get('x-gateway-fallback-used'), 'false');
  t.regex(headers.get('x-gateway-latency-ms') ?? '', /^\d+$/);
  t.regex(headers.get('x-gateway-cost-usd') ?? '', /^\d+\.\d{6}$/);
  t.is(headers.get('x-request-id'), `req_${body.id.slice('chatcmpl_'.length)}`);
});
