import { readFileSync } from 'node:fs';
import { changesOf, withRelease } from '@sluice/release/changelog';
import { checkPackage } from '@sluice/release/check-package';
import { withVersion } from '@sluice/release/repository';
import { checkSbom } from '@sluice/release/sbom';
import { manifestFolders } from '@sluice/release/write-version';
import test from 'ava';
import { REPOSITORY } from '../helpers/all-in-one.js';

const CHANGELOG = `# Changelog

## Unreleased

### Added

- A thing.

## 0.1.0 - 2026-01-02

- Another thing.
`;

test('a release moves the unreleased changes under its own heading', (t) => {
  const released = withRelease(CHANGELOG, '0.2.0', '2026-02-03');
  t.true(
    released.includes(
      '## Unreleased\n\n## 0.2.0 - 2026-02-03\n\n### Added\n\n- A thing.\n\n## 0.1.0 - 2026-01-02',
    ),
  );
  t.is(changesOf(released, '0.2.0'), '### Added\n\n- A thing.');
  t.is(changesOf(released, '0.1.0'), '- Another thing.');
  t.is(changesOf(released, '0.1'), '');
  t.is(
    changesOf(withRelease(released, '0.3.0', '2026-03-04'), '0.3.0'),
    '',
    'nothing is unreleased any more',
  );
});

test('a section that was written before its release is joined to the unreleased changes', (t) => {
  const prepared = CHANGELOG.replace('## 0.1.0 - 2026-01-02', '## 0.1.0 (not yet released)');
  const released = withRelease(prepared, '0.1.0', '2026-02-03');
  t.is(changesOf(released, '0.1.0'), '### Added\n\n- A thing.\n\n- Another thing.');
  t.false(released.includes('not yet released'));
  t.is(changesOf(prepared, '0.1.0'), '', 'a tag needs a section with a date');
});

test('a release sets the version of every package that npm knows here', (t) => {
  const lock = JSON.parse(readFileSync(`${REPOSITORY}/package-lock.json`, 'utf8'));
  const packages = Object.values(lock.packages as Record<string, { link?: boolean; resolved: string }>);
  const linked = packages.filter(({ link }) => link).map(({ resolved }) => resolved);
  t.deepEqual(manifestFolders(REPOSITORY).sort(), ['.', ...linked].sort());
});

test('packages of this repository depend on one another by the version of the release', (t) => {
  const manifest = {
    name: '@sluice/api',
    version: '0.1.0',
    dependencies: { '@sluice/shared': '0.1.0', koa: '3.2.1' },
  };
  t.deepEqual(withVersion(manifest, '0.2.0'), {
    name: '@sluice/api',
    version: '0.2.0',
    dependencies: { '@sluice/shared': '0.2.0', koa: '3.2.1' },
  });
});

test('a package without its programs, or with what is private, is refused by name', (t) => {
  const mistakes = checkPackage(['package.json', 'node_modules/@sluice/api/src/app.ts', '.env'], 1);
  t.true(mistakes.includes('bin/sluice.js is missing'));
  t.true(mistakes.includes('node_modules/@sluice/api/src/app.ts does not belong in it'));
  t.true(mistakes.includes('.env does not belong in it'));
  t.deepEqual(
    checkPackage([], 3_000_000).filter((mistake) => mistake.includes('bytes')),
    ['it has 3000000 bytes, more than 2000000'],
  );
});

test('a list of components that lacks a dependency, or a digest of what others made, is refused by name', (t) => {
  const component = { name: 'koa', version: '3.2.1', hashes: [{ alg: 'SHA-512', content: 'ab' }] };
  const ours = { name: '@sluice/api', version: '0.1.0' };
  const sbom = { bomFormat: 'CycloneDX', components: [component, ours] };
  t.deepEqual(checkSbom(sbom, { koa: '3.2.1', '@sluice/api': '0.1.0' }), []);
  t.deepEqual(checkSbom({ ...sbom, components: [{ name: 'koa', version: '3.2.1' }] }, { bullmq: '6.7.0' }), [
    'the list of components lacks bullmq',
    'the list of components has no digest of koa',
  ]);
  t.is(checkSbom({}, {}).length, 1);
});
