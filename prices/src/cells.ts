import type { RegistryDocument, RegistryModel } from '@sluice/shared/registry/document';
import { nameOf } from './additions.js';

/** The figures of a model by the path to each: `prices.input`, `long_context[0].above`, `context_window`. */
export function cellsOf(facts: Partial<RegistryModel>): Map<string, unknown> {
  const { id: _, provider: __, source: ___, as_of: ____, capabilities, ...figures } = facts;
  const cells = new Map<string, unknown>();
  const walk = (value: unknown, path: string) => {
    if (typeof value !== 'object' || value === null) {
      cells.set(path, value);
      return;
    }
    for (const [key, inner] of Object.entries(value)) walk(inner, join(path, key, Array.isArray(value)));
  };
  walk(figures, '');
  if (capabilities) cells.set('capabilities', capabilities.join(' '));
  return cells;
}

function join(path: string, key: string, isIndex: boolean): string {
  if (isIndex) return `${path}[${key}]`;
  return path === '' ? key : `${path}.${key}`;
}

/** One line for each figure that is not what it was. */
export function describeChanges(before: RegistryDocument, after: RegistryDocument): string[] {
  const old = new Map(before.models.map((model) => [nameOf(model), model]));
  const lines = after.models.flatMap((model) => {
    const name = nameOf(model);
    const was = old.get(name);
    old.delete(name);
    if (!was) return [`+ ${name}`];
    const [cellsBefore, cellsAfter] = [cellsOf(was), cellsOf(model)];
    return [...new Set([...cellsBefore.keys(), ...cellsAfter.keys()])]
      .filter((cell) => cellsBefore.get(cell) !== cellsAfter.get(cell))
      .map((cell) => `~ ${name} ${cell}: ${shown(cellsBefore.get(cell))} → ${shown(cellsAfter.get(cell))}`);
  });
  return [...lines, ...[...old.keys()].map((name) => `- ${name}`)];
}

function shown(value: unknown): string {
  return value === undefined ? 'none' : String(value);
}
