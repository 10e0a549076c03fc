import type { RefusalCount, RefusalReport } from '@sluice/shared/admin-api';
import type { Command } from 'commander';
import { parseWhen } from '../arguments/parse-arguments.js';
import type { Cli } from '../cli.js';
import { count, moment, whole } from '../output/format.js';
import { type Column, table } from '../output/table.js';
import { SINCE, UNTIL, withExamples } from './examples.js';

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
      .option('--since <when>', `${SINCE}; two days ago at most; default: 24h`, parseWhen('beginning'))
      .option('--until <when>', UNTIL, parseWhen('end'))
      .option('--workspace <workspace>', 'only this workspace')
      .option('--key <id>', 'only this key, by its id')
      .option('--reason <reason>', 'only this reason, such as unknown_model'),
    'refusals',
    'refusals --since 1h --workspace demo',
    'refusals --since "yesterday 14:00" --until "yesterday 15:00"',
  ).action(
    async ({
      key,
      ...filter
    }: {
      since?: string;
      until?: string;
      workspace?: string;
      key?: string;
      reason?: string;
    }) => {
      const report = await cli.admin.get<RefusalReport>('/refusals', { ...filter, key_id: key });
      cli.show(report, () => {
        const time =
          filter.until === undefined
            ? `since ${moment(report.since)}`
            : `from ${moment(report.since)} to ${moment(report.until)}`;
        if (report.data.length === 0) return `No request was refused ${time}.`;
        const total = `${count(report.requests, 'request')} refused ${time}.`;
        return `${table(COLUMNS, report.data, cli.style)}\n\n${total}`;
      });
    },
  );
}
