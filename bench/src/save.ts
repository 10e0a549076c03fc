import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DOCS, RESULTS } from './paths.js';

/** Writes what was measured, as data and as the page that was printed. Returns the data's path. */
export function saveResult(kind: string, data: object, page: string): string {
  mkdirSync(RESULTS, { recursive: true });
  const base = join(RESULTS, `${new Date().toISOString().slice(0, 19).replaceAll(':', '')}-${kind}`);
  writeFileSync(`${base}.md`, `${page}\n`);
  writeFileSync(
    `${base}.json`,
    `${JSON.stringify({ kind, date: new Date().toISOString(), ...data }, null, 2)}\n`,
  );
  return `${base}.json`;
}

/** Replaces the section of this kind in docs/performance.md, or in another page. */
export function saveToDocs(kind: string, page: string, path = DOCS): void {
  writeFileSync(path, replaceSection(readFileSync(path, 'utf8'), kind, page));
}

export function replaceSection(text: string, kind: string, page: string): string {
  const [open, close] = [`<!-- bench:${kind} -->`, `<!-- /bench:${kind} -->`];
  const [start, end] = [text.indexOf(open), text.indexOf(close)];
  if (start < 0 || end < start) throw new Error(`the page has no section ${kind}`);
  return `${text.slice(0, start + open.length)}\n${page.trim()}\n${text.slice(end)}`;
}
