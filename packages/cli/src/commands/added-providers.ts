/** The commands for providers that are not in gateway.yaml. */
import type { ProviderInfo } from '@sluice/shared/admin-api';
import { PRESETS_WITHOUT_TOKEN } from '@sluice/shared/contract/presets';
import { KINDS } from '@sluice/shared/contract/provider';
import { settingsOfFile } from '@sluice/shared/contract/provider-info';
import { type Command, Option } from 'commander';
import { path } from '../admin/client.js';
import { parseCount } from '../arguments/parse-arguments.js';
import { readSecret } from '../arguments/read-secret.js';
import type { Cli } from '../cli.js';
import { UsageError } from '../output/cli-error.js';
import { withExamples } from './examples.js';

interface Given {
  preset?: string;
  kind?: string;
  baseUrl?: string;
  region?: string;
  resource?: string;
  prices?: string;
  concurrency?: number;
  requestsPerMinute?: number;
  tokensPerMinute?: number;
  keyFile?: string;
  takeOver?: boolean;
}

const NAME = 'name of the provider';
const KEY_NAME = 'name of the key, such as second';
const IN_FORCE = 'Every process knows it within two seconds.';

export function addAddedProviderCommands(providers: Command, cli: Cli): void {
  withExamples(
    providers
      .command('set')
      .alias('add')
      .summary('Add a provider, or change one that was added.')
      .description(
        'Add a provider beside those of gateway.yaml, or change one that was added. An option that is left out stays as it is. The key is stored encrypted and never shown. Another address needs the key again. A preset that fetches a token, such as vertex, needs gateway.yaml.',
      )
      .argument('<name>', NAME)
      .addOption(
        new Option('--preset <name>', 'a provider that Sluice knows by name').choices(PRESETS_WITHOUT_TOKEN),
      )
      .addOption(new Option('--kind <format>', 'the format of any other server').choices(KINDS))
      .option('--base-url <address>', 'where it is; default: that of the preset')
      .option('--region <region>', 'a part of the address of some presets')
      .option('--resource <resource>', 'a part of the address of some presets')
      .option('--prices <list>', 'the price list that applies; default: that of the preset')
      .option('--concurrency <count>', 'the most calls at a time, over all workers', parseCount)
      .option('--requests-per-minute <count>', 'the most calls a minute; further ones wait', parseCount)
      .option('--tokens-per-minute <count>', 'the most tokens a minute; further calls wait', parseCount)
      .option('--key-file <file>', 'file with the key, or - for stdin; it replaces all stored keys')
      .option(
        '--take-over',
        'copy one of gateway.yaml, to take over when the file no longer has it; needs its key again',
      ),
    'providers set ollama --preset ollama --base-url http://10.0.0.7:11434/v1',
    'providers set groq --preset groq --key-file groq.key --requests-per-minute 30',
    'providers set models --kind openai --base-url https://models.example.com/v1 --key-file -',
    'providers set anthropic --take-over --key-file anthropic.key',
  ).action(async (name: string, given: Given) => {
    const before = (await cli.admin.list<ProviderInfo>('/providers')).find((each) => each.name === name);
    const isOther = given.preset ?? given.kind ?? given.baseUrl;
    const copied = given.takeOver && before?.source === 'file' && !isOther ? before : undefined;
    const settings = toSettings(copied ? settingsOfFile(copied) : (before?.settings ?? {}), given);
    // For one of gateway.yaml the gateway says where it is changed.
    if (
      (before?.source !== 'file' || given.takeOver) &&
      settings.preset === undefined &&
      settings.kind === undefined
    )
      throw new UsageError('name a --preset, or a --kind and a --base-url');
    if (copied && !copied.file?.taken_over && copied.credentials !== 'none' && given.keyFile === undefined)
      throw new UsageError(`the gateway does not know the file’s key of ${name}: give it with --key-file`);
    // Stored keys are not sent back: they stay, and so does one that somebody else adds just now.
    const { keys, ...others } = settings;
    const body =
      given.keyFile === undefined
        ? others
        : { ...others, api_key: await readSecret(given.keyFile, cli.terminal) };
    const place = path`/providers/${name}` + (given.takeOver ? '?take_over=true' : '');
    const provider = await cli.admin.send<ProviderInfo>('PUT', place, body);
    if (provider.source === 'file') return cli.show(provider, () => storedText(provider));
    cli.show(
      provider,
      () => `${before ? 'Changed' : 'Added'} provider ${name}: ${provider.address}. ${IN_FORCE}`,
    );
  });

  withExamples(
    providers
      .command('rotate')
      .description(
        'Replace the key of an added provider that has one key. Calls under way end with the old one.',
      )
      .argument('<name>', NAME)
      .argument('<file>', 'file with the new key, or - for stdin'),
    'providers rotate groq new.key',
  ).action(async (name: string, file: string) => {
    const body = { api_key: await readSecret(file, cli.terminal) };
    const provider = await cli.admin.send<ProviderInfo>('PUT', path`/providers/${name}/key`, body);
    cli.show(provider, () => `Replaced the key of provider ${name}. ${IN_FORCE}`);
  });

  addPoolCommands(providers, cli);

  withExamples(
    providers
      .command('remove')
      .description(
        'Remove a provider that was added. Refused while a route leads to it, or while it runs a batch.',
      )
      .argument('<name>', NAME)
      .option('-y, --yes', 'do not ask'),
    'providers remove ollama --yes',
  ).action(async (name: string, { yes }: { yes?: boolean }) => {
    await cli.confirm(`Removing provider ${name}`, yes);
    const removed = await cli.admin.send('DELETE', path`/providers/${name}`);
    cli.show(removed, () => `Removed provider ${name}.`);
  });
}

