/**
 * The entries of a route as they are written on the command line: `openai/gpt-4o-mini,timeout_ms=30000`. A plus joins the
 * members of a group: `openai/gpt-4o-mini,weight=70+azure/gpt-4o-mini,weight=30`. Fields that a model does not get, or gets
 * under another name, are each an option: `mistral/x,drop=user,drop=store,rename=seed:random_seed`.
 */
import { isGroup } from '@sluice/shared/contract/chain';
import {
  entryChoices,
  entryNumbers,
  fieldName,
  type GroupMember,
  memberNumbers,
  type RouteEntry,
  when,
} from '@sluice/shared/contract/route';
import { choicesOf } from '@sluice/shared/contract/structs';
import { InvalidArgumentError } from 'commander';
import { parseModelName } from './parse-arguments.js';

const OPTIONS = Object.keys(entryNumbers) as (keyof typeof entryNumbers)[];
const MEMBER_OPTIONS = Object.keys(memberNumbers) as (keyof typeof memberNumbers)[];
const choiceFields = { ...entryChoices, when };
const CHOICES = new Map(
  Object.entries(choiceFields).map(([name, field]) => [name, choicesOf(field) ?? ['false', 'true']]),
);
const FLAGS: Readonly<Record<string, boolean>> = { false: false, true: true };
const WORDS = [...MEMBER_OPTIONS, ...(Object.keys(choiceFields) as (keyof typeof choiceFields)[])];
/** What may stand behind a model. */
export const ENTRY_OPTIONS = optionsWith(OPTIONS);
/** A model id may have a plus, too. */
const BEFORE_A_PROVIDER = /\+(?=[a-z0-9][a-z0-9_-]*\/)/;

function optionsWith(numbers: readonly string[]): string[] {
  return [
    ...numbers.map((name) => `${name}=<n>`),
    ...[...CHOICES].map(([name, choices]) => `${name}=${choices.at(-1)}`),
    ...['drop=<field>', 'rename=<field>:<name>'],
  ];
}

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
    const number = numbers.find((each) => each === key);
    const names = value.split(':');
    const [field = '', to = ''] = names.every((each) => fieldName.is(each)) ? names : [];
    if (number && /^\d{1,9}$/.test(value)) entry[number] = Number(value);
    else if (CHOICES.get(key)?.includes(value)) Object.assign(entry, { [key]: FLAGS[value] ?? value });
    else if (key === 'drop' && field !== '' && names.length === 1)
      entry.drop = [...(entry.drop ?? []), field];
    else if (key === 'rename' && to !== '' && names.length === 2 && !Object.hasOwn(entry.rename ?? {}, field))
      entry.rename = { ...entry.rename, [field]: to };
    else throw new InvalidArgumentError(`After a comma, write one of ${optionsWith(numbers).join(', ')}.`);
  }
  return entry;
}

export function entryText(entry: RouteEntry): string {
  return isGroup(entry) ? entry.one_of.map(memberText).join('+') : memberText(entry);
}

function memberText(entry: GroupMember): string {
  const options = [
    ...WORDS.filter((name) => entry[name] !== undefined).map((name) => `${name}=${entry[name]}`),
    ...(entry.drop ?? []).map((field) => `drop=${field}`),
    ...Object.entries(entry.rename ?? {}).map(([field, to]) => `rename=${field}:${to}`),
  ];
  return [`${entry.provider}/${entry.model}`, ...options].join(',');
}

export function chainText(chain: readonly RouteEntry[]): string {
  return chain.map(entryText).join(' ');
}
