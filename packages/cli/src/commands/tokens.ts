import type { AdminToken, IssuedToken } from '@sluice/shared/admin-api';
import { ROLES } from '@sluice/shared/contract/access';
import { type Command, Option } from 'commander';
import { path } from '../admin/client.js';
import { parseMoment } from '../arguments/parse-arguments.js';
import type { Cli } from '../cli.js';
import { CliError } from '../output/cli-error.js';
import { fromNow, moment } from '../output/format.js';
import { group, withExamples } from './examples.js';

interface CreateOptions {
  role: string;
  workspace?: string[];
  expires?: string;
  quiet?: boolean;
}

export function addTokenCommands(program: Command, cli: Cli): void {
  const tokens = group(
    program,
    'tokens',
    'Tokens for programs that use the admin api. Only digests are stored: a value is shown once.',
    'tokens create billing --role viewer --expires 90d',
    'tokens list',
  );

  withExamples(
    tokens.command('list').description('List tokens.'),
    'tokens list',
    'tokens list --json',
  ).action(async () => {
    cli.showTable(
      await cli.admin.list<AdminToken>('/tokens'),
      [
        { title: 'NAME', cell: (token) => token.name },
        { title: 'ROLE', cell: (token) => token.role },
        { title: 'WORKSPACES', cell: (token) => token.workspaces?.join(', ') ?? 'all' },
        { title: 'TOKEN', cell: (token) => `…${token.last_four}` },
        { title: 'CREATED', cell: (token) => `${moment(token.created_at)} by ${token.created_by}` },
        { title: 'LAST USED', cell: (token) => fromNow(token.last_used_at) },
        { title: 'EXPIRES', cell: (token) => fromNow(token.expires_at) },
        { title: 'ID', cell: (token) => token.id },
      ],
      'There are no tokens. Create one with "sluice tokens create <name> --role viewer".',
    );
  });

  withExamples(
    tokens
      .command('create')
      .description('Create a token and show its value, once.')
      .argument('<name>', 'what it is for')
      .addOption(new Option('--role <role>', 'what it may do').choices(ROLES).makeOptionMandatory())
      .option('--workspace <id...>', 'only in these workspaces; default: all, and the gateway as a whole')
      .option('--expires <when>', 'a span such as 90d, or a moment; default: never', parseMoment('future'))
      .option('-q, --quiet', 'print the value and nothing else'),
    'tokens create billing --role viewer --expires 90d',
    'tokens create team-a --role operator --workspace team-a',
  ).action(async (name: string, { role, workspace, expires, quiet }: CreateOptions) => {
    const input = { name, role, workspaces: workspace, expires_at: expires };
    const token = await cli.admin.send<IssuedToken>('POST', '/tokens', input);
    if (quiet && !cli.json) cli.say(token.value);
    else
      cli.show(
        token,
        () => `Created token "${token.name}" (${token.id}). Its value is shown only now:\n${token.value}`,
      );
  });

  withExamples(
    tokens
      .command('revoke')
      .description('Revoke a token, and end the sessions that were begun with it.')
      .argument('<token>', 'its id, or its name')
      .option('-y, --yes', 'do not ask'),
    'tokens revoke billing',
    'tokens revoke tok_6Yd0mJXkXy0kq3Jt2s8P --yes',
  ).action(async (wanted: string, { yes }: { yes?: boolean }) => {
    const all = await cli.admin.list<AdminToken>('/tokens');
    const found = all.filter(({ id, name }) => id === wanted || name === wanted);
    const [token] = found;
    if (!token) throw new CliError(`there is no token "${wanted}"`);
    if (found.length > 1)
      throw new CliError(
        `there are ${found.length} tokens named "${wanted}": give the id (${found.map(({ id }) => id).join(', ')})`,
      );
    await cli.confirm(`Revoking token ${wanted}`, yes);
    const revoked = await cli.admin.send('DELETE', path`/tokens/${token.id}`);
    cli.show(revoked, () => `Revoked token ${wanted}.`);
  });
}
