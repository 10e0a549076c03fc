import { unreleased, withRelease } from '@sluice/release/changelog';
import { checkPackage } from '@sluice/release/check-package';
import test from 'ava';

const CHANGELOG = `# Changelog

## Unreleased

### Added

- A thing.

## 0.1.0 - 2026-01-02

- Another thing.
`;

test('the unreleased changes end where the last release begins', (t) => {
  t.is(unreleased(CHANGELOG), '### Added\n\n- A thing.');
  t.is(unreleased(CHANGELOG.replace('### Added\n\n- A thing.\n\n', '')), '');
  t.is(unreleased('# Changelog\n'), '');
});

test('a release moves the unreleased changes under its own heading', (t) => {
  const released = withRelease(CHANGELOG, '0.2.0', '2026-02-03');
  t.is(unreleased(released), '');
  t.true(released.includes('## 0.2.0 - 2026-02-03\n\n### Added\n\n- A thing.\n\n## 0.1.0'));
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
