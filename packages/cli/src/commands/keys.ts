import type { IssuedKey, Key, RotatedKey } from '@sluice/shared/admin-api';
import { toSnake } from '@sluice/shared/contract/names';
import { classText, type KeyPriority, PRIORITIES } from '@sluice/shared/contract/priority';
import { type Command, Option } from 'commander';
import { path } from '../admin/client.js';
import { findKeyId } from '../admin/find-key.js';
import { readDirectory } from '../admin/read-directory.js';
import { orWord, parseDuration, parseMoment } from '../arguments/parse-arguments.js';
import type { Cli } from '../cli.js';
import { UsageError } from '../output/cli-error.js';
import { fromNow, moment } from '../output/format.js';
import { group, withExamples } from './examples.js';

const KEY = 'the key’s id, or <workspace>/<name>';

function expiryText({ expires_at }: Key, wanted: string | undefined): string {
  if (expires_at === null) return 'never expires';
  return `expires on ${moment(expires_at)}${wanted === undefined ? ', as the old one would have' : ''}`;
}

const priorityOption = () =>
  new Option('--priority <class>', 'class of requests that name none').choices(PRIORITIES);
const maxPriorityOption = () =>
  new Option('--max-priority <class>', 'highest class that a request may name').choices(PRIORITIES);

export function addKeyCommands(program: Command, cli: Cli): void {
  const keys = group(
    program,
    'keys',
    'The keys that callers send. A value is shown once: the gateway keeps only a digest of it.',
    'keys issue demo ci --expires 90d',
    'keys rotate demo/ci --grace 1h',
  );

  withExamples(
    keys
      .command('list')
      .description('List keys.')
      .argument('[workspace]', 'id of a workspace; default: all of them'),
    'keys list',
    'keys list demo --json',
  ).action(async (workspace: string | undefined) => {
    const rows =
      workspace === undefined
        ? (await readDirectory(cli.admin)).workspaces.flatMap(({ keys }) => keys)
        : await cli.admin.list<Key>(path`/workspaces/${workspace}/keys`);
    cli.showTable(
      rows,
      [
        { title: 'WORKSPACE', cell: (key) => key.workspace },
        { title: 'NAME', cell: (key) => key.name },
        { title: 'KEY', cell: (key) => `…${key.last_four}` },
        { title: 'CREATED', cell: (key) => moment(key.created_at) },
        { title: 'BY', cell: (key) => key.created_by ?? '' },
        { title: 'LAST USED', cell: (key) => fromNow(key.last_used_at) },
        {
          title: 'EXPIRES',
          cell: (key) => fromNow(key.expires_at),
          paint: (key) =>
            key.expires_at !== null && Date.parse(key.expires_at) <= Date.now() ? cli.style.bad : undefined,
        },
        { title: 'PRIORITY', cell: (key) => classText(key) },
        { title: 'ID', cell: (key) => key.id },
      ],
      'There are no keys. Issue one with "sluice keys issue <workspace> <name>".',
    );
  });

  const showValue = (answer: IssuedKey, quiet: boolean | undefined, words: string) => {
    if (quiet && !cli.json) cli.say(answer.value ?? '');
    else cli.show(answer, () => `${words} Its value is shown only now:\n${answer.value}`);
  };

  withExamples(
    keys
      .command('issue')
      .description('Issue a new key. Its value is shown once.')
      .argument('<workspace>', 'id of the workspace')
      .argument('<name>', 'name for people, such as the program that uses it')
      .option(
        '--expires <when>',
        'when the key ends: a span such as 90d, or a moment; default: never',
        parseMoment('future'),
      )
      .addOption(priorityOption())
      .addOption(maxPriorityOption())
      .option('-q, --quiet', 'print the value and nothing else'),
    'keys issue demo ci',
    'keys issue demo ci --expires 2027-01-31T12:00:00Z',
    'keys issue demo nightly --priority background',
    'keys issue demo ci --quiet > ci.key',
  ).action(
    async (
      workspace: string,
      name: string,
      { expires, quiet, ...classes }: KeyPriority & { expires?: string; quiet?: boolean },
    ) => {
      const input = { name, expires_at: expires, ...toSnake(classes) };
      const key = await cli.admin.send<IssuedKey>('POST', path`/workspaces/${workspace}/keys`, input);
      showValue(key, quiet, `Issued key "${key.name}" (${key.id}) of workspace ${workspace}.`);
    },
  );

  withExamples(
    keys
      .command('rotate')
      .description(
        'Issue a new key in place of an old one. The old one works until its grace period is over.',
      )
      .argument('<key>', KEY)
      .option('--grace <span>', 'how long the old key still works; default: 24h', parseDuration)
      .option(
        '--expires <when>',
        'end of the new key: a span such as 90d, a moment, or never; default: the end of the old key',
        orWord('never', parseMoment('future')),
      )
      .option('-q, --quiet', 'print the new value and nothing else'),
    'keys rotate demo/ci --expires 90d',
    'keys rotate demo/ci --grace 0s --quiet',
  ).action(async (key: string, options: { grace?: number; expires?: string; quiet?: boolean }) => {
    const { grace, expires, quiet } = options;
    const body = {
      grace_seconds: grace === undefined ? undefined : grace / 1000,
      expires_at: expires === 'never' ? null : expires,
    };
    const id = await findKeyId(cli.admin, key, { current: true });
    const rotated = await cli.admin.send<RotatedKey>('POST', path`/keys/${id}/rotate`, body);
    const end = moment(rotated.replaced.expires_at);
    showValue(
      rotated,
      quiet,
      `Rotated key "${rotated.name}": ${id} works until ${end}. The new key ${rotated.id} ${expiryText(rotated, expires)}.`,
    );
  });

  withExamples(
    keys
      .command('set')
      .description('Change the name of a key, when it ends, or its priority.')
      .argument('<key>', KEY)
      .option('--name <name>', 'the new name')
      .option(
        '--expires <when>',
        'when the key ends: a span such as 90d, a moment, or never',
        orWord('never', parseMoment('future')),
      )
      .addOption(priorityOption())
      .addOption(maxPriorityOption()),
    'keys set demo/ci --expires 30d',
    'keys set demo/ci --name "build server" --expires never',
    'keys set demo/web --max-priority interactive',
  ).action(async (key: string, options: KeyPriority & { name?: string; expires?: string }) => {
    const { expires, ...others } = options;
    if (Object.keys(options).length === 0)
      throw new UsageError('give --name, --expires, --priority or --max-priority');
    const id = await findKeyId(cli.admin, key, { current: true });
    const changed = await cli.admin.send<Key>('PATCH', path`/keys/${id}`, {
      ...toSnake(others),
      expires_at: expires === 'never' ? null : expires,
    });
    cli.show(
      changed,
      () => `Changed key "${changed.name}" (${changed.id}). It expires: ${fromNow(changed.expires_at)}.`,
    );
  });

  withExamples(
    keys
      .command('revoke')
      .description(
        'Revoke a key. Within two seconds no api process accepts it, and its value cannot be used for a key again.',
      )
      .argument('<key>', KEY)
      .option('-y, --yes', 'do not ask'),
    'keys revoke demo/ci',
    'keys revoke key_6Yd0mJXkXy0kq3Jt2s8P --yes',
  ).action(async (key: string, { yes }: { yes?: boolean }) => {
    const id = await findKeyId(cli.admin, key, { current: false });
    await cli.confirm(`Revoking key ${key}`, yes);
    const revoked = await cli.admin.send('DELETE', path`/keys/${id}`);
    cli.show(revoked, () => `Revoked key ${key}.`);
  });
}
