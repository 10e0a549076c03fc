/** A route of gateway.yaml and of the admin api. */
import { entriesOf } from '../contract/chain.js';
import { type ConfigReader, type Fields, isAbsent, join, type NumberRule, type TextRule } from './reader.js';
import { COUNT, DURATION_MS, ID, MODEL, WEIGHT } from './rules.js';
import type { ChainEntry, EntryGroup, GroupMember, RouteConfig, RouteEntry } from './types.js';

const ENTRY_EXAMPLE = '{ provider: openai, model: gpt-4o-mini }';
const ENTRY_FIELDS = ['provider', 'model', 'timeout_ms', 'max_tokens', 'retries', 'drop', 'rename'];
/** The choice among the members of a group has random bits for this many (chat/choose-members.ts). */
const MAX_MEMBERS = 8;
/** Of a request, that an entry leaves out or renames. */
const FIELD: TextRule = {
  pattern: /^[a-zA-Z][a-zA-Z0-9_]{0,63}$/,
  allowed: 'the name of a field, of 1 to 64 letters, digits and _',
};
const MAX_FIELDS = 16;
/** Without these fields there is no request. */
const KEPT = ['model', 'messages', 'stream'];
/** The gateway reckons the cost of a request from these fields, so no other field may become one of them. */
const RECKONED = [
  ...KEPT,
  ...['n', 'service_tier', 'tools', 'functions', 'prediction', 'audio', 'modalities', 'web_search_options'],
];
/** A request carries its whole chain. */
const MAX_MODELS = 16;

/** The names that an entry may have. `any`: every name, because they are not known here. */
export type ProviderNames = readonly string[] | 'any';

/** A route is a chain, or a map with the chain and with settings of the whole route. */
export function readRoute(
  reader: ConfigReader,
  value: unknown,
  path: string,
  providers: ProviderNames,
): RouteConfig | undefined {
  if (Array.isArray(value)) return { chain: readChain(reader, value, path, providers), onCrash: 'rerun' };
  if (typeof value === 'string') {
    reader.mistake(path, `must be a list of entries such as [${ENTRY_EXAMPLE}], not a string`);
    return undefined;
  }
  const route = reader.fields(value, path, ['chain', 'on_crash', 'provider_batches']);
  if (!route) return undefined;
  const chain = readChain(reader, route.chain, join(path, 'chain'), providers);
  const at = join(path, 'provider_batches');
  const handsOver = reader.flag(route.provider_batches, at);
  if (handsOver && chain[0] && 'one_of' in chain[0])
    reader.mistake(at, 'needs a chain that begins with one model, not with one_of');
  return {
    chain,
    onCrash: reader.oneOf(route.on_crash ?? 'rerun', join(path, 'on_crash'), ['rerun', 'fail']) ?? 'rerun',
    ...(handsOver ? { providerBatches: true } : {}),
  };
}

function readChain(
  reader: ConfigReader,
  value: unknown,
  path: string,
  providers: ProviderNames,
): RouteEntry[] {
  const chain = reader.list(value, path, 1, 8).flatMap((item, i): RouteEntry[] => {
    const at = `${path}[${i}]`;
    if (typeof item === 'object' && item !== null && 'one_of' in item)
      return readGroup(reader, item, at, providers);
    const fields = fieldsOf(reader, item, at, [...ENTRY_FIELDS, 'one_of']);
    return fields ? [readEntry(reader, fields, at, providers)] : [];
  });
  if (entriesOf(chain).length > MAX_MODELS)
    reader.mistake(path, `must have at most ${MAX_MODELS} models, those of its groups included`);
  return chain;
}

function readGroup(reader: ConfigReader, item: object, path: string, providers: ProviderNames): EntryGroup[] {
  const group = reader.fields(item, path, ['one_of']);
  const members = reader.list(group?.one_of, `${path}.one_of`, 2, MAX_MEMBERS).flatMap((each, i) => {
    const at = `${path}.one_of[${i}]`;
    const fields = fieldsOf(reader, each, at, [...ENTRY_FIELDS, 'weight']);
    if (!fields) return [];
    const member: GroupMember = readEntry(reader, fields, at, providers);
    if (!isAbsent(fields.weight)) member.weight = reader.number(fields.weight, `${at}.weight`, WEIGHT);
    return member;
  });
  return [{ one_of: members }];
}

function fieldsOf(
  reader: ConfigReader,
  item: unknown,
  at: string,
  allowed: readonly string[],
): Fields | undefined {
  if (typeof item !== 'string') return reader.fields(item, at, allowed);
  reader.mistake(at, `must be an entry such as ${ENTRY_EXAMPLE}, not a string`);
  return undefined;
}

function readEntry(reader: ConfigReader, fields: Fields, at: string, providers: ProviderNames): ChainEntry {
  const number = (field: 'timeout_ms' | 'max_tokens' | 'retries', rule: NumberRule): Partial<ChainEntry> =>
    isAbsent(fields[field]) ? {} : { [field]: reader.number(fields[field], `${at}.${field}`, rule) };
  return {
    provider: readProviderName(reader, fields.provider, `${at}.provider`, providers),
    model: reader.text(fields.model, `${at}.model`, MODEL),
    ...number('timeout_ms', DURATION_MS),
    ...number('max_tokens', COUNT),
    ...number('retries', { min: 0, max: 5 }),
    ...(isAbsent(fields.drop) ? {} : { drop: readDrop(reader, fields.drop, `${at}.drop`) }),
    ...(isAbsent(fields.rename) ? {} : { rename: readRename(reader, fields.rename, `${at}.rename`) }),
  };
}

function readDrop(reader: ConfigReader, value: unknown, path: string): string[] {
  return reader
    .list(value, path, 1, MAX_FIELDS)
    .map((field, i) => readField(reader, field, `${path}[${i}]`, KEPT));
}

function readRename(reader: ConfigReader, value: unknown, path: string): Record<string, string> {
  const renamed = reader.entries(value, path, 1);
  if (renamed.length > MAX_FIELDS) reader.mistake(path, `must have at most ${MAX_FIELDS} fields`);
  return Object.fromEntries(
    renamed.map(([from, to]) => {
      const at = join(path, from);
      return [readField(reader, from, at, KEPT), readField(reader, to, at, RECKONED)];
    }),
  );
}

function readField(reader: ConfigReader, value: unknown, path: string, taken: readonly string[]): string {
  const field = reader.text(value, path, FIELD);
  if (taken.includes(field)) reader.mistake(path, `must not be ${field}, which the gateway itself goes by`);
  return field;
}

function readProviderName(
  reader: ConfigReader,
  value: unknown,
  path: string,
  providers: ProviderNames,
): string {
  if (providers === 'any') return reader.text(value, path, ID);
  // When there are no providers at all, that mistake is already reported.
  return (providers.length > 0 && reader.oneOf(value, path, providers)) || '';
}
