/** A route while it is being written: texts as typed, and what is wrong with them. The rules are the gateway's own. */
import type {
  ChainEntry,
  GroupMember,
  Model,
  ModelOffer,
  OnCrash,
  PlacedRoute,
  RouteEntry,
} from '@sluice/shared/admin-api';
import { isGroup } from '@sluice/shared/contract/chain';
import { modelId } from '@sluice/shared/contract/common';
import {
  ALIAS,
  alias,
  fieldName,
  fieldSettings,
  MAX_ENTRIES,
  MAX_MEMBERS,
  memberNumbers,
} from '@sluice/shared/contract/route';
import { numberMistake, ruleMistake } from '../rules.js';

/** The models that the form suggests. */
export interface KnownModels {
  models: Model[];
  direct: ModelOffer['data'];
}

export interface EntryForm extends Record<NumberField, string> {
  /** Tells the rows of the form apart while they are moved. */
  key: number;
  provider: string;
  model: string;
  /** Names with commas between them. */
  drop: string;
  /** `seed=random_seed`, with commas between them. */
  rename: string;
  /** What the form does not show, and keeps. */
  kept: Partial<GroupMember>;
  /** Whether answers are read in pieces: `true`, `false`, or '' for what the provider says. */
  upstream_stream: string;
  /** It is only for requests that a model before it found too long. */
  isForTooLong: boolean;
  /** It is in one group with the entry before it. */
  joins: boolean;
}

export interface RouteForm {
  workspace: string;
  alias: string;
  on_crash: OnCrash;
  provider_batches: boolean;
  warm_prefix_tokens: number | null;
  chain: EntryForm[];
}

type NumberField = keyof typeof memberNumbers;
const NUMBERS = Object.keys(memberNumbers) as NumberField[];

/** Fields of an entry that the form shows. A field that is newer than the form is kept. */
const SHOWN = new Set<string>([
  ...['provider', 'model', 'when', 'drop', 'rename', 'upstream_stream'],
  ...NUMBERS,
]);

let nextKey = 1;

export function blankEntry(provider = ''): EntryForm {
  return toEntryForm({ provider, model: '' }, false);
}

export function blankForm(workspace: string): RouteForm {
  return {
    ...{ workspace, alias: '', on_crash: 'rerun', provider_batches: false },
    warm_prefix_tokens: null,
    chain: [blankEntry()],
  };
}

export function toRouteForm(route: PlacedRoute): RouteForm {
  const { workspace, id, chain, on_crash, provider_batches, warm_prefix_tokens } = route;
  return {
    workspace,
    alias: id,
    on_crash,
    provider_batches,
    warm_prefix_tokens,
    chain: chain.flatMap((entry) =>
      isGroup(entry)
        ? entry.one_of.map((member, i) => toEntryForm(member, i > 0))
        : [toEntryForm(entry, false)],
    ),
  };
}

function toEntryForm(entry: GroupMember, joins: boolean): EntryForm {
  const { provider, model } = entry;
  const texts = NUMBERS.map((field) => [field, entry[field] === undefined ? '' : String(entry[field])]);
  return {
    key: nextKey++,
    provider,
    model,
    joins,
    kept: Object.fromEntries(Object.entries(entry).filter(([field]) => !SHOWN.has(field))),
    isForTooLong: entry.when === 'context_length',
    upstream_stream: entry.upstream_stream === undefined ? '' : String(entry.upstream_stream),
    drop: entry.drop?.join(', ') ?? '',
    rename: renamesOf(entry)
      .map(([field, to]) => `${field}=${to}`)
      .join(', '),
    ...Object.fromEntries(texts),
  };
}

/** Whether the route is what the form was filled with. */
export function isSame(form: RouteForm, route: PlacedRoute): boolean {
  const { chain, on_crash, provider_batches, warm_prefix_tokens } = route;
  const inOrder = (entry: GroupMember) =>
    Object.entries({ ...entry, rename: renamesOf(entry) })
      .filter(([, value]) => value !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1));
  const text = (entries: readonly RouteEntry[]) =>
    JSON.stringify(
      entries.map((entry) => (isGroup(entry) ? { one_of: entry.one_of.map(inOrder) } : inOrder(entry))),
    );
  const isSet =
    form.on_crash === on_crash &&
    form.provider_batches === provider_batches &&
    form.warm_prefix_tokens === warm_prefix_tokens;
  return isSet && text(toChain(form.chain)) === text(chain);
}

/** By path, as the gateway names them: `alias`, `chain[0].model`. */
export function mistakesOf(
  { alias: name, chain, provider_batches }: RouteForm,
  providers: readonly string[],
): Map<string, string> {
  const mistakes = new Map<string, string>();
  if (!alias.is(name)) mistakes.set('alias', `Must be ${ALIAS.allowed}`);
  chain.forEach((entry, i) => {
    const at = `chain[${i}]`;
    if (!providers.includes(entry.provider))
      mistakes.set(`${at}.provider`, 'Choose a provider that is configured');
    if (!modelId.is(entry.model)) mistakes.set(`${at}.model`, 'A model id without spaces');
    for (const field of NUMBERS) {
      const mistake = numberMistake(memberNumbers[field], entry[field]);
      if (mistake !== undefined && (field !== 'weight' || isMember(chain, i)))
        mistakes.set(`${at}.${field}`, mistake);
    }
    const wrongFields = { drop: dropMistake(entry.drop), rename: renameMistake(entry.rename) };
    for (const [field, mistake] of Object.entries(wrongFields))
      if (mistake !== undefined) mistakes.set(`${at}.${field}`, mistake);
  });
  const groups = groupsOf(chain);
  if (groups[0]?.some(({ isForTooLong }) => isForTooLong))
    mistakes.set('chain', 'The first entry is for every request');
  if (groups.length > MAX_ENTRIES) mistakes.set('chain', `At most ${MAX_ENTRIES} entries`);
  if (groups.some(({ length }) => length > MAX_MEMBERS))
    mistakes.set('chain', `Requests are split between at most ${MAX_MEMBERS} models`);
  if (provider_batches && isMember(chain, 0))
    mistakes.set('chain', 'For provider batches the chain begins with one model, not with a split');
  return mistakes;
}

