/** The deployments of one name in a LiteLLM model_list, as a chain. */
import { isDeepStrictEqual } from 'node:util';
import { PRESETS } from '@sluice/shared/contract/presets';
import {
  type Draft,
  type Entry,
  type Fields,
  groupOf,
  type Group as OneOf,
  ratesOf,
  weightOf,
} from './draft.js';
import type { Place } from './foreign-file.js';
import type { Deployment } from './litellm-deployment.js';

const MOST_MEMBERS = 8;

export interface Member extends Deployment {
  /** The fields of the entry beside provider and model. */
  entry: Fields;
  item: Place;
}

export interface Group {
  chain: (Entry | OneOf)[];
  place: Place;
}

/** Members that differ only in their keys become one provider with several keys, which takes turns as LiteLLM does. */
export function toGroup(draft: Draft, members: readonly Member[]): Group {
  const pools: Member[][] = [];
  for (const member of members) {
    const pool = pools.find(([first]) => first !== undefined && isSameButForKey(first, member));
    if (pool) pool.push(member);
    else pools.push([member]);
  }
  const shared = pools.slice(0, MOST_MEMBERS).flatMap((pool) => {
    const entry = toEntry(draft, pool);
    return entry ? { entry, share: pool.reduce((sum, member) => sum + shareOf(member), 0) } : [];
  });
  for (const [further] of pools.slice(MOST_MEMBERS))
    further?.item.note(`A group has at most ${MOST_MEMBERS} members. This deployment was left out.`);
  const chain = groupOf(shared);
  const [first] = members;
  if (first === undefined) throw new Error('a group has a member');
  return { chain: chain ? [chain] : [], place: first.item };
}

/** LiteLLM chooses by the weights of deployments. A deployment without one is taken for one of weight 1 here. */
function shareOf({ item }: Member): number {
  const weight = item.get('litellm_params').get('weight').number;
  return weight === undefined || weight <= 0 ? 1 : weight;
}

function toEntry(draft: Draft, pool: readonly Member[]): Entry | undefined {
  const [first] = pool;
  if (first === undefined) return undefined;
  const { name, fields, model, entry } = first;
  const different = pool.filter((each, i) => pool.findIndex((other) => keyOf(other) === keyOf(each)) === i);
  if (different.length === 1 || different.some((each) => keyOf(each) === undefined)) {
    const provider = draft.provider(name, fields);
    draft.limit(provider, model, limitsOf(first));
    return { provider, model, ...entry };
  }
  const { api_key: _, ...shared } = fields;
  const keys = different.map((each, i) => ({
    name: `key-${i + 1}`,
    api_key: keyOf(each),
    ...weightOf(each.item.get('litellm_params').get('weight').number),
    ...(Object.keys(limitsOf(each)).length === 0 ? {} : { limits: { models: { [model]: limitsOf(each) } } }),
  }));
  return { provider: draft.provider(name, { ...shared, keys }), model, ...entry };
}

/** The preset's own, where the deployment names none. */
function keyOf({ fields }: Member): unknown {
  return fields.api_key ?? (typeof fields.preset === 'string' ? PRESETS[fields.preset]?.api_key : undefined);
}

function isSameButForKey(a: Member, b: Member): boolean {
  const rest = ({ fields: { api_key: _, ...fields }, model, entry }: Member) => ({ fields, model, entry });
  return isDeepStrictEqual(rest(a), rest(b));
}

function limitsOf({ item }: Member): Fields {
  const params = item.get('litellm_params');
  const rate = (name: string) => params.get(name).number ?? item.get(name).number;
  return ratesOf(rate('rpm'), rate('tpm'));
}
