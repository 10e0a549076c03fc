import type { OpenSession } from '@sluice/shared/admin-api';
import type { Command } from 'commander';
import { path } from '../admin/client.js';
import type { Cli } from '../cli.js';
import { fromNow, moment } from '../output/format.js';
import { group, withExamples } from './examples.js';

export function addSessionCommands(program: Command, cli: Cli): void {
  const sessions = group(
    program,
    'sessions',
    'The browsers that are signed in to the console.',
    'sessions list',
    'sessions end ses_8fXkR2mQ0aLtYw3vB1cD',
  );

  withExamples(
    sessions.command('list').description('List who is signed in.'),
    'sessions list',
    'sessions list --json',
  ).action(async () => {
    cli.showTable(
      await cli.admin.list<OpenSession>('/sessions'),
      [
        { title: 'WHO', cell: (session) => session.name },
        { title: 'BY', cell: (session) => session.way },
        { title: 'ROLES', cell: rolesText },
        { title: 'FROM', cell: (session) => session.address },
        { title: 'SINCE', cell: (session) => moment(session.signed_in_at) },
        { title: 'LAST SEEN', cell: (session) => fromNow(session.seen_at) },
        { title: 'ID', cell: (session) => session.id },
      ],
      'Nobody is signed in with a browser.',
    );
  });

  withExamples(
    sessions
      .command('end')
      .description('End a session. Its browser has to sign in again.')
      .argument('<id>', 'the session’s id; "sluice sessions list" and the audit trail show it'),
    'sessions end ses_8fXkR2mQ0aLtYw3vB1cD',
  ).action(async (id: string) => {
    const ended = await cli.admin.send('DELETE', path`/sessions/${id}`);
    cli.show(ended, () => `The session ${id} has ended.`);
  });
}

function rolesText({ grants }: OpenSession): string {
  return grants.map(({ role, workspaces }) => `${role} of ${workspaces?.join(', ') ?? 'all'}`).join('; ');
}
