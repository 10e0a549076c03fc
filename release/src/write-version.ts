/** Puts a version into a checkout: its changelog, every manifest, the lock file and the chart, as a commit with a tag. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withRelease } from './changelog.js';
import { type Manifest, run, withVersion, writeJson } from './repository.js';

export const CHART = 'deploy/helm/sluice/Chart.yaml';

/** The chart has the version of the gateway, and its image the tag of that name. */
export function withChartVersion(chart: string, version: string): string {
  return chart
    .replace(/^version: .*$/m, `version: ${version}`)
    .replace(/^appVersion: .*$/m, `appVersion: ${version}`);
}

/** The folders of all packages, the repository's own first. */
export function manifestFolders(checkout: string): string[] {
  const { workspaces = [] } = read(checkout, '.') as Manifest & { workspaces?: string[] };
  const folders = workspaces.flatMap((pattern) =>
    pattern.endsWith('/*')
      ? readdirSync(join(checkout, pattern.slice(0, -2))).map((name) => join(pattern.slice(0, -2), name))
      : [pattern],
  );
  return ['.', ...folders];
}

export function writeVersion(checkout: string, version: string, date: string): void {
  const changelog = join(checkout, 'CHANGELOG.md');
  writeFileSync(changelog, withRelease(readFileSync(changelog, 'utf8'), version, date));
  for (const folder of manifestFolders(checkout))
    writeJson(join(checkout, folder, 'package.json'), withVersion(read(checkout, folder), version));
  const chart = join(checkout, CHART);
  writeFileSync(chart, withChartVersion(readFileSync(chart, 'utf8'), version));
  run('npm', ['install', '--package-lock-only', '--ignore-scripts', '--no-audit', '--no-fund'], checkout);
  run('git', ['commit', '--all', '--message', `Release ${version}`], checkout);
  run('git', ['tag', '--annotate', `v${version}`, '--message', `Sluice ${version}`], checkout);
}

/** Does it in a clone, and returns what the release would change. Throws when the clone is not as it should be. */
export function rehearse(checkout: string, version: string, date: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-release-'));
  try {
    run('git', ['clone', '--quiet', checkout, folder]);
    writeVersion(folder, version, date);
    const others = manifestFolders(folder).filter((each) => read(folder, each).version !== version);
    if (others.length > 0) throw new Error(`these manifests have another version: ${others.join(', ')}`);
    const chart = readFileSync(join(folder, CHART), 'utf8');
    if (chart !== withChartVersion(chart, version)) throw new Error(`${CHART} has another version`);
    const tagged = run('git', ['describe', '--exact-match'], folder);
    if (tagged !== `v${version}`) throw new Error(`the commit is tagged ${tagged}`);
    return run('git', ['show', '--stat', '--format=%s', 'HEAD'], folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function read(checkout: string, folder: string): Manifest {
  return JSON.parse(readFileSync(join(checkout, folder, 'package.json'), 'utf8')) as Manifest;
}
