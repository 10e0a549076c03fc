import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { ProviderInfo } from '@sluice/shared/admin-api';
import { type AddedNames, ConfigError, loadConfig } from '@sluice/shared/config/config';
import { lookupEnv } from '@sluice/shared/config/env-lookup';
import type { GatewayConfig } from '@sluice/shared/config/gateway-config';
import { type Mistake, mistakeText } from '@sluice/shared/contract/mistakes';
import type { Cli } from '../cli.js';
import { CliError } from '../output/cli-error.js';
import type { Terminal } from '../output/terminal.js';

/** The file that was named, GATEWAY_CONFIG, or gateway.yaml. */
export function configFile(given: string | undefined, { env }: Pick<Terminal, 'env'>): string {
  return given ?? lookupEnv(env, 'GATEWAY_CONFIG').value ?? 'gateway.yaml';
}

/** A file, and what is known of the providers beside it. */
export interface ReadConfig {
  config: GatewayConfig;
  /** The added providers that its routes may name, and whose prices hold there. */
  added: ReadonlyMap<string, string>;
}

/**
 * Throws ConfigError with every mistake. A route may name a provider that was added beside the file. Only then the running
 * gateway is asked which ones there are, so that checking any other file needs no gateway.
 */
export async function readConfigFile(file: string, cli: Cli): Promise<ReadConfig> {
  const { env, directory } = cli.terminal;
  const path = resolve(directory, file);
  if (!existsSync(path)) throw new CliError(`there is no ${file}; name a file, or set GATEWAY_CONFIG`);
  const read = (added: AddedNames) => loadConfig(path, env, { added });
  try {
    return { config: read([]), added: new Map() };
  } catch (error) {
    const mistakes = mistakesOf(error);
    const others = mistakesOf(attempt(() => read('any')));
    if (mistakes.length === others.length) throw error;
    const added = await addedProviders(cli);
    if (added instanceof Map) return { config: read([...added.keys()]), added };
    throw new ConfigError(path, explained(mistakes, others, added));
  }
}

/** The added providers with their price lists, or why they are not known. */
async function addedProviders(cli: Cli): Promise<Map<string, string> | string> {
  try {
    const all = await cli.admin.list<ProviderInfo>('/providers');
    // One that was taken over counts as added as soon as the file no longer has it.
    const isAdded = ({ source, file }: ProviderInfo) => source === 'added' || file?.taken_over === true;
    return new Map(all.filter(isAdded).map(({ name, prices }) => [name, prices]));
  } catch (error) {
    if (error instanceof CliError) return error.message;
    throw error;
  }
}

/** Says of each unknown provider that it may be one that was added, and why that is not known. `others`: all other mistakes. */
function explained(mistakes: readonly Mistake[], others: readonly Mistake[], reason: string): Mistake[] {
  const otherTexts = new Set(others.map(mistakeText));
  return mistakes.map((mistake) =>
    otherTexts.has(mistakeText(mistake))
      ? mistake
      : {
          ...mistake,
          message: `${mistake.message}. Or it is a provider that was added to the running gateway: that is not known here, because ${reason}`,
        },
  );
}

function attempt(work: () => unknown): unknown {
  try {
    work();
    return undefined;
  } catch (error) {
    return error;
  }
}

function mistakesOf(error: unknown): readonly Mistake[] {
  if (error === undefined) return [];
  if (error instanceof ConfigError) return error.mistakes;
  throw error;
}
