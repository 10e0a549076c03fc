/** The mutants of `npm run mutants` fit the product and the tests as they are now. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { REPOSITORY } from '../helpers/all-in-one.js';
import { builtFile, MUTANTS, mutate } from '../mutants/mutants.js';

test('the place that a mutant changes is in the product, once', (t) => {
  for (const mutant of MUTANTS) {
    const built = readFileSync(join(REPOSITORY, builtFile(mutant)), 'utf8');
    t.not(mutate(mutant, built), built, mutant.test);
  }
});

test('every file of tests that runs a gateway within itself has a mutant', (t) => {
  const folder = join(REPOSITORY, 'test', 'gateway');
  const runsWithin = /\b(?:startGateway|createSettleBench)\(/;
  const files = readdirSync(folder).filter((name) =>
    runsWithin.test(readFileSync(join(folder, name), 'utf8')),
  );
  t.true(files.length > 50);
  const tested = new Set(MUTANTS.map((mutant) => `${mutant.test}.test.ts`));
  t.deepEqual(
    files.filter((name) => !tested.has(`gateway/${name}`)),
    [],
  );
});
