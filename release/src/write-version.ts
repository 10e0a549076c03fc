/** Puts a version into a checkout: its changelog, every manifest, the lock file, the chart and the base of Kustomize, as a commit with a tag. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withRelease } from './changelog.js';
import { type Manifest, run, withVersion, writeJson } from './repository.js';

/** The files that name the version beside the manifests: the chart, whose image has the tag of that name, and the base. */
export const DEPLOYED = ['deploy/helm/sluice/Chart.yaml', 'deploy/kubernetes/base/kustomization.yaml'];

export function withDeployedVersion(text: string, version: string): string {
  return text.replace(/^(version|appVersion| {4}newTag): .*$/gm, `$1: ${version}`);
}

/** Those of them that name another version. */
export function deployedOtherwise(checkout: string, version: string): string[] {
  return DEPLOYED.filter((file) => {
    const text = readFileSync(join(checkout, file), 'utf8');
    return text !== withDeployedVersion(text, version);
  });
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
  for (const file of DEPLOYED.map((name) => join(checkout, name)))
    writeFileSync(file, withDeployedVersion(readFileSync(file, 'utf8'), version));
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
    const others = [
      ...manifestFolders(folder).filter((each) => read(folder, each).version !== version),
      ...deployedOtherwise(folder, version),
    ];
    if (others.length > 0) throw new Error(`these have another version: ${others.join(', ')}`);
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
