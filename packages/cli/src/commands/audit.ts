import type { AuditPage, AuditRecord } from '@sluice/shared/admin-api';
import { SAVED_AS } from '@sluice/shared/contract/query';
import { type Difference, differencesOf, undoNow, undoOf } from '@sluice/shared/contract/undo';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Cli } from '../cli.js';
import { CliError, UsageError } from '../output/cli-error.js';
import { moment } from '../output/format.js';
import { withExamples } from './examples.js';

interface AuditOptions {
  signIns?: boolean;
  limit?: number;
  path?: string;
  search?: string;
  restore?: boolean;
  yes?: boolean;
  export?: (typeof SAVED_AS)[number];
}

export function addAuditCommand(program: Command, cli: Cli): void {
  withExamples(
    program
      .command('audit')
      .description(
        'Show who has changed what, or who has signed in, newest first. With the id of an entry, show what it changed; --restore puts it back.',
      )
      .argument('[entry]', 'id of one change, to see the fields that differ')
      .option('--restore', 'put a route, provider, workspace, key or budget back as it was before the entry')
      .option('-y, --yes', 'do not ask')
      .option('--sign-ins', 'sign-ins instead of changes, failed ones too')
      .option('--path <path>', 'only changes at this path')
      .option('--search <text>', 'only those with this in their path, or in the name of the person')
      .option('--limit <n>', 'how many entries, 1 to 200; default: 50', parseLimit)
      .addOption(
        new Option('--export <format>', 'print the whole trail').choices(SAVED_AS).conflicts('limit'),
      ),
    'audit',
    'audit --path /workspaces/demo/routes/fast',
    'audit 1794900000000-0',
    'audit 1794900000000-0 --restore',
    'audit --sign-ins --limit 20',
    'audit --export csv',
  ).action(async (entry: string | undefined, options: AuditOptions) => {
    if (entry !== undefined) return showEntry(cli, entry, options);
    if (options.restore) throw new UsageError('--restore needs the id of an entry');
    const kind = options.signIns ? 'sign_ins' : 'changes';
    if (options.export) {
      const lines = await cli.admin.stream('/audit/export', { kind, format: options.export });
      for await (const chunk of lines) cli.terminal.stdout.write(chunk);
      return;
    }
    const { path, search, limit = 50 } = options;
    const { data } = await cli.admin.get<AuditPage>('/audit', { kind, limit, path, search });
    cli.showTable(
      data,
      [
        { title: 'AT', cell: (entry) => moment(entry.at) },
        { title: 'WHO', cell: (entry) => entry.who ?? 'unknown' },
        { title: 'FROM', cell: (entry) => entry.address },
        { title: 'WHAT', cell: whatOf },
        {
          title: 'STATUS',
          cell: (entry) => String(entry.status),
          paint: (entry) => (entry.status >= 400 ? cli.style.bad : undefined),
        },
        { title: 'REQUEST', cell: (entry) => entry.request_id },
        { title: 'ENTRY', cell: (entry) => entry.cursor },
      ],
      'The trail is empty.',
    );
  });
}

async function showEntry(cli: Cli, id: string, { restore, yes, ...ofList }: AuditOptions): Promise<void> {
  const [other] = Object.keys(ofList);
  if (other !== undefined)
    throw new UsageError(`--${other === 'signIns' ? 'sign-ins' : other} does not go with the id of an entry`);
  const [, ms, count] = /^(\d{1,15})-(\d{1,9})$/.exec(id) ?? [];
  if (ms === undefined) throw new UsageError(`${id} is not the id of an entry; sluice audit shows them`);
  const next = `${ms}-${Number(count) + 1}`;
  const { data } = await cli.admin.get<AuditPage>('/audit', { kind: 'changes', limit: 1, before: next });
  const record = data.find(({ cursor }) => cursor === id);
  if (!record) throw new CliError(`There is no change ${id} in the trail.`);
  if (!restore) {
    const undo = undoOf(record);
    return cli.show({ ...record, differences: differencesOf(record.before, record.after) }, () =>
      [
        `${moment(record.at)}: ${record.who ?? 'unknown'}, ${whatOf(record)}`,
        ...differencesOf(record.before, record.after).map(differenceText),
        '',
        'reason' in undo ? undo.reason : `sluice audit ${id} --restore ${undo.words}.`,
      ].join('\n'),
    );
  }
  const undo = await undoNow(record, (path) => cli.admin.get(path));
  if ('reason' in undo) throw new CliError(undo.reason);
  await cli.confirm(`This ${undo.words}. Go on`, yes);
  const done = await cli.admin.send(undo.method, undo.path, undo.body);
  cli.show(done, () => `Done: ${undo.method} ${undo.path}.`);
}

function differenceText({ field, before, after }: Difference): string {
  if (before === undefined) return `  ${field}: ${after} (new)`;
  return after === undefined ? `  ${field}: ${before} (removed)` : `  ${field}: ${before} → ${after}`;
}

function whatOf({ action, path }: AuditRecord): string {
  return action.startsWith('sign') ? action : `${action.split(' ')[0]} ${path}`;
}

function parseLimit(text: string): number {
  const limit = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > 200) throw new InvalidArgumentError('must be a whole number from 1 to 200.');
  return limit;
}
