import type { RefusalCount, RefusalReport } from '@sluice/shared/admin-api';
import type { Command } from 'commander';
import type { Cli } from '../cli.js';
import { count, moment, whole } from '../output/format.js';
import { type Column, table } from '../output/table.js';
import { withExamples } from './examples.js';

const COLUMNS: Column<RefusalCount>[] = [
  { title: 'REQUESTS', right: true, cell: ({ requests }) => whole(requests) },
  { title: 'WORKSPACE', cell: ({ workspace }) => workspace ?? '' },
  { title: 'KEY', cell: ({ key_id }) => key_id ?? '' },
  { title: 'REASON', cell: ({ reason }) => reason },
  { title: 'FIRST', cell: ({ first_at }) => moment(first_at) },
  { title: 'LAST', cell: ({ last_at }) => moment(last_at) },
  { title: 'WHY', cell: ({ text }) => text },
];

export function addRefusalCommand(program: Command, cli: Cli): void {
  withExamples(
    program
      .command('refusals')
      .description(
        'Show how many requests were refused, by workspace, key and reason. Most of them are not in the request log, because they were never accepted.',
      )
      .option('--since <when>', 'from a minute to two days ago: 15m, 24h, a date, or a moment; default: 24h')
      .option('--workspace <workspace>', 'only this workspace')
      .option('--key <id>', 'only this key, by its id')
      .option('--reason <reason>', 'only this reason, such as unknown_model'),
    'refusals',
    'refusals --since 1h --workspace demo',
  ).action(
    async ({ key, ...filter }: { since?: string; workspace?: string; key?: string; reason?: string }) => {
      const report = await cli.admin.get<RefusalReport>('/refusals', { ...filter, key_id: key });
      cli.show(report, () => {
        if (report.data.length === 0) return `No request was refused since ${moment(report.since)}.`;
        const total = `${count(report.requests, 'request')} refused since ${moment(report.since)}.`;
        return `${table(COLUMNS, report.data, cli.style)}\n\n${total}`;
      });
    },
  );
}
