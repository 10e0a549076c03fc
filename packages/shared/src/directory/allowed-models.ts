/** Which models and routes a workspace may name. In a pattern `*` stands for any characters, or none. */

/** Without a list everything is allowed. */
export function isAllowed(patterns: readonly string[] | undefined, name: string): boolean {
  return patterns === undefined || patterns.some((pattern) => fits(pattern, name));
}

/** Matches each part at its leftmost place, so that the time is proportional to the name, whatever the pattern. */
function fits(pattern: string, name: string): boolean {
  const [first = '', ...others] = pattern.split('*');
  const last = others.pop();
  if (last === undefined) return name === first;
  if (!name.startsWith(first)) return false;
  let from = first.length;
  for (const part of others) {
    const at = name.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return name.length - last.length >= from && name.endsWith(last);
}
