import type { CreatedWebhook, WebhookDelivery, WebhookView } from '@sluice/shared/admin-api';
import type { Command } from 'commander';
import { path } from '../admin/client.js';
import type { Cli } from '../cli.js';
import { fromNow, moment, whole } from '../output/format.js';
import { type Column, table } from '../output/table.js';
import { group, withExamples } from './examples.js';

const WEBHOOK: Column<WebhookView>[] = [
  { title: 'WEBHOOK', cell: ({ id }) => id },
  { title: 'ADDRESS', cell: ({ url }) => url },
  { title: 'EVENTS', cell: ({ events }) => events.join(', ') },
  { title: 'CREATED', cell: ({ created_at }) => moment(created_at) },
];

const DELIVERY: Column<WebhookDelivery>[] = [
  { title: 'EVENT', cell: ({ type }) => type },
  { title: 'ABOUT', cell: ({ subject }) => subject },
  { title: 'STATE', cell: ({ state }) => state },
  { title: 'ATTEMPTS', right: true, cell: ({ attempts }) => whole(attempts) },
  { title: 'OUTCOME', cell: ({ outcome }) => outcome ?? '' },
  { title: 'CREATED', cell: ({ created_at }) => moment(created_at) },
  {
    title: 'NEXT',
    cell: ({ next_attempt_at }) => (next_attempt_at === null ? '' : fromNow(next_attempt_at)),
  },
  { title: 'DELIVERY', cell: ({ id }) => id },
];

const WORKSPACE = 'id of its workspace';

export function addWebhookCommands(program: Command, cli: Cli): void {
  const webhooks = group(
    program,
    'webhooks',
    'Webhooks: addresses that are told how batches and requests in the background ended.',
    'webhooks add demo https://example.com/hooks',
    'webhooks deliveries demo',
  );

  withExamples(
    webhooks
      .command('list')
      .description('List the webhooks of a workspace.')
      .argument('<workspace>', 'id of the workspace'),
    'webhooks list demo',
    'webhooks list demo --json',
  ).action(async (workspace: string) => {
    const rows = await cli.admin.list<WebhookView>(path`/workspaces/${workspace}/webhooks`);
    cli.showTable(rows, WEBHOOK, 'The workspace has no webhooks.');
  });

  withExamples(
    webhooks
      .command('add')
      .description('Add a webhook and show its secret, once.')
      .argument('<workspace>', 'id of the workspace')
      .argument('<address>', 'an address with https')
      .option('--event <type...>', 'only these events, such as batch.completed; default: all'),
    'webhooks add demo https://example.com/hooks',
    'webhooks add demo https://example.com/hooks --event batch.completed batch.failed',
  ).action(async (workspace: string, url: string, { event }: { event?: string[] }) => {
    const place = path`/workspaces/${workspace}/webhooks`;
    const created = await cli.admin.send<CreatedWebhook>('POST', place, { url, events: event });
    cli.show(
      created,
      () =>
        `Added webhook ${created.id}. Its secret, which checks signatures, is shown only now:\n${created.secret}`,
    );
  });

  withExamples(
    webhooks
      .command('remove')
      .description('Remove a webhook. Messages that wait for it are not sent.')
      .argument('<workspace>', WORKSPACE)
      .argument('<webhook>', 'id of the webhook')
      .option('-y, --yes', 'do not ask'),
    'webhooks remove demo wh_6Yd0mJXkXy0kq3Jt2s8P --yes',
  ).action(async (workspace: string, webhook: string, { yes }: { yes?: boolean }) => {
    await cli.confirm(`Removing webhook ${webhook}`, yes);
    const removed = await cli.admin.send('DELETE', path`/workspaces/${workspace}/webhooks/${webhook}`);
    cli.show(removed, () => `Removed webhook ${webhook}.`);
  });

  withExamples(
    webhooks
      .command('deliveries')
      .description('Show what was sent to a workspace’s webhooks, the newest first, and how it went.')
      .argument('<workspace>', 'id of the workspace'),
    'webhooks deliveries demo',
  ).action(async (workspace: string) => {
    const place = path`/workspaces/${workspace}/webhook-deliveries`;
    cli.showTable(await cli.admin.list<WebhookDelivery>(place), DELIVERY, 'Nothing was sent yet.');
  });

  withExamples(
    webhooks
      .command('resend')
      .description('Send a message again, now, under the same id.')
      .argument('<workspace>', WORKSPACE)
      .argument('<delivery>', 'id of the delivery'),
    'webhooks resend demo evt_V1StGXR8Z5jdHi6BmyT0-wh_6Yd0mJXkXy0kq3Jt2s8P',
  ).action((workspace: string, delivery: string) =>
    send(cli, path`/workspaces/${workspace}/webhook-deliveries/${delivery}/resend`),
  );

  withExamples(
    webhooks
      .command('test')
      .description('Send an event of type webhook.test.')
      .argument('<workspace>', WORKSPACE)
      .argument('<webhook>', 'id of the webhook'),
    'webhooks test demo wh_6Yd0mJXkXy0kq3Jt2s8P',
  ).action((workspace: string, webhook: string) =>
    send(cli, path`/workspaces/${workspace}/webhooks/${webhook}/test`),
  );
}

async function send(cli: Cli, place: string): Promise<void> {
  const delivery = await cli.admin.send<WebhookDelivery>('POST', place);
  cli.show(delivery, () => table(DELIVERY, [delivery], cli.style));
}
