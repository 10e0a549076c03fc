/** Places in a file or a body, as they are written in a mistake: `workspaces[0].routes.fast[1].provider`. */

export type Path = readonly (string | number)[];

export function pathText(path: Path): string {
  return path.reduce<string>(
    (text, step) => (typeof step === 'number' ? `${text}[${step}]` : join(text, step)),
    '',
  );
}

/** `a.b`, or `a["b c"]` where the key would not read as part of a path. */
export function join(path: string, key: string): string {
  if (!/^[A-Za-z_][A-Za-z0-9_-]*…?$/.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === '' ? key : `${path}.${key}`;
}

/** The beginning of a key that reads like a word. In `{ value:sk-1 }`, without the space, the key contains a secret. */
export function shownKey(key: string): string {
  const name = /^[A-Za-z_-]{0,40}/.exec(key)?.[0] ?? '';
  return name === key ? key : `${name}…`;
}
