/** Files, batches and the signature of webhooks with the official SDK of Python, which is not among the project's packages. */
import { adminOf } from '../helpers/admin.js';
import { batchEnd, createBatch, line, toJsonl } from '../helpers/batches.js';
import type { Gateway } from '../helpers/gateway.js';
import { sdkFor } from '../helpers/sdk.js';
import { until } from '../helpers/until.js';
import { WebhookReceiver } from '../helpers/webhook-receiver.js';
import { failuresAmong, parseResultsOf } from './features.js';
import { environmentFor } from './gateway.js';
import { KITS } from './kits.js';
import { runProgram } from './run-program.js';
import { installOnce } from './try-client.js';

const KIT = 'python-openai';
const NAMES = ['files', 'batches', 'webhooks'] as const;
const PATIENCE_MS = 90_000;

export interface TriedBatches {
  failures: { feature: string; note: string }[];
  table: string;
}

export async function tryBatches(gateway: Gateway, version: string): Promise<TriedBatches> {
  const folder = await installOnce(KIT);
  const message = JSON.stringify(await receiveMessage(gateway));
  const env = { ...environmentFor(gateway), WEBHOOK_MESSAGE: message };
  const { stdout, stderr } = await runProgram({
    ...KITS[KIT].features('openai_batches.py'),
    cwd: folder,
    env,
  });
  const results = parseResultsOf(NAMES, stdout);
  if (results.size === 0) console.log(stderr);
  const cells = NAMES.map((name) => (results.get(name)?.result === 'yes' ? 'yes' : '**no**'));
  const told = NAMES.map((name, i) => `${name} ${cells[i]}`).join(', ');
  return { failures: failuresAmong(NAMES, results), table: `- openai (Python) ${version}: ${told}` };
}

/** A message about a batch as its receiver gets it, with the secret of the webhook. */
async function receiveMessage(gateway: Gateway) {
  const receiver = await WebhookReceiver.start();
  try {
    const added = await adminOf(gateway)('POST', '/workspaces/demo/webhooks', { url: receiver.url('/hook') });
    const client = sdkFor(gateway);
    const { id } = await createBatch(client, toJsonl([line('only', 'Hello.')]));
    await batchEnd(client, id);
    const [message] = await until(
      'the message',
      () => (receiver.messages.length > 0 ? receiver.messages : undefined),
      PATIENCE_MS,
    );
    await adminOf(gateway)('DELETE', `/workspaces/demo/webhooks/${added.body.id}`);
    return { secret: added.body.secret, batch: id, headers: message?.headers, body: message?.body };
  } finally {
    await receiver.stop();
  }
}
