#!/usr/bin/env node
/**
 * `npm run release -- <version>`: puts the version into every manifest and the changelog, makes and checks the package,
 * commits and tags. With --dry-run it changes nothing and says what it would do. Publishing is the workflow's work.
 * `npm run release -- --pack` only makes the package and the list of its components.
 */
import { readdirSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { assemble } from './assemble.js';
import { unreleased, withRelease } from './changelog.js';
import { checkPackage } from './check-package.js';
import { pathOf, readManifest, readText, run, writeJson } from './repository.js';
import { checkSbom, writeSbom } from './sbom.js';

const USAGE = 'usage: npm run release -- <version> [--dry-run]   or   npm run release -- --pack';
const say = (line: string) => void process.stdout.write(`${line}\n`);

class ReleaseError extends Error {}

function release(version: string, dryRun: boolean): void {
  const current = readManifest('.').version;
  if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))
    throw new ReleaseError(`${version} is no version; ${USAGE}`);
  if (!dryRun && run('git', ['branch', '--show-current']) !== 'main')
    throw new ReleaseError('releases are made from main');
  if (!dryRun && run('git', ['status', '--porcelain']) !== '')
    throw new ReleaseError('the tree has changes that are not committed');
  if (run('git', ['tag', '--list', `v${version}`]) !== '')
    throw new ReleaseError(`v${version} exists already`);
  const changes = unreleased(readText('CHANGELOG.md'));
  if (changes === '') throw new ReleaseError('CHANGELOG.md has nothing under Unreleased');

  pack(version);
  const date = new Date().toISOString().slice(0, 10);
  say(
    `\nCHANGELOG.md: ${changes.split('\n').filter((line) => line.startsWith('- ')).length} changes go to ${version} - ${date}`,
  );
  say(`package.json: ${current} becomes ${version} in ${manifests().length} manifests and the lock file`);
  if (dryRun) {
    say(`\nDry run: nothing was changed. Without --dry-run this commits, and tags v${version}.`);
    return;
  }

  writeFileSync(pathOf('CHANGELOG.md'), withRelease(readText('CHANGELOG.md'), version, date));
  for (const folder of manifests()) setVersion(folder, version);
  run('npm', ['install', '--package-lock-only', '--ignore-scripts']);
  run('git', ['commit', '--all', '--message', `Release ${version}`]);
  run('git', ['tag', '--annotate', `v${version}`, '--message', `Sluice ${version}`]);
  say(`\nCommitted and tagged v${version}. Push both: git push --follow-tags`);
}

function pack(version: string): void {
  const { tarball, files, bytes } = assemble(version);
  refuse(checkPackage(files, bytes));
  say(`Package: ${tarball}, ${files.length} files, ${Math.round(bytes / 1_000)} KB`);
  const { path, sbom } = writeSbom(tarball);
  refuse(checkSbom(sbom, readManifest('build/sluice').dependencies ?? {}));
  say(`Components: ${path}, ${sbom.components?.length} packages`);
}

function refuse(mistakes: readonly string[]): void {
  if (mistakes.length > 0) throw new ReleaseError(`the package is not right:\n  ${mistakes.join('\n  ')}`);
}

function manifests(): string[] {
  const packages = readdirSync(pathOf('packages')).map((name) => `packages/${name}`);
  return ['.', 'bench', 'release', ...packages];
}

/** The packages of this repository depend on one another by the exact version. */
function setVersion(folder: string, version: string): void {
  const manifest = readManifest(folder);
  const dependencies = Object.entries(manifest.dependencies ?? {}).map(([name, range]) => [
    name,
    name.startsWith('@sluice/') ? version : range,
  ]);
  writeJson(pathOf(`${folder}/package.json`), {
    ...manifest,
    version,
    ...(manifest.dependencies && { dependencies: Object.fromEntries(dependencies) }),
  });
}

try {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      'dry-run': { type: 'boolean', default: false },
      pack: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const [version] = positionals;
  if (values.help) say(USAGE);
  else if (values.pack) pack(readManifest('.').version);
  else if (version === undefined) throw new ReleaseError(USAGE);
  else release(version, values['dry-run']);
} catch (error) {
  process.stderr.write(`release: ${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
}
