import type { Terminal } from './terminal.js';

export type Paint = (text: string) => string;

export interface Style {
  heading: Paint;
  good: Paint;
  bad: Paint;
  faint: Paint;
}

const plain: Paint = (text) => text;
const code =
  (start: number, end: number): Paint =>
  (text) =>
    `\x1b[${start}m${text}\x1b[${end}m`;

/** Colours on a terminal that has them, unless NO_COLOR is set. */
export function createStyle({ stdout, env }: Pick<Terminal, 'stdout' | 'env'>): Style {
  const coloured =
    stdout.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb' && stdout.hasColors?.() === true;
  if (!coloured) return { heading: plain, good: plain, bad: plain, faint: plain };
  return { heading: code(1, 22), good: code(32, 39), bad: code(31, 39), faint: code(2, 22) };
}
