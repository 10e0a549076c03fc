/** The chain of one request, out of a route with groups. */
import { chooseMembers } from '@sluice/api/chat/choose-members';
import { makeRequestId } from '@sluice/shared/request-id';
import test from 'ava';

const GROUP = {
  one_of: [
    { provider: 'a', model: 'm', weight: 70 },
    { provider: 'b', model: 'm', weight: 20, retries: 1 },
    { provider: 'c', model: 'm', weight: 10 },
  ],
};
const LAST = { provider: 'd', model: 'm' };
const IDS = Array.from({ length: 10_000 }, makeRequestId);

const shares = (chains: readonly { provider: string }[][], turn: number) => {
  const counts = new Map<string, number>();
  for (const chain of chains) {
    const { provider = '' } = chain[turn] ?? {};
    counts.set(provider, (counts.get(provider) ?? 0) + 1);
  }
  return (provider: string) => (100 * (counts.get(provider) ?? 0)) / chains.length;
};

test('over 10,000 requests each member of a group is first as often as its weight says, within 2 %', (t) => {
  const first = shares(
    IDS.map((id) => chooseMembers([GROUP, LAST], id)),
    0,
  );
  for (const { provider, weight } of GROUP.one_of)
    t.true(Math.abs(first(provider) - weight) < 2, `${provider}: ${first(provider)} %`);
});

test('the requests of a member that fails are shared by the weights of the others', (t) => {
  const chains = IDS.map((id) => chooseMembers([GROUP, LAST], id)).filter(
    ([first]) => first?.provider === 'a',
  );
  const second = shares(chains, 1);
  t.true(Math.abs(second('b') - 200 / 3) < 3, `b: ${second('b')} %`);
  t.true(Math.abs(second('c') - 100 / 3) < 3, `c: ${second('c')} %`);
});

test('every member comes once, before the next entry, and the same id always gives the same chain', (t) => {
  for (const id of IDS.slice(0, 100)) {
    const chain = chooseMembers([GROUP, LAST], id);
    t.deepEqual(chain.map(({ provider }) => provider).sort(), ['a', 'b', 'c', 'd']);
    t.is(chain.at(-1), LAST);
    t.deepEqual(chain, chooseMembers([GROUP, LAST], id));
    t.deepEqual(
      chain.find(({ provider }) => provider === 'b'),
      { provider: 'b', model: 'm', retries: 1 },
    );
  }
});

test('two groups of one chain choose independently of each other', (t) => {
  const both = { one_of: GROUP.one_of.slice(0, 2).map(({ weight: _, ...entry }) => entry) };
  const same = IDS.filter((id) => {
    const chain = chooseMembers([both, both], id);
    return chain[0]?.provider === chain[2]?.provider;
  });
  t.true(Math.abs(same.length / IDS.length - 0.5) < 0.03, String(same.length));
});

test('a chain without a group is taken as it is', (t) => {
  const chain = [LAST, { provider: 'a', model: 'm' }];
  t.is(chooseMembers(chain, 'id'), chain);
});
