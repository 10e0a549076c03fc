import { isAllowed } from '@sluice/shared/directory/allowed-models';
import test from 'ava';
import fc from 'fast-check';

test('Without a list every model is allowed', (t) => {
  t.true(isAllowed(undefined, 'anything'));
  t.false(isAllowed([], 'anything'));
});

for (const [pattern, allowed, refused] of [
  ['fast', ['fast'], ['faster', 'breakfast', 'Fast', '']],
  ['gpt-4o-*', ['gpt-4o-mini', 'gpt-4o-'], ['gpt-4o', 'a-gpt-4o-mini']],
  ['*-mini', ['gpt-4o-mini', '-mini'], ['gpt-4o-mini-x', 'mini']],
  ['gpt-*-mini', ['gpt-4o-mini', 'gpt-5-mini-mini', 'gpt--mini'], ['gpt-mini', 'gpt-4o']],
  ['*', ['', 'anything'], []],
  ['a**b', ['ab', 'axb'], ['a']],
  ['ab*ba', ['abba', 'abxba'], ['aba']],
  ['a.c', ['a.c'], ['abc']],
] as const) {
  test(`The pattern ${pattern} stands for the names that it should`, (t) => {
    for (const name of allowed) t.true(isAllowed([pattern], name), name);
    for (const name of refused) t.false(isAllowed([pattern], name), name);
  });
}

test('A pattern means what the regular expression with .* for its stars means', (t) => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '*'), maxLength: 8 });
  const name = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 12 });
  t.notThrows(() =>
    fc.assert(
      fc.property(text, name, (pattern, name) => {
        const expected = new RegExp(`^${pattern.replaceAll('*', '.*')}$`).test(name);
        return isAllowed([pattern], name) === expected;
      }),
    ),
  );
});
