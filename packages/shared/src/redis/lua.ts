/**
 * Reads the Lua of a script. It lies in files of its own, in the folder `lua` beside the modules that use it. Parts that
 * several scripts share are in `lua/parts`. Four kinds of lines have a meaning here:
 *
 *   -- INCLUDE: parts/turns.lua           The text of that file comes here. The path is relative to this file.
 *   -- KEYS: queue, settledKey?           The names of the next keys and arguments. Each is a local variable from here on.
 *   -- ARGV: jobId, ms, fingerprints...   A name with `...` is the place of the first of a list. One with `?` may be nil. A
 *                                         part goes on where the script has stopped.
 *   local MOST_EVENTS = 100000            A constant. Its value is written wherever its name stands, because Redis would
 *                                         make the variable anew in each call. `loadScript` gets those of TypeScript.
 *
 * A list of names goes on in the next line after a comma.
 */
import { readFileSync } from 'node:fs';

export interface Name {
  name: string;
  isOptional: boolean;
}

export interface Lua {
  text: string;
  /** In the order in which Redis gets them. */
  keys: readonly Name[];
  args: readonly Name[];
}

export type Constants = Readonly<Record<string, string | number>>;

const INCLUDE = /^ *-- INCLUDE: (.+)\n/gm;
const NAMES = /^( *)-- (KEYS|ARGV): ((?:.+,\n *--)*.+)\n/gm;
const NAME = /^(\w+)(?:(\?)|(\.{3}))?$/;
const COMMENT = /^ *--.*\n/gm;
const CONSTANT = /^ *local ([A-Z][A-Z\d_]+) = ('[^'\n]*'|[-+*/(). \dx]+)\n/gm;
/** A text is matched as a whole, so that a word in it is not taken for a constant. */
const TEXT_OR_CONSTANT = /'[^'\n]*'|"[^"\n]*"|\b[A-Z][A-Z\d_]+\b/g;
/** So many are read by their places in less time than `unpack` takes, which is a call. */
const FEW = 3;

export function readLua(file: URL, given: Constants): Lua {
  const lua = expandLua(file);
  const constants = new Map(Object.entries(given).map(([name, value]) => [name, toLiteral(value)]));
  const rest = lua.text.replace(CONSTANT, (_, name: string, value: string) => {
    const whole = value.includes(' ') ? `(${value})` : value;
    if ((constants.get(name) ?? whole) !== whole) throw new Error(`${file}: ${name} has two values`);
    constants.set(name, whole);
    return '';
  });
  const text = rest.replace(TEXT_OR_CONSTANT, (found) => {
    if (/^(?:['"]|KEYS$|ARGV$)/.test(found)) return found;
    const value = constants.get(found);
    if (value === undefined) throw new Error(`${file}: ${found} has no value`);
    return value;
  });
  return { ...lua, text };
}

/** The Lua of the file with its parts, its names as variables, and no comments. */
export function expandLua(file: URL): Lua {
  const names = { KEYS: [] as Name[], ARGV: [] as Name[] };
  const text = withParts(file).replace(NAMES, (_, indent: string, table: 'KEYS' | 'ARGV', list: string) => {
    const found = list.split(/,[\s-]+/).map((each) => {
      const [, name, optional, dots] = NAME.exec(each) ?? [];
      if (name === undefined) throw new Error(`${file}: ${each} is no name`);
      names[table].push({ name, isOptional: optional !== undefined });
      return { name, place: names[table].length, isList: dots !== undefined };
    });
    const single = found.filter(({ isList }) => !isList);
    const lists = found.filter(({ isList }) => isList);
    const lines = lists.map(({ name, place }) => `${indent}local ${name} = ${place}\n`);
    if (single.length > 0) lines.unshift(`${indent}local ${toAssignment(table, single)}\n`);
    return lines.join('');
  });
  return { text: text.replace(COMMENT, ''), keys: names.KEYS, args: names.ARGV };
}

function withParts(file: URL): string {
  return readFileSync(file, 'utf8').replace(INCLUDE, (_, path: string) => withParts(new URL(path, file)));
}

function toAssignment(table: string, found: readonly { name: string; place: number }[]): string {
  const names = found.map(({ name }) => name).join(', ');
  const [first = 0, last = 0] = [found[0]?.place, found.at(-1)?.place];
  if (found.length > FEW) return `${names} = unpack(${table}, ${first}, ${last})`;
  return `${names} = ${found.map(({ place }) => `${table}[${place}]`).join(', ')}`;
}

function toLiteral(value: string | number): string {
  return typeof value === 'number' ? String(value) : `'${value}'`;
}
