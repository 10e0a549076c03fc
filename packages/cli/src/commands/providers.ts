import type { LimitUse, ProviderInfo, ProviderKeyInfo, ProviderVerdict } from '@sluice/shared/admin-api';
import type { Command } from 'commander';
import { path } from '../admin/client.js';
import type { Cli } from '../cli.js';
import { CliError } from '../output/cli-error.js';
import { count, fromNow, whole } from '../output/format.js';
import { type Column, table } from '../output/table.js';
import { addAddedProviderCommands, fileText } from './added-providers.js';
import { group, withExamples } from './examples.js';

export function addProviderCommands(program: Command, cli: Cli): void {
  const providers = group(
    program,
    'providers',
    'The providers of gateway.yaml and those that were added, as they are in force.',
    'providers list',
    'providers set ollama --preset ollama',
    'providers test',
  );
  withExamples(
    providers
      .command('list')
      .description(
        'Where each provider is, where its key comes from, how far its limits per minute are used, and the state of its keys.',
      ),
    'providers list',
  ).action(async () => {
    const all = await cli.admin.list<ProviderInfo>('/providers');
    cli.show(
      all,
      () =>
        table(
          [
            { title: 'PROVIDER', cell: ({ name }) => name },
            { title: 'KIND', cell: ({ kind }) => kind },
            { title: 'CHAT CALLS GO TO', cell: ({ address }) => address },
            { title: 'KEY', cell: ({ credentials }) => credentials },
            {
              title: 'FROM',
              cell: (provider) => (provider.source === 'file' ? fileText(provider) : 'added'),
            },
            { title: 'PRICES', cell: ({ prices }) => prices },
            { title: 'LIMITS A MINUTE', cell: ({ limits }) => limits.map(limitText).join(', ') },
          ],
          all,
          cli.style,
        ) + all.map((provider) => keysText(provider, cli)).join(''),
    );
  });
  withExamples(
    providers
      .command('test')
      .summary('Call each provider once, and say what is wrong.')
      .description(
        'Make one real call of a few tokens to each provider, or to one, and say in words what is wrong: the path, the key, the model. A worker makes the call, with its own keys. It is in no log and on no budget.',
      )
      .argument('[provider]', 'name of the provider; default: all of them')
      .option(
        '--model <id>',
        'which model to ask; default: one of a route, else one that the provider lists',
      ),
    'providers test',
    'providers test groq --model llama-3.1-8b-instant',
  ).action(async (given: string | undefined, { model }: { model?: string }) => {
    const names =
      given === undefined
        ? (await cli.admin.list<ProviderInfo>('/providers')).map(({ name }) => name)
        : [given];
    const test = (name: string) =>
      cli.admin.send<ProviderVerdict>(
        'POST',
        path`/providers/${name}/test`,
        model === undefined ? {} : { model },
      );
    const verdicts = await Promise.all(names.map(test));
    cli.show(verdicts, () => verdicts.map((verdict) => verdictText(verdict, cli)).join('\n'));
    const broken = verdicts.filter(({ works }) => !works).length;
    if (broken > 0)
      throw new CliError(`${count(broken, 'provider')} of ${verdicts.length} cannot be used as configured`);
  });
  addAddedProviderCommands(providers, cli);
}

function verdictText({ provider, model, works, problem, ms }: ProviderVerdict, { style }: Cli): string {
  if (works) return `${style.good('works')}  ${provider}: ${model} answered in ${ms} ms`;
  return `${style.bad('fails')}  ${provider}: ${problem}`;
}

function limitText({ type, models, limit, source, used }: LimitUse): string {
  const whose = source === 'set' ? '' : ` (${source})`;
  return `${models === null ? '' : `${models}: `}${whole(used)}/${whole(limit)} ${type.replace('_', ' ')}${whose}`;
}

const KEY_STATES: Record<ProviderKeyInfo['state'], string> = {
  open: 'open',
  limited: 'left alone after a 429',
  refused: 'refused by the provider',
};

/** A table of the keys of a provider that has several. */
function keysText({ name, keys }: ProviderInfo, { style }: Cli): string {
  if (keys.length === 0) return '';
  const columns: Column<ProviderKeyInfo>[] = [
    { title: `KEY OF ${name.toUpperCase()}`, cell: (key) => key.name },
    {
      title: 'STATE',
      cell: ({ state, until }) =>
        `${KEY_STATES[state]}${until === null ? '' : `, ${fromNow(until, Date.now())}`}`,
      paint: ({ state }) => (state === 'open' ? style.good : style.bad),
    },
    { title: 'CALLS', right: true, cell: ({ active }) => whole(active) },
    { title: 'LIMITS A MINUTE', cell: ({ limits }) => limits.map(limitText).join(', ') },
  ];
  return `\n\n${table(columns, keys, style)}`;
}
