/**
 * The list of components (an SBOM in CycloneDX form) of what somebody gets who installs the package. It is made of the
 * package itself and not of this repository, whose tools for development are not in it.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run, writeJson } from './repository.js';

export interface Sbom {
  bomFormat?: string;
  components?: { name: string; version: string; hashes?: unknown[] }[];
}

export function writeSbom(tarball: string): { path: string; sbom: Sbom } {
  const path = tarball.replace(/\.tgz$/, '.cdx.json');
  const folder = mkdtempSync(join(tmpdir(), 'sluice-sbom-'));
  try {
    writeJson(join(folder, 'package.json'), { name: 'installation', version: '0.0.0', private: true });
    const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
    run('npm', ['install', '--package-lock-only', ...quiet, tarball], folder);
    writeFileSync(path, run('npm', ['sbom', '--package-lock-only', '--sbom-format=cyclonedx'], folder));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return { path, sbom: JSON.parse(readFileSync(path, 'utf8')) as Sbom };
}

/** Returns a sentence for every mistake. Our own package is not in a registry yet, and has no digest. */
export function checkSbom(
  { bomFormat, components = [] }: Sbom,
  dependencies: Record<string, string>,
): string[] {
  const mistakes = bomFormat === 'CycloneDX' ? [] : ['the list of components is not in CycloneDX form'];
  for (const name of Object.keys(dependencies))
    if (!components.some((component) => component.name === name))
      mistakes.push(`the list of components lacks ${name}`);
  for (const { name, hashes = [] } of components)
    if (hashes.length === 0 && name !== 'sluice')
      mistakes.push(`the list of components has no digest of ${name}`);
  return mistakes;
}
