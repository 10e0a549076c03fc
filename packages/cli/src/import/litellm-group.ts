/** The deployments of one name in a LiteLLM model_list, as a chain. */
import { COUNT, TOKENS, WEIGHT } from '@sluice/shared/contract/common';
import { PRESETS } from '@sluice/shared/contract/presets';
import { MOST_KEYS } from '@sluice/shared/contract/provider';
import { MAX_MEMBERS } from '@sluice/shared/contract/route';
import {
  type Draft,
  type Entry,
  type Fields,
  groupOf,
  type Group as OneOf,
  TOO_MANY_PROVIDERS,
  weightsOf,
} from './draft.js';
import type { Place } from './foreign-file.js';
import type { Deployment } from './litellm-deployment.js';

const SHARE = { min: 0.01, max: WEIGHT.max, isWhole: false };

export interface Member extends Deployment {
  /** The fields of the entry beside provider and model. */
  entry: Fields;
  item: Place;
  /** LiteLLM chooses by these. A deployment without one is taken for one of weight 1 here. */
  weight: number | undefined;
}

export function readWeight(params: Place): number | undefined {
  return params.get('weight').within(SHARE);
}

export interface Group {
  chain: (Entry | OneOf)[];
  place: Place;
}

/** Members that differ only in their keys become one provider with several keys, which takes turns as LiteLLM does. */
export function toGroup(draft: Draft, members: readonly Member[]): Group {
  const alike = new Map<string, Member[]>();
  for (const member of members) addTo(alike, alikeButForKey(member), member);
  const pools = [...alike.values()];
  const shared = pools.slice(0, MAX_MEMBERS).flatMap((pool) => {
    const entry = toEntry(draft, pool);
    return entry ? { entry, share: pool.reduce((sum, { weight = 1 }) => sum + weight, 0) } : [];
  });
  for (const { item } of pools.slice(MAX_MEMBERS).flat())
    item.note(`A group has at most ${MAX_MEMBERS} members. This deployment was left out.`);
  const chain = groupOf(shared);
  const [first] = members;
  if (first === undefined) throw new Error('a group has a member');
  return { chain: chain ? [chain] : [], place: first.item };
}

export function addTo<T>(lists: Map<string, T[]>, name: string, value: T): void {
  const list = lists.get(name);
  if (list) list.push(value);
  else lists.set(name, [value]);
}

function toEntry(draft: Draft, pool: readonly Member[]): Entry | undefined {
  const byKey = new Map(pool.toReversed().map((member) => [keyOf(member), member]));
  const different = pool.filter((member) => byKey.get(keyOf(member)) === member);
  const [first] = different;
  if (first === undefined) return undefined;
  const isAlone = different.length === 1 || byKey.has(undefined);
  const used = different.slice(0, isAlone ? 1 : MOST_KEYS);
  for (const { item } of different.slice(used.length))
    item.note(
      isAlone
        ? 'Another deployment of this name needs no key. This one was left out.'
        : `A provider has at most ${MOST_KEYS} keys. This deployment was left out.`,
    );
  const { model, entry } = first;
  const provider = draft.provider(first.name, isAlone ? first.fields : withKeys(used));
  if (provider === undefined) for (const { item } of used) item.note(TOO_MANY_PROVIDERS);
  else if (isAlone) draft.limit(provider, model, () => limitsOf(first));
  return provider === undefined ? undefined : { provider, model, ...entry };
}

/** The fields of the first member, with the keys of all. */
function withKeys(members: readonly Member[]): Fields {
  const { api_key: _, ...shared } = members[0]?.fields ?? {};
  const isWeighed = members.some(({ weight }) => weight !== undefined);
  const weights = weightsOf(members.map(({ weight = 1 }) => weight));
  const keys = members.map((member, i) => {
    const limits = limitsOf(member);
    return {
      name: `key-${i + 1}`,
      api_key: keyOf(member),
      ...(isWeighed ? { weight: weights[i] } : {}),
      ...(Object.keys(limits).length === 0 ? {} : { limits: { models: { [member.model]: limits } } }),
    };
  });
  return { ...shared, keys };
}

/** The preset's own, where the deployment names none. */
function keyOf({ fields }: Member): unknown {
  return fields.api_key ?? (typeof fields.preset === 'string' ? PRESETS[fields.preset]?.api_key : undefined);
}

function alikeButForKey({ fields: { api_key: _, ...fields }, model, entry }: Member): string {
  return JSON.stringify({ fields, model, entry });
}

/** Requests and tokens per minute, as far as Sluice takes them. */
function limitsOf({ item }: Member): Fields {
  const params = item.get('litellm_params');
  const rate = (name: string) => (params.get(name).isThere ? params : item).get(name);
  const [requests, tokens] = [rate('rpm').within(COUNT), rate('tpm').within(TOKENS)];
  return {
    ...(requests === undefined ? {} : { requests_per_minute: requests }),
    ...(tokens === undefined ? {} : { tokens_per_minute: tokens }),
  };
}
