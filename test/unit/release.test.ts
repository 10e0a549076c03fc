import { readdirSync, readFileSync } from 'node:fs';
import { linkTo, withPaths } from '@sluice/release/assemble';
import { changesOf, withRelease } from '@sluice/release/changelog';
import { checkPackage } from '@sluice/release/check-package';
import { IMAGE_FILES, pinImages } from '@sluice/release/images';
import { withVersion } from '@sluice/release/repository';
import { checkSbom } from '@sluice/release/sbom';
import { DEPLOYED, manifestFolders, withDeployedVersion } from '@sluice/release/write-version';
import test from 'ava';
import { parse } from 'yaml';
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

test('a release sets the version of the chart and of the image in the base of Kustomize', (t) => {
  const [chart = '', base = ''] = DEPLOYED.map((file) => readFileSync(`${REPOSITORY}/${file}`, 'utf8'));
  const { version, appVersion } = parse(withDeployedVersion(chart, '9.8.7'));
  t.deepEqual([version, appVersion], ['9.8.7', '9.8.7']);
  t.is(parse(withDeployedVersion(base, '9.8.7')).images[0].newTag, '9.8.7');
  t.is(parse(withDeployedVersion(base, '9.8.7')).apiVersion, parse(base).apiVersion);
  const manifest = JSON.parse(readFileSync(`${REPOSITORY}/package.json`, 'utf8'));
  for (const text of [chart, base]) t.is(withDeployedVersion(text, manifest.version), text);
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

test('modules of the package find one another by paths', (t) => {
  const text = `import { a } from '@sluice/shared/redis/address';
import { b } from './b.js';
export const start = async () => void (await import('@sluice/api/main'));
const manifest = import.meta.resolve('@sluice/console/package.json');
const name = '@sluice/shared/reasons';
`;
  t.is(
    withPaths(text, 'packages/cli/dist/start/run.js'),
    `import { a } from '../../../shared/dist/redis/address.js';
import { b } from './b.js';
export const start = async () => void (await import('../../../api/dist/main.js'));
const manifest = import.meta.resolve('../../../console/package.json');
const name = '@sluice/shared/reasons';
`,
  );
});

test('links of the README lead to the version in the repository', (t) => {
  const text = '![kill](docs/a.svg) [docs](docs/a.md#b), [here](#start), [npm](https://npmjs.com)';
  t.is(
    linkTo('https://host/us/sluice', '0.2.0', text),
    '![kill](https://host/us/sluice/raw/v0.2.0/docs/a.svg) ' +
      '[docs](https://host/us/sluice/blob/v0.2.0/docs/a.md#b), [here](#start), [npm](https://npmjs.com)',
  );
  t.is(
    linkTo('https://host/us/sluice', '0.2.0', '[![Node](docs/n.svg)](docs/d.md)'),
    '[![Node](https://host/us/sluice/raw/v0.2.0/docs/n.svg)](https://host/us/sluice/blob/v0.2.0/docs/d.md)',
  );
  t.is(linkTo(undefined, '0.2.0', text), text);
});

test('a package without its programs, or with what is private, is refused by name', (t) => {
  const mistakes = checkPackage(
    ['package.json', 'packages/api/src/app.ts', 'packages/api/dist/app.d.ts', '.env'],
    1,
  );
  t.true(mistakes.includes('packages/cli/bin/sluice.js is missing'));
  t.true(mistakes.includes('packages/api/src/app.ts does not belong in it'));
  t.true(mistakes.includes('packages/api/dist/app.d.ts does not belong in it'));
  t.true(mistakes.includes('.env does not belong in it'));
  t.deepEqual(
    checkPackage([], 3_000_000).filter((mistake) => mistake.includes('bytes')),
    ['it has 3000000 bytes, more than 2000000'],
  );
});

test('a list of components that lacks a dependency, or a digest of what others made, is refused by name', (t) => {
  const component = { name: 'koa', version: '3.2.1', hashes: [{ alg: 'SHA-512', content: 'ab' }] };
  const ours = { name: 'sluice', version: '0.1.0' };
  const sbom = { bomFormat: 'CycloneDX', components: [component, ours] };
  t.deepEqual(checkSbom(sbom, { koa: '3.2.1' }), []);
  t.deepEqual(checkSbom({ ...sbom, components: [{ name: 'koa', version: '3.2.1' }] }, { bullmq: '6.7.0' }), [
    'the list of components lacks bullmq',
    'the list of components has no digest of koa',
  ]);
  t.is(checkSbom({}, {}).length, 1);
});

test('a release has the digest of every base image', (t) => {
  const digest = (digit: number) => `sha256:${String(digit).repeat(64)}`;
  for (const file of IMAGE_FILES) {
    const text = readFileSync(`${REPOSITORY}/${file}`, 'utf8');
    const asked: string[] = [];
    const pinned = pinImages(text, (image) => digest(asked.push(image)));
    const named = text
      .match(/(^FROM |^\s+image: )\S+$|^FROM \S+ AS/gm)
      ?.filter((line) => !line.includes('sluice'));
    t.true(asked.length > 0 && asked.length === named?.length, `${file}: ${asked}`);
    for (const [i, image] of asked.entries()) t.true(pinned.includes(`${image}@${digest(i + 1)}`), image);
    t.is(pinImages(pinned, () => digest(9)).match(/@sha256:9{64}/g)?.length, asked.length);
  }
  t.throws(() => pinImages('FROM node:24\n', () => ''), { message: 'node:24 has no digest, but ""' });
});

interface Workflow {
  permissions?: Permissions;
  jobs: Record<string, { permissions?: Permissions; steps: { uses?: string; run?: string }[] }>;
}
type Permissions = string | Record<string, string>;

/** What would let the code of others into a release. */
function dangersOf(text: string): string[] {
  const { permissions: ofAll = 'write-all', jobs } = parse(text) as Workflow;
  const dangers = [...text.matchAll(/uses: *(\S+)(.*)/g)]
    .filter(([, action = '', comment = '']) => !/@[0-9a-f]{40}$/.test(action) || !/^ # v\d/.test(comment))
    .map(([, action]) => `${action} is not pinned`);
  for (const [name, { permissions = ofAll, steps }] of Object.entries(jobs)) {
    const maySign =
      typeof permissions === 'string' ? permissions === 'write-all' : permissions['id-token'] === 'write';
    // A checkout has code that others may have changed. npm publish alone runs no code of the package, nor does cosign.
    const foreign = steps.filter(
      ({ uses = '', run = '' }) =>
        uses.includes('checkout') ||
        (run !== '' && !/^(?:npm publish --ignore-scripts|cosign login|cosign sign) [^;&|\n]*$/.test(run)),
    );
    if (maySign)
      dangers.push(...foreign.map(({ uses, run }) => `${name} may sign, and has the step ${uses ?? run}`));
  }
  return dangers;
}

test('workflows pin every action, and a job that may sign runs nothing but npm publish and cosign', (t) => {
  const folder = `${REPOSITORY}/.github/workflows`;
  const texts = readdirSync(folder).map((name) => readFileSync(`${folder}/${name}`, 'utf8'));
  for (const text of texts) t.deepEqual(dangersOf(text), []);
  t.true(texts.some((text) => text.includes('id-token: write')));

  const bad = (permissions: string, ...steps: string[]) =>
    dangersOf(
      `${permissions}\njobs:\n  job:\n    steps:\n${steps.map((each) => `      - ${each}\n`).join('')}`,
    );
  t.deepEqual(bad('permissions: {}', 'uses: actions/checkout@v5'), ['actions/checkout@v5 is not pinned']);
  t.deepEqual(bad('permissions: {}', 'run: npm test'), []);
  for (const permissions of ['permissions: { id-token: write }', 'permissions: write-all', ''])
    for (const step of [
      'npm test',
      'npx --yes npm@11 publish',
      'bash .ci/run',
      'npm publish --ignore-scripts a; npm test',
    ])
      t.deepEqual(bad(permissions, `run: ${step}`), [`job may sign, and has the step ${step}`]);
});
