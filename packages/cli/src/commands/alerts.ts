import type { AlertNotice, AlertView, CreatedAlert } from '@sluice/shared/admin-api';
import { ALERT_KIND_NAMES, alertKind, alertText, watchedText } from '@sluice/shared/contract/alert';
import { Argument, type Command } from 'commander';
import { path } from '../admin/client.js';
import { orWord, parseAmount, parseCount } from '../arguments/parse-arguments.js';
import type { Cli } from '../cli.js';
import { UsageError } from '../output/cli-error.js';
import { moment, whole } from '../output/format.js';
import type { Style } from '../output/style.js';
import { type Column, table } from '../output/table.js';
import { group, withExamples } from './examples.js';

const NOTICE: Column<AlertNotice>[] = [
  { title: 'TYPE', cell: ({ type }) => type },
  { title: 'TO', cell: ({ to }) => to },
  { title: 'STATE', cell: ({ state }) => state },
  { title: 'ATTEMPTS', right: true, cell: ({ attempts }) => whole(attempts) },
  { title: 'OUTCOME', cell: ({ outcome }) => outcome ?? '' },
  { title: 'CREATED', cell: ({ created_at }) => moment(created_at) },
  { title: 'TEXT', cell: ({ text }) => text },
];

const KINDS = ALERT_KIND_NAMES.map((name) => {
  const { unit } = alertKind(name);
  return `  ${name.padEnd(14)} ${alertText(name)}${unit === undefined ? '' : ` (--above in ${unit})`}`;
}).join('\n');

/** Of what is left out, `add` takes the standard, and `set` leaves what is there. */
type AlertOptions = Partial<Record<'workspace' | 'provider' | 'webhook' | 'name', string>> & {
  above?: number | 'none';
  minutes?: number | 'none';
  mail?: string[];
};

export function addAlertCommands(program: Command, cli: Cli): void {
  const alerts = group(
    program,
    'alerts',
    'Alerts: be told by a webhook or by mail when a figure crosses a threshold.',
    'alerts add budget --above 80 --mail ops@example.com',
    'alerts list',
  );

  withExamples(
    alerts.command('list').description('List the alerts, and which of them are firing.'),
    'alerts list',
    'alerts list --json',
  ).action(async () => {
    const rows = await cli.admin.list<AlertView>('/alerts');
    cli.showTable(rows, columns(cli.style), 'There are no alerts.');
    if (!cli.json)
      for (const { firing } of rows)
        for (const { text, since } of firing) cli.say(cli.style.bad(`Since ${moment(since)}: ${text}`));
  });

  withExamples(
    withAlertOptions(
      alerts
        .command('add')
        .description('Add an alert. The secret of its webhook is shown once.')
        .addArgument(new Argument('<kind>', 'what to be told of').choices(ALERT_KIND_NAMES)),
    ).addHelpText('after', `\nKinds:\n${KINDS}`),
    'alerts add budget --above 80 --mail ops@example.com',
    'alerts add failure_rate --above 5 --minutes 10 --webhook https://example.com/hooks',
    'alerts add provider_down --provider openai --mail ops@example.com',
  ).action(async (when: string, options: AlertOptions) => {
    const created = await cli.admin.send<CreatedAlert>('POST', '/alerts', { when, ...options });
    cli.show(created, () =>
      [`Added alert ${created.id}. Try it: sluice alerts test ${created.id}`, ...secretLines(created)].join(
        '\n',
      ),
    );
  });

  withExamples(
    withAlertOptions(
      alerts
        .command('set')
        .description(
          'Change an alert. What you leave out stays as it is; "none" takes it away. Another webhook gets another secret.',
        )
        .argument('<alert>', 'id of the alert'),
    ),
    'alerts set alert_6Yd0mJXkXy0kq3Jt2s8P --above 90',
    'alerts set alert_6Yd0mJXkXy0kq3Jt2s8P --mail ops@example.com --webhook none',
  ).action(async (alert: string, options: AlertOptions) => {
    if (Object.keys(options).length === 0) throw new UsageError('give at least one option to change');
    const change = Object.entries(options).map(([name, value]) => [
      name,
      [value].flat().join() === 'none' ? null : value,
    ]);
    const changed = await cli.admin.send<CreatedAlert>(
      'PATCH',
      path`/alerts/${alert}`,
      Object.fromEntries(change),
    );
    cli.show(changed, () =>
      [table(columns(cli.style), [changed], cli.style), ...secretLines(changed)].join('\n'),
    );
  });

  withExamples(
    alerts
      .command('remove')
      .description('Remove an alert. Its messages that still wait are not sent.')
      .argument('<alert>', 'id of the alert')
      .option('-y, --yes', 'do not ask'),
    'alerts remove alert_6Yd0mJXkXy0kq3Jt2s8P --yes',
  ).action(async (alert: string, { yes }: { yes?: boolean }) => {
    await cli.confirm(`Removing alert ${alert}`, yes);
    const removed = await cli.admin.send('DELETE', path`/alerts/${alert}`);
    cli.show(removed, () => `Removed alert ${alert}.`);
  });

  withExamples(
    alerts
      .command('test')
      .description('Send a test to the webhook and the mail addresses of an alert.')
      .argument('<alert>', 'id of the alert'),
    'alerts test alert_6Yd0mJXkXy0kq3Jt2s8P',
  ).action(async (alert: string) => {
    const sent = await cli.admin.send<{ data: AlertNotice[] }>('POST', path`/alerts/${alert}/test`);
    cli.show(sent, () => `${table(NOTICE, sent.data, cli.style)}\nSee how it went: sluice alerts sent`);
  });

  withExamples(
    alerts.command('sent').description('Show what was sent for alerts, the newest first, and how it went.'),
    'alerts sent',
  ).action(async () =>
    cli.showTable(await cli.admin.list<AlertNotice>('/alert-notices'), NOTICE, 'Nothing was sent yet.'),
  );
}

function withAlertOptions(command: Command): Command {
  return command
    .option('--above <number>', 'the threshold, in the unit of the kind', orWord('none', parseAmount))
    .option(
      '--minutes <number>',
      'over how many of the latest minutes to count; default: 15',
      orWord('none', parseCount),
    )
    .option('--workspace <id>', 'only this workspace')
    .option('--provider <name>', 'only this provider')
    .option('--webhook <address>', 'an address with https that gets a signed POST')
    .option('--mail <address...>', 'mail addresses; the gateway needs SMTP_URL')
    .option('--name <name>', 'a name for people');
}

function secretLines({ secret }: CreatedAlert): string[] {
  return secret === null
    ? []
    : [`The secret of its webhook, which checks signatures, is shown only now:\n${secret}`];
}

function columns(style: Style): Column<AlertView>[] {
  return [
    { title: 'ALERT', cell: ({ id }) => id },
    { title: 'NAME', cell: ({ name }) => name ?? '' },
    { title: 'WHEN', cell: ({ when, above, minutes }) => alertText(when, above, minutes) },
    { title: 'OF', cell: watchedText },
    { title: 'TO', cell: ({ webhook, mail }) => [...(webhook ? [webhook] : []), ...mail].join(', ') },
    {
      title: 'FIRING',
      cell: ({ firing }) => (firing.length === 0 ? 'no' : `yes, ${whole(firing.length)}`),
      paint: ({ firing }) => (firing.length === 0 ? undefined : style.bad),
    },
  ];
}
