import type { RegistryDiff } from '@sluice/shared/registry/diff';
import { count } from './format.js';
import type { Style } from './style.js';
import { shown } from './table.js';

/** What a refresh of the model registry changes, line by line, and a summary. */
export function refreshText(
  { added, removed, changed, wild, counts, ...diff }: RegistryDiff,
  style: Style,
): string {
  const lines = (mark: string, names: string[], total: number) => [
    ...names.map((name) => `${mark} ${shown(name)}`),
    ...(total > names.length ? [`${mark} and ${total - names.length} more`] : []),
  ];
  return [
    ...lines(style.good('+'), added, counts.added),
    ...lines(style.bad('-'), removed, counts.removed),
    ...lines('~', changed, counts.changed),
    ...wild.map(({ model, price, from, to }) =>
      style.bad(`! ${shown(model)}: ${price} ${from} → ${to} USD per million tokens`),
    ),
    `Registry ${shown(diff.from)} → ${shown(diff.to)}: ${count(diff.models, 'model')}, ` +
      `${counts.added} added, ${counts.removed} removed, ${counts.changed} changed.`,
  ].join('\n');
}
