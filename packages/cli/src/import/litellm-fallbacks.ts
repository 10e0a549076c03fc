/** The routes of a LiteLLM file: its groups and aliases, each with the groups that it falls back to. */
import { isGroup } from '@sluice/shared/contract/chain';
import { MAX_ENTRIES } from '@sluice/shared/contract/route';
import type { Draft, Entry, Routes } from './draft.js';
import type { Place } from './foreign-file.js';
import type { Group } from './litellm-group.js';

type Groups = ReadonlyMap<string, Group>;
/** Name → the names that come after it. */
type Followers = Map<string, string[]>;

/** More names than a chain has room for, since several may stand for the same entry. */
const MOST_FOLLOWED = 2 * MAX_ENTRIES;
const SHAPE = 'LiteLLM takes a list such as [{ a: [b, c] }] here. This was left out.';
const NAMES = 'LiteLLM takes a list of names here. This was left out.';
const UNKNOWN = 'There is no route of this name. It was left out of the chain.';
/** What follows all names that have no followers of their own. */
const ALL = '*';

/** `setting`: the one that is in force, of router_settings and litellm_settings. */
export function readRoutes(
  draft: Draft,
  models: Groups,
  aliases: Place,
  setting: (name: string) => Place,
): Routes {
  const targets = readAliases(aliases, models);
  const groups = new Map(models);
  for (const [alias, { target, place }] of targets)
    groups.set(alias, { chain: models.get(target)?.chain ?? [], place });
  const next = readFallbacks(setting('fallbacks'), groups);
  const forTooLong = readFallbacks(setting('context_window_fallbacks'), groups);
  const last = readLast(setting('default_fallbacks'), next, groups);
  // An alias falls back as its group does.
  for (const [alias, { target }] of targets)
    for (const followers of [next, forTooLong])
      followers.set(alias, followers.get(alias) ?? followers.get(target) ?? []);

  const routes: Routes = new Map();
  const chainOf = (name: string) => groups.get(name)?.chain ?? [];
  for (const [name, { place }] of groups) {
    const names = follow([name, ...last], next);
    if (names.length > MOST_FOLLOWED) place.remark('It has more fallbacks than Sluice follows.');
    const chain = names.flatMap((each) => [
      ...chainOf(each),
      // They come first: after any other failure they are passed over.
      ...follow(forTooLong.get(each) ?? [], forTooLong)
        .flatMap(chainOf)
        .map(whenTooLong),
    ]);
    draft.route(routes, name, chain, place);
  }
  return routes;
}

function readAliases(aliases: Place, models: Groups): Map<string, { target: string; place: Place }> {
  const targets = new Map<string, { target: string; place: Place }>();
  for (const [alias, place] of aliases.entries()) {
    const named = place.text === undefined ? place.get('model') : place;
    const target = named.take() ?? '';
    if (models.has(alias)) place.remark('A model of model_list has this name, too. The alias counts.');
    if (models.has(target)) targets.set(alias, { target, place });
    else place.note('The model behind this alias is not in model_list. The alias was left out.');
  }
  return targets;
}

function readFallbacks(list: Place, groups: Groups): Followers {
  const next: Followers = new Map();
  if (list.isThere && !Array.isArray(list.value)) list.note(SHAPE);
  for (const item of list.items()) {
    const [pair, ...others] = item.entries();
    if (pair === undefined || others.length > 0) item.note(SHAPE);
    else if (next.has(pair[0])) item.note('An earlier item has this name, and it counts in LiteLLM.');
    else if (pair[0] !== ALL && !groups.has(pair[0]))
      pair[1].note('There is no route of this name that these could follow.');
    else next.set(pair[0], readNames(pair[1], groups));
  }
  return next;
}

function readLast(list: Place, next: Followers, groups: Groups): string[] {
  const last = readNames(list, groups);
  if (!list.isThere) return next.get(ALL) ?? [];
  if (next.has(ALL)) list.remark('These count, and not those of "*" in fallbacks.');
  return last;
}

/** Names, or maps that have a name as `model`. Each name is read once. */
function readNames(list: Place, groups: Groups): string[] {
  if (list.isThere && !Array.isArray(list.value)) list.note(NAMES);
  const names = list.items().map((item) => {
    const named = item.text === undefined ? item.get('model') : item;
    const name = named.text ?? '';
    if (groups.has(name)) named.settle();
    else item.note(UNKNOWN);
    return name;
  });
  return [...new Set(names)].filter((name) => groups.has(name));
}

/** These names and those that follow them, depth first, each once. A chain has no room for more than these. */
function follow(names: readonly string[], next: Followers): string[] {
  const seen = new Set<string>();
  const room = MOST_FOLLOWED + 1;
  const waiting = names.slice(0, room).toReversed();
  for (let name = waiting.pop(); name !== undefined && seen.size < room; name = waiting.pop()) {
    if (seen.has(name)) continue;
    seen.add(name);
    waiting.push(...(next.get(name) ?? []).slice(0, room).toReversed());
  }
  return [...seen];
}

/** The entry for prompts alone that the models before it found too long. */
function whenTooLong(entry: Group['chain'][number]): Group['chain'][number] {
  const conditional = (each: Entry): Entry => ({ ...each, when: 'context_length' });
  return isGroup(entry) ? { one_of: entry.one_of.map(conditional) } : conditional(entry);
}
