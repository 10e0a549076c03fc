#!/usr/bin/env node
/**
 * `npm run release -- <version>`: puts the version into every manifest and the changelog, makes and checks the package,
 * commits and tags. With --dry-run it changes nothing and says what it would do. Publishing is the workflow's work.
 * `npm run release -- --pack` only makes the package, the list of its components and the notes; the workflow runs it with the
 * tag that it was started by, and with --images: then it also makes the archive whose base images have digests.
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { assemble } from './assemble.js';
import { changesOf, withRelease } from './changelog.js';
import { checkPackage } from './check-package.js';
import { writePinned } from './images.js';
import { pathOf, readManifest, readText, run } from './repository.js';
import { checkSbom, writeSbom } from './sbom.js';
import { deployedOtherwise, rehearse, writeVersion } from './write-version.js';

const USAGE =
  'usage: npm run release -- <version> [--dry-run]   or   npm run release -- --pack [--images] [--tag v<version>]';
const say = (line: string) => void process.stdout.write(`${line}\n`);

class ReleaseError extends Error {}

function release(version: string, dryRun: boolean): void {
  if (!/^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/.test(version))
    throw new ReleaseError(`${version} is no version; ${USAGE}`);
  if (!dryRun && run('git', ['branch', '--show-current']) !== 'main')
    throw new ReleaseError('releases are made from main');
  if (!dryRun && run('git', ['status', '--porcelain']) !== '')
    throw new ReleaseError('the tree has changes that are not committed');
  if (run('git', ['tag', '--list', `v${version}`]) !== '')
    throw new ReleaseError(`v${version} exists already`);
  const date = new Date().toISOString().slice(0, 10);
  const changes = changesOf(withRelease(readText('CHANGELOG.md'), version, date), version);
  if (changes === '') throw new ReleaseError('CHANGELOG.md has nothing under Unreleased');

  pack(version, changes);
  if (dryRun) {
    say(`\nIn a clone, the release makes this commit and tags it v${version}:\n`);
    say(rehearse(pathOf('.'), version, date));
    say('\nDry run: nothing was changed here.');
    return;
  }
  writeVersion(pathOf('.'), version, date);
  say(`\nCommitted and tagged v${version}. Push both: git push --follow-tags`);
}

/** What the workflow does with a tag: the package, its list of components, and the notes of the release. */
function packTagged(tag: string | undefined, withImages: boolean): void {
  const { version } = readManifest('.');
  if (tag !== undefined && tag !== `v${version}`)
    throw new ReleaseError(`the tag is ${tag}, and the manifests say ${version}`);
  const [other] = deployedOtherwise(pathOf('.'), version);
  if (tag !== undefined && other !== undefined)
    throw new ReleaseError(`the tag is ${tag}, and ${other} has another version`);
  const changes = changesOf(readText('CHANGELOG.md'), version);
  if (tag !== undefined && changes === '')
    throw new ReleaseError(`CHANGELOG.md has no section for ${version}`);
  pack(version, changes);
  if (withImages) say(`Sources with the digests of base images: ${writePinned(version)}`);
}

function pack(version: string, changes: string): void {
  const { tarball, files, bytes } = assemble(version);
  refuse(checkPackage(files, bytes));
  say(`Package: ${tarball}, ${files.length} files, ${Math.round(bytes / 1_000)} KB`);
  const { path, sbom } = writeSbom(tarball);
  refuse(checkSbom(sbom, readManifest('build/sluice').dependencies ?? {}));
  say(`Components: ${path}, ${sbom.components?.length} packages`);
  const notes = tarball.replace(/\.tgz$/, '.notes.md');
  writeFileSync(notes, `${changes}\n`);
  say(`Notes: ${notes}, ${changes.split('\n').filter((line) => line.startsWith('- ')).length} changes`);
}

function refuse(mistakes: readonly string[]): void {
  if (mistakes.length > 0) throw new ReleaseError(`the package is not right:\n  ${mistakes.join('\n  ')}`);
}

try {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      'dry-run': { type: 'boolean', default: false },
      pack: { type: 'boolean', default: false },
      images: { type: 'boolean', default: false },
      tag: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const [version] = positionals;
  if (values.help) say(USAGE);
  else if (values.pack) packTagged(values.tag, values.images);
  else if (version === undefined) throw new ReleaseError(USAGE);
  else release(version, values['dry-run']);
} catch (error) {
  process.stderr.write(`release: ${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
}
