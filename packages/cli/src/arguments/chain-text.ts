/**
 * The entries of a route as they are written on the command line: `openai/gpt-4o-mini,timeout_ms=30000`. A plus joins the
 * members of a group: `openai/gpt-4o-mini,weight=70+azure/gpt-4o-mini,weight=30`. `drop` and `rename` may stand several times:
 * `openai/o1,drop=seed,drop=user,rename=max_tokens:max_completion_tokens`.
 */

import { isGroup } from '@sluice/shared/contract/chain';
import {
  entryNumbers,
  type GroupMember,
  memberNumbers,
  type RouteEntry,
} from '@sluice/shared/contract/route';
import { InvalidArgumentError } from 'commander';
import { parseModelName } from './parse-arguments.js';

const OPTIONS = Object.keys(entryNumbers) as (keyof typeof entryNumbers)[];
const MEMBER_OPTIONS = Object.keys(memberNumbers) as (keyof typeof memberNumbers)[];
/** A model id may have a plus, too. */
const BEFORE_A_PROVIDER = /\+(?=[a-z0-9][a-z0-9_-]*\/)/;

export function parseEntry(text: string): RouteEntry {
  const members = text.split(BEFORE_A_PROVIDER);
  return members.length === 1
    ? parseMember(text, OPTIONS)
    : { one_of: members.map((each) => parseMember(each, MEMBER_OPTIONS)) };
}

function parseMember(text: string, numbers: readonly (typeof MEMBER_OPTIONS)[number][]): GroupMember {
  const [name = '', ...options] = text.split(',');
  const entry: GroupMember = parseModelName(name);
  for (const option of options) {
    const [, key = '', value = ''] = /^([^=]*)=(.*)$/.exec(option) ?? [];
    const [, from, to = ''] = /^(\w+):(\w+)$/.exec(value) ?? [];
    const number = numbers.find((each) => each === key);
    if (number && /^\d{1,9}$/.test(value)) entry[number] = Number(value);
    else if (key === 'drop' && /^\w+$/.test(value)) entry.drop = [...(entry.drop ?? []), value];
    else if (key === 'rename' && from !== undefined) entry.rename = { ...entry.rename, [from]: to };
    else
      throw new InvalidArgumentError(
        `After a comma, write ${numbers.join('=<n>, ')}=<n>, drop=<field> or rename=<field>:<field>.`,
      );
  }
  return entry;
}

export function entryText(entry: RouteEntry): string {
  return isGroup(entry) ? entry.one_of.map(memberText).join('+') : memberText(entry);
}

function memberText(entry: GroupMember): string {
  const options = [
    ...MEMBER_OPTIONS.flatMap((name) => (entry[name] === undefined ? [] : `${name}=${entry[name]}`)),
    ...(entry.drop ?? []).map((field) => `drop=${field}`),
    ...Object.entries(entry.rename ?? {}).map(([from, to]) => `rename=${from}:${to}`),
  ];
  return [`${entry.provider}/${entry.model}`, ...options].join(',');
}

export function chainText(chain: readonly RouteEntry[]): string {
  return chain.map(entryText).join(' ');
}
