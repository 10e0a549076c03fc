/** Compares two registries, and decides whether a person should confirm the change. */
import type { RegistryDocument, RegistryModel } from './document.js';

/** A list that loses more models than this at once is probably broken. */
export const MAX_DROPPED = 5;
/** A base price that changes by more than this factor probably has a slipped point or a wrong unit. */
export const MAX_FACTOR = 2;

const MAX_LISTED = 100;

export interface PriceChange {
  model: string;
  price: 'input' | 'output';
  /** USD per million tokens. */
  from: number;
  to: number;
}

export interface RegistryDiff {
  from: string;
  to: string;
  models: number;
  added: string[];
  removed: string[];
  /** Models whose entry differs in any way. */
  changed: string[];
  wild: PriceChange[];
  counts: { added: number; removed: number; changed: number; wild: number };
  /** Why the change needs a confirmation. Empty when it needs none. */
  reasons: string[];
}

export function diffRegistries(from: RegistryDocument, to: RegistryDocument): RegistryDiff {
  const before = byName(from);
  const after = byName(to);
  const added = [...after.keys()].filter((name) => !before.has(name));
  const removed = [...before.keys()].filter((name) => !after.has(name));
  const changed: string[] = [];
  const wild: PriceChange[] = [];
  for (const [name, old] of before) {
    const fresh = after.get(name);
    if (!fresh) continue;
    if (factsOf(old) !== factsOf(fresh)) changed.push(name);
    for (const price of ['input', 'output'] as const) {
      const change = { model: name, price, from: old.prices[price], to: fresh.prices[price] };
      if (isWild(change.from, change.to)) wild.push(change);
    }
  }
  const reasons: string[] = [];
  if (after.size === 0) reasons.push('it has no models');
  if (removed.length > MAX_DROPPED)
    reasons.push(`it drops ${removed.length} models (more than ${MAX_DROPPED})`);
  if (wild.length > 0)
    reasons.push(`it changes ${wild.length} base prices by more than a factor of ${MAX_FACTOR}`);
  return {
    from: from.version,
    to: to.version,
    models: after.size,
    added: added.slice(0, MAX_LISTED),
    removed: removed.slice(0, MAX_LISTED),
    changed: changed.slice(0, MAX_LISTED),
    wild: wild.slice(0, MAX_LISTED),
    counts: { added: added.length, removed: removed.length, changed: changed.length, wild: wild.length },
    reasons,
  };
}

/** A price that becomes zero, or was zero, always counts as a large change. */
function isWild(from: number, to: number): boolean {
  return from !== to && Math.max(from, to) > MAX_FACTOR * Math.min(from, to);
}

function byName({ models }: RegistryDocument): Map<string, RegistryModel> {
  return new Map(models.map((model) => [`${model.provider}/${model.id}`, model]));
}

/** The source and the date of a figure are left out, because they do not change the figure. */
function factsOf({ source: _, as_of: __, capabilities, ...facts }: RegistryModel): string {
  const sorted = Object.entries({ ...facts, capabilities: [...(capabilities ?? [])].sort() });
  return JSON.stringify(sorted.sort(([a], [b]) => (a < b ? -1 : 1)));
}
