import type { Model, ModelList } from '@sluice/shared/admin-api';
import type { RegistryDiff } from '@sluice/shared/registry/diff';
import { type Command, Option } from 'commander';
import { AdminRefusal, path } from '../admin/client.js';
import { parseAmount, parseCount, parseModelName } from '../arguments/parse-arguments.js';
import { readJsonFile } from '../arguments/read-json-file.js';
import type { Cli } from '../cli.js';
import { CliError, UsageError } from '../output/cli-error.js';
import { fromNow, whole } from '../output/format.js';
import { refreshText } from '../output/refresh-text.js';
import { table } from '../output/table.js';
import { group, withExamples } from './examples.js';

interface Refresh {
  applied: boolean;
  version: string;
  diff: RegistryDiff;
}

interface SetOptions {
  input?: number;
  output?: number;
  cachedInput?: number;
  cacheWrite?: number;
  cacheWrite1h?: number;
  contextWindow?: number;
  maxOutputTokens?: number;
  file?: string;
}

const usd = (price: number | undefined) => (price === undefined ? '' : String(price));

export function addModelCommands(program: Command, cli: Cli): void {
  const models = group(
    program,
    'models',
    'The model registry: prices in USD per million tokens, context windows and limits.',
    'models list --provider openai',
    'models refresh --file prices.json --dry-run',
  );

  withExamples(
    models
      .command('list')
      .description('List models with their prices in USD per million tokens.')
      .option('--provider <provider>', 'only this price list, such as openai or groq')
      .option('--overridden', 'only those with a price set by hand'),
    'models list',
    'models list --provider anthropic --json',
  ).action(async (only: { provider?: string; overridden?: boolean }) => {
    const { data, registry } = await cli.admin.get<ModelList>(
      '/models',
      only.provider === undefined ? {} : { provider: only.provider },
    );
    const rows = data.filter((model) => !only.overridden || model.overridden);
    cli.show(rows, () =>
      [
        rows.length === 0
          ? 'No model matches.'
          : table(
              [
                { title: 'PROVIDER', cell: (model) => model.provider },
                { title: 'MODEL', cell: (model) => model.id },
                { title: 'INPUT', right: true, cell: ({ prices }) => usd(prices.input) },
                { title: 'CACHED', right: true, cell: ({ prices }) => usd(prices.cached_input) },
                { title: 'OUTPUT', right: true, cell: ({ prices }) => usd(prices.output) },
                { title: 'WINDOW', right: true, cell: (model) => whole(model.context_window) },
                { title: 'MAX OUTPUT', right: true, cell: (model) => whole(model.max_output_tokens) },
                {
                  title: 'PRICE FROM',
                  cell: (model) => (model.overridden ? 'override' : (model.as_of ?? '')),
                },
                { title: 'API', cell: ({ api = 'chat' }) => api.replaceAll('_', ' ') },
                { title: 'REFUSES', cell: ({ refuses = [] }) => refuses.join(', ') },
              ],
              rows,
              cli.style,
            ),
        `Registry ${registry.version} (${registry.source}), refreshed: ${fromNow(registry.refreshed_at)}.`,
      ].join('\n'),
    );
  });

  withExamples(
    models
      .command('set')
      .description(
        'Set the prices of a model by hand. They survive a refresh; workers have them within two seconds.',
      )
      .argument('<provider/model>', 'such as openai/gpt-4o-mini', parseModelName)
      .option('--input <usd>', 'per million tokens', parseAmount)
      .option('--output <usd>', 'per million tokens', parseAmount)
      .option('--cached-input <usd>', 'per million tokens; default: as input', parseAmount)
      .option('--cache-write <usd>', 'per million tokens; default: as input', parseAmount)
      .option('--cache-write-1h <usd>', 'per million tokens; default: as cache write', parseAmount)
      .option('--context-window <n>', 'in tokens', parseCount)
      .option('--max-output-tokens <n>', 'of one answer', parseCount)
      .addOption(
        new Option(
          '--file <file>',
          'a whole entry as JSON, long-context and service tiers included',
        ).conflicts(['input', 'output']),
      ),
    'models set openai/gpt-4o-mini --input 0.15 --cached-input 0.075 --output 0.6',
    'models set openai/our-own-model --file entry.json',
  ).action(async ({ provider, model }: ReturnType<typeof parseModelName>, options: SetOptions) => {
    const entry =
      options.file === undefined ? toEntry(options) : readJsonFile(options.file, cli.terminal.directory);
    const set = await cli.admin.send<Model>('PUT', path`/models/${provider}/${model}`, entry);
    const { input, output } = set.prices;
    cli.show(set, () => `Set ${provider}/${model}: input ${input}, output ${output} USD per million tokens.`);
  });

  withExamples(
    models
      .command('unset')
      .description('Take back prices that were set by hand. The prices of the registry count again.')
      .argument('<provider/model>', 'such as openai/gpt-4o-mini', parseModelName),
    'models unset openai/gpt-4o-mini',
  ).action(async ({ provider, model }: ReturnType<typeof parseModelName>) => {
    const unset = await cli.admin.send('DELETE', path`/models/${provider}/${model}`);
    cli.show(unset, () => `Took back the prices of ${provider}/${model} that were set by hand.`);
  });

  withExamples(
    models
      .command('refresh')
      .description('Replace the registry with a newer one, and show the difference.')
      .addOption(
        new Option(
          '--file <file>',
          'a file on this machine, in the format of Sluice or of LiteLLM',
        ).conflicts('url'),
      )
      .option('--url <url>', 'an address from which the gateway fetches the registry')
      .option('--confirm', 'apply it even when it drops many models or changes prices a lot')
      .option('--dry-run', 'only show the difference'),
    'models refresh --file models.json --dry-run',
    'models refresh --url https://prices.example/models.json --confirm',
  ).action(async (options: { file?: string; url?: string; confirm?: boolean; dryRun?: boolean }) => {
    const { file, url, confirm = false, dryRun = false } = options;
    if (file === undefined && url === undefined) throw new UsageError('give --file or --url');
    const source = file === undefined ? { url } : { document: readJsonFile(file, cli.terminal.directory) };
    cli.progress(url === undefined ? 'Sending the registry…' : `The gateway fetches ${url}…`);
    const result = await cli.admin
      .send<Refresh>('POST', '/models/refresh', { ...source, confirm, dry_run: dryRun })
      .catch((error: unknown) => {
        const refused = error instanceof AdminRefusal ? (error.body as Partial<Refresh>) : {};
        if (refused.diff) return refused as Refresh;
        throw error;
      })
      .finally(() => cli.progress(''));
    cli.show(result, () => refreshText(result.diff, cli.style));
    if (result.applied || dryRun) return;
    throw new CliError(
      `the registry was not refreshed: ${result.diff.reasons.join('; ')}; use --confirm to do it`,
    );
  });
}

function toEntry(options: SetOptions) {
  const { input, output, cachedInput, cacheWrite, cacheWrite1h, contextWindow, maxOutputTokens } = options;
  if (input === undefined || output === undefined)
    throw new UsageError('give --input and --output, or --file');
  return {
    prices: {
      input,
      output,
      cached_input: cachedInput,
      cache_write: cacheWrite,
      cache_write_1h: cacheWrite1h,
    },
    context_window: contextWindow,
    max_output_tokens: maxOutputTokens,
  };
}
