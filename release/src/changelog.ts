const UNRELEASED = 'Unreleased';

/** The changes since the last release, as the changelog lists them. */
export function unreleased(changelog: string): string {
  return sectionAt(changelog, `## ${UNRELEASED}\n`);
}

/** The changes of a version. Empty when the changelog does not know it. */
export function changesOf(changelog: string, version: string): string {
  const heading = changelog.split('\n').find((line) => line.startsWith(`## ${version} - `));
  return heading === undefined ? '' : sectionAt(changelog, `${heading}\n`);
}

function sectionAt(changelog: string, heading: string): string {
  const start = changelog.indexOf(heading);
  if (start < 0) return '';
  const rest = changelog.slice(start + heading.length);
  const end = rest.indexOf('\n## ');
  return (end < 0 ? rest : rest.slice(0, end + 1)).trim();
}

/** The changelog with its unreleased changes under the version's own heading. */
export function withRelease(changelog: string, version: string, date: string): string {
  return changelog.replace(`## ${UNRELEASED}\n`, `## ${UNRELEASED}\n\n## ${version} - ${date}\n`);
}