/** `/etc/sluice/gateway.yaml, line 12` */
function storedText(provider: ProviderInfo): string {
  const next =
    provider.file?.line === null
      ? 'Name other providers in gateway.yaml: until then the default one is in force.'
      : `Take it out of ${fileText(provider)}: until then the one of the file is in force.`;
  return `Stored provider ${provider.name}. ${next}`;
}

export function fileText({ file }: ProviderInfo): string {
  if (!file) return 'gateway.yaml';
  return file.line === null ? 'default' : `${file.path}, line ${file.line}`;
}

interface GivenKey {
  keyFile?: string;
  weight?: number;
  requestsPerMinute?: number;
  tokensPerMinute?: number;
}

function addPoolCommands(providers: Command, cli: Cli): void {
  withExamples(
    providers
      .command('set-key')
      .summary('Add one of several keys to an added provider, or change it.')
      .description(
        'Add one of several keys to an added provider, or change it. An option that is left out stays as it is. Calls under way end with the old key. If the provider had only one key, that one is named default from then on.',
      )
      .argument('<name>', NAME)
      .argument('<key>', KEY_NAME)
      .option('--key-file <file>', 'file with the key, or - for stdin')
      .option('--weight <weight>', 'its share of the calls; default: the least busy key is taken', parseCount)
      .option('--requests-per-minute <count>', 'of this key; further ones take another key', parseCount)
      .option('--tokens-per-minute <count>', 'of this key', parseCount),
    'providers set-key groq second --key-file second.key --requests-per-minute 30',
    'providers set-key groq second --weight 3',
  ).action(async (name: string, key: string, given: GivenKey) => {
    const { keyFile, weight, requestsPerMinute, tokensPerMinute } = given;
    if (Object.keys(given).length === 0) throw new UsageError('name a --key-file, a --weight or a limit');
    const rates = defined({ requests_per_minute: requestsPerMinute, tokens_per_minute: tokensPerMinute });
    const limits =
      Object.keys(rates).length === 0 ? undefined : { ...(await limitsOf(cli, name, key)), ...rates };
    const api_key = keyFile === undefined ? undefined : await readSecret(keyFile, cli.terminal);
    const body = defined({ api_key, weight, limits });
    const provider = await cli.admin.send<ProviderInfo>('PUT', path`/providers/${name}/keys/${key}`, body);
    cli.show(provider, () => `Stored key ${key} of provider ${name}. ${IN_FORCE}`);
  });

  withExamples(
    providers
      .command('remove-key')
      .description(
        'Remove one of several keys of an added provider. Calls that wait take another key. Refused for the only key, and while a batch needs it.',
      )
      .argument('<name>', NAME)
      .argument('<key>', KEY_NAME)
      .option('-y, --yes', 'do not ask'),
    'providers remove-key groq second --yes',
  ).action(async (name: string, key: string, { yes }: { yes?: boolean }) => {
    await cli.confirm(`Removing key ${key} of provider ${name}`, yes);
    const provider = await cli.admin.send<ProviderInfo>('DELETE', path`/providers/${name}/keys/${key}`);
    cli.show(provider, () => `Removed key ${key} of provider ${name}. ${IN_FORCE}`);
  });
}

/** The limits that a key has, as they were written. */
async function limitsOf(cli: Cli, name: string, key: string): Promise<Record<string, unknown>> {
  const provider = (await cli.admin.list<ProviderInfo>('/providers')).find((each) => each.name === name);
  const keys = (provider?.settings?.keys ?? []) as { name: string; limits?: Record<string, unknown> }[];
  return keys.find((each) => each.name === key)?.limits ?? {};
}

/** What was given wins over what was there. Another preset replaces the address of the old one. */
function toSettings(before: Record<string, unknown>, given: Given): Record<string, unknown> {
  const { base_url, kind, ...others } = before;
  const isOther = given.preset !== undefined && given.preset !== before.preset;
  const kept = isOther ? others : before;
  const limits = defined({
    ...(before.limits as Record<string, unknown> | undefined),
    ...defined({ requests_per_minute: given.requestsPerMinute, tokens_per_minute: given.tokensPerMinute }),
  });
  return {
    ...kept,
    ...defined({
      preset: given.preset,
      kind: given.kind,
      base_url: given.baseUrl,
      region: given.region,
      resource: given.resource,
      prices: given.prices,
      concurrency: given.concurrency,
    }),
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
  };
}

function defined(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
