/** A chain's entries as they are written on the command line: `openai/gpt-4o-mini,timeout_ms=30000`. */
import type { ChainEntry } from '@sluice/shared/queue/job';
import { InvalidArgumentError } from 'commander';
import { parseModelName } from './parse-arguments.js';

const OPTIONS = ['timeout_ms', 'max_tokens', 'retries'] as const;

export function parseEntry(text: string): ChainEntry {
  const [name = '', ...options] = text.split(',');
  const entry: ChainEntry = parseModelName(name);
  for (const option of options) {
    const [, key = '', value = ''] = /^([^=]*)=(\d{1,9})$/.exec(option) ?? [];
    const known = OPTIONS.find((each) => each === key);
    if (known === undefined)
      throw new InvalidArgumentError(`After a comma, write ${OPTIONS.join('=<n>, ')}=<n>.`);
    entry[known] = Number(value);
  }
  return entry;
}

export function entryText(entry: ChainEntry): string {
  const options = OPTIONS.filter((name) => entry[name] !== undefined).map(
    (name) => `,${name}=${entry[name]}`,
  );
  return `${entry.provider}/${entry.model}${options.join('')}`;
}

export function chainText(chain: readonly ChainEntry[]): string {
  return chain.map(entryText).join(' ');
}
