/** What a run has measured, a line each. `unsaved`: what the documentation leaves out. */
export function figureList(
  rows: readonly (readonly [what: string, figure: unknown])[],
  unsaved: readonly string[] = [],
): string {
  return rows
    .filter(([what]) => !unsaved.includes(what))
    .map(([what, figure]) => `- ${what}: ${figure}`)
    .join('\n');
}
