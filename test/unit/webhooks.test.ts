import type { Delivery } from '@sluice/api/webhooks/delivery-store';
import { sendMessage } from '@sluice/api/webhooks/send-message';
import test from 'ava';
import { Webhook } from 'standardwebhooks';
import { WebhookReceiver } from '../helpers/webhook-receiver.js';

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const DELIVERY: Delivery = {
  ...{ id: 'evt_1-wh_1', webhook: 'wh_1', event: 'evt_1', type: 'batch.completed', subject: 'batch_1' },
  ...{ at: 1_700_000_000_000, since: 0, state: 'waiting', attempts: 0 },
  ...{ lastAt: null, outcome: null, nextAt: null },
};
const OPTIONS = { allowPrivate: true, timeoutMs: 900_000 };

let receiver: WebhookReceiver;
test.before(async () => {
  receiver = await WebhookReceiver.start();
});
test.after.always(() => receiver?.stop());

const send = (path: string, options: Partial<typeof OPTIONS> = {}, host?: string) =>
  sendMessage(
    { id: 'wh_1', url: receiver.url(path, host), secret: SECRET, events: [], created: 0 },
    DELIVERY,
    { ...OPTIONS, ...options },
  );

test('a message has ids and a state, and a signature that the official library accepts', async (t) => {
  t.deepEqual(await send('/signed'), { as: 'delivered', outcome: '204' });
  const [{ body = '', headers = {} } = {}] = receiver.at('/signed');
  t.deepEqual(new Webhook(SECRET).verify(body, headers as Record<string, string>), {
    id: 'evt_1',
    object: 'event',
    created_at: 1_700_000_000,
    type: 'batch.completed',
    data: { id: 'batch_1' },
  });
});

test('a private address is not called, by its number or by a name that leads to it', async (t) => {
  for (const host of ['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]'])
    t.deepEqual(await send('/private', { allowPrivate: false }, host), {
      as: 'failed',
      outcome: 'private_address',
    });
  t.deepEqual(receiver.at('/private'), []);
});

test('a redirect is not followed', async (t) => {
  receiver.answers.set('/moved', (res) => res.writeHead(307, { location: '/elsewhere' }).end());
  t.deepEqual(await send('/moved'), { as: 'failed', outcome: '307' });
  t.deepEqual(receiver.at('/elsewhere'), []);
});

test('only the head of an answer is waited for, and that not for ever', async (t) => {
  receiver.answers.set('/endless', (res) => {
    res.writeHead(200);
    res.write('x');
  });
  t.deepEqual(await send('/endless'), { as: 'delivered', outcome: '200' });
  receiver.answers.set('/silent', () => {});
  t.deepEqual(await send('/silent', { timeoutMs: 100 }), { as: 'failed', outcome: 'timeout' });
});

test('an address where nobody listens is a failure', async (t) => {
  const webhook = { id: 'wh_1', url: 'http://127.0.0.1:1/', secret: SECRET, events: [], created: 0 };
  t.deepEqual(await sendMessage(webhook, DELIVERY, OPTIONS), { as: 'failed', outcome: 'connection_refused' });
});
