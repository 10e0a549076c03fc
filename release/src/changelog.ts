const UNRELEASED = '## Unreleased\n';

/** The changes since the last release, as the changelog lists them. */
export function unreleased(changelog: string): string {
  const start = changelog.indexOf(UNRELEASED);
  if (start < 0) return '';
  const rest = changelog.slice(start + UNRELEASED.length);
  const end = rest.indexOf('\n## ');
  return (end < 0 ? rest : rest.slice(0, end + 1)).trim();
}

/** The changelog with its unreleased changes under the version's own heading. */
export function withRelease(changelog: string, version: string, date: string): string {
  return changelog.replace(UNRELEASED, `${UNRELEASED}\n## ${version} - ${date}\n`);
}