const FIELD_NAMES: Readonly<Record<string, string>> = {
  alias: 'the name',
  provider: 'the provider',
  model: 'the model',
  timeout_ms: 'the timeout',
  first_token_timeout_ms: 'the time for a first token',
  stall_timeout_ms: 'the longest silence',
  max_tokens: 'the max tokens',
  retries: 'the retries',
  drop: 'the fields that are left out',
  rename: 'the fields that are sent under another name',
  weight: 'the weight',
};

/** Names the first field that is missing or wrong, as people call it: `the model of entry 2`. */
export function firstMissing(mistakes: ReadonlyMap<string, string>): string {
  const [path = ''] = [...mistakes.keys()];
  const [, entry, field = path] = /^chain\[(\d+)\]\.(\w+)$/.exec(path) ?? [];
  const name = FIELD_NAMES[field] ?? field;
  return entry === undefined ? name : `${name} of entry ${Number(entry) + 1}`;
}

/** The entries of the chain, each as its members in the form. */
export function groupsOf(chain: readonly EntryForm[]): EntryForm[][] {
  const groups: EntryForm[][] = [];
  for (const entry of chain) {
    const last = groups.at(-1);
    if (entry.joins && last) last.push(entry);
    else groups.push([entry]);
  }
  return groups;
}

export function toChain(chain: readonly EntryForm[]): RouteEntry[] {
  return groupsOf(chain).map((members) => {
    const [first] = members;
    if (first && members.length === 1) {
      const { weight: _, ...entry } = toMember(first);
      return entry satisfies ChainEntry;
    }
    return { one_of: members.map(toMember) };
  });
}

function partsOf(text: string): string[] {
  return text.split(',').flatMap((part) => part.trim() || []);
}

function pairsOf(text: string): string[][] {
  return partsOf(text).map((part) => part.split('='));
}

const areNames = (texts: readonly string[]) => texts.every((text) => fieldName.is(text));

function dropMistake(text: string): string | undefined {
  const names = partsOf(text);
  if (!areNames(names)) return 'Names of fields, with commas between them';
  return names.length > 0 ? ruleMistake(fieldSettings.drop, names) : undefined;
}

function renameMistake(text: string): string | undefined {
  const pairs = pairsOf(text);
  if (!pairs.every((pair) => pair.length === 2 && areNames(pair)))
    return 'Such as seed=random_seed, with commas between them';
  const rename = Object.fromEntries(pairs);
  if (Object.keys(rename).length < pairs.length) return 'Each field only once';
  return pairs.length > 0 ? ruleMistake(fieldSettings.rename, rename) : undefined;
}

/** In alphabetical order: the gateway may give them back in another one. */
export function renamesOf({ rename = {} }: ChainEntry): [field: string, to: string][] {
  return Object.entries(rename).sort(([a], [b]) => (a < b ? -1 : 1));
}

function toMember({ provider, model, ...texts }: EntryForm): GroupMember {
  const drop = partsOf(texts.drop);
  const rename = pairsOf(texts.rename);
  return {
    provider,
    model,
    ...texts.kept,
    ...(texts.upstream_stream === '' ? {} : { upstream_stream: texts.upstream_stream === 'true' }),
    ...(texts.isForTooLong ? { when: 'context_length' as const } : {}),
    ...Object.fromEntries(
      NUMBERS.filter((field) => texts[field] !== '').map((field) => [field, Number(texts[field])]),
    ),
    ...(drop.length > 0 ? { drop } : {}),
    ...(rename.length > 0 ? { rename: Object.fromEntries(rename) } : {}),
  };
}

/** The chain with entry `i` moved by so many places. */
export function moved(chain: readonly EntryForm[], i: number, by: number): EntryForm[] {
  const result = [...chain];
  const [entry] = result.splice(i, 1);
  if (entry) result.splice(i + by, 0, entry);
  // Nothing is before the first entry.
  return result.map((each, at) => (at === 0 ? { ...each, joins: false, isForTooLong: false } : each));
}

/** The chain without entry `i`. */
export function without(chain: readonly EntryForm[], i: number): EntryForm[] {
  const isFirst = chain[i]?.joins === false;
  return chain.flatMap((each, at) => {
    if (at === i) return [];
    // The next member begins the group.
    return at === i + 1 && isFirst ? { ...each, joins: false } : each;
  });
}

/** Whether entry `i` is in a group with others. */
export function isMember(chain: readonly EntryForm[], i: number): boolean {
  return chain[i]?.joins === true || chain[i + 1]?.joins === true;
}

/** What each entry of the form is. */
export function titlesOf(chain: readonly EntryForm[]): string[] {
  return groupsOf(chain).flatMap((members, i) => {
    const title = i === 0 ? 'First entry' : `Fallback ${i}`;
    return members.length === 1
      ? [title]
      : members.map((_, j) => `${title}, one of ${members.length}: ${j + 1}`);
  });
}
