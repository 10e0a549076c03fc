import type { AuditPage, AuditRecord } from '@sluice/shared/admin-api';
import { SAVED_AS } from '@sluice/shared/contract/query';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Cli } from '../cli.js';
import { moment } from '../output/format.js';
import { withExamples } from './examples.js';

interface AuditOptions {
  signIns?: boolean;
  limit: number;
  export?: (typeof SAVED_AS)[number];
}

export function addAuditCommand(program: Command, cli: Cli): void {
  withExamples(
    program
      .command('audit')
      .description('Show who has changed what, or who has signed in, newest first.')
      .option('--sign-ins', 'sign-ins instead of changes, failed ones too')
      .option('--limit <n>', 'at most so many, 1 to 200', parseLimit, 50)
      .addOption(
        new Option('--export <format>', 'print the whole trail').choices(SAVED_AS).conflicts('limit'),
      ),
    'audit',
    'audit --sign-ins --limit 20',
    'audit --export csv',
  ).action(async (options: AuditOptions) => {
    const kind = options.signIns ? 'sign_ins' : 'changes';
    if (options.export) {
      const lines = await cli.admin.stream('/audit/export', { kind, format: options.export });
      for await (const chunk of lines) cli.terminal.stdout.write(chunk);
      return;
    }
    const { data } = await cli.admin.get<AuditPage>('/audit', { kind, limit: options.limit });
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
      ],
      'The trail is empty.',
    );
  });
}

function whatOf({ action, path }: AuditRecord): string {
  return action.startsWith('sign') ? action : `${action.split(' ')[0]} ${path}`;
}

function parseLimit(text: string): number {
  const limit = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > 200) throw new InvalidArgumentError('must be a whole number from 1 to 200.');
  return limit;
}
