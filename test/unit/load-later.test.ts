/** Parts that are loaded when they are first used. At that moment a busy process may have no file descriptor left. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import test from 'ava';
import { createJsonServer } from '../helpers/json-server.js';

/** Prints what `attempt` gives in a process without descriptors, and then with them. Both are without a space. */
async function tryTwice(first: string, attempt: string): Promise<string[]> {
  const program = `
    import { closeSync, openSync } from 'node:fs';
    ${first}
    const attempt = async () => ${attempt};
    const taken = [];
    try {
      for (;;) taken.push(openSync('/dev/null'));
    } catch {}
    const without = await attempt().catch(({ code }) => code);
    for (const descriptor of taken) closeSync(descriptor);
    const after = await attempt().catch(({ code }) => code);
    process.stdout.write([without, after].join(' '), () => process.exit());
  `;
  const { stdout } = await promisify(execFile)('sh', [
    '-c',
    'ulimit -n 100; exec "$0" --input-type=module --eval "$1"',
    process.execPath,
    program,
  ]);
  return stdout.split(' ');
}

const from = (name: string) => JSON.stringify(import.meta.resolve(name));

test('a webhook is sent once there are descriptors again', async (t) => {
  const server = await createJsonServer({ '/hook': {} });
  const webhook = { url: `${server.url}/hook`, secret: 'whsec_c2VjcmV0' };
  const delivery = { event: 'evt_1', type: 'batch.completed', subject: 'batch_1', at: 0 };
  const outcomes = await tryTwice(
    `import { sendMessage } from ${from('@sluice/api/webhooks/send-message')};`,
    `(await sendMessage(${JSON.stringify(webhook)}, ${JSON.stringify(delivery)},
      { allowPrivate: true, timeoutMs: 900_000 })).outcome`,
  );
  await server.close();
  t.deepEqual(outcomes, ['unreachable', '200']);
});

for (const [what, first, attempt] of [
  [
    'the board of the queues',
    `import { openBullBoard } from ${from('@sluice/admin/board/bull-board')};`,
    `typeof openBullBoard('/queues', {}).serve`,
  ],
  [
    'the client for batches',
    `import { loadUndici } from ${from('@sluice/worker/calls/undici-pool')};`,
    'typeof loadUndici().request',
  ],
] as const)
  test(`${what} is loaded once there are descriptors again`, async (t) => {
    const [without, after] = await tryTwice(first, attempt);
    t.not(without, 'function');
    t.is(after, 'function');
  });
