const UNRELEASED = '## Unreleased\n';

/** The changes of a version that has a date. Empty when the changelog does not know it. */
export function changesOf(changelog: string, version: string): string {
  const heading = changelog.split('\n').find((line) => line.startsWith(`## ${version} - `));
  if (heading === undefined) return '';
  const rest = changelog.slice(changelog.indexOf(`${heading}\n`) + heading.length + 1);
  const end = rest.indexOf('\n## ');
  return (end < 0 ? rest : rest.slice(0, end + 1)).trim();
}

/**
 * The changelog with its unreleased changes under the version's own heading. What was written for this version before its
 * release follows them.
 */
export function withRelease(changelog: string, version: string, date: string): string {
  return changelog
    .replace(`## ${version} (not yet released)\n\n`, '')
    .replace(UNRELEASED, `${UNRELEASED}\n## ${version} - ${date}\n`);
}
