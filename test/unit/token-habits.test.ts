/** An estimate of tokens learns from what a route really takes, within bounds. */
import { TokenHabits } from '@sluice/api/chat/token-habits';
import test from 'ava';

const route = { workspace: 'demo', route: 'fast', model: 'fast' };
const FIRST = { input: 1_000, output: 4_096, isNamed: true };

function learned(times: number, took: [number, number], habits = new TokenHabits()): TokenHabits {
  for (let i = 0; i < times; i++) habits.learn({ ...route, tokens: habits.adjust(route, FIRST) }, took);
  return habits;
}

test('few answers say nothing', (t) => {
  t.deepEqual(learned(3, [1_000, 150]).adjust(route, FIRST), FIRST);
});

test('an answer is guessed a little longer than almost all were, and a prompt by how far the guesses were off', (t) => {
  const { input, output, likely } = learned(40, [5_000, 150]).adjust(route, FIRST);
  t.is(likely, 165);
  t.is(input, 5_500);
  t.is(output, 4_096, 'the named limit stays known');
});

test('one long answer in forty changes little, and many of them count', (t) => {
  const habits = learned(62, [1_000, 100]);
  learned(2, [1_000, 4_000], habits);
  t.is(habits.adjust(route, FIRST).likely, 111);
  learned(10, [1_000, 4_000], habits);
  t.is(habits.adjust(route, FIRST).likely, 4_096, 'never more than the request allows');
});

test('the guess is bounded, and other routes know nothing of it', (t) => {
  const habits = learned(40, [1_000_000, 1_000_000]);
  const free = habits.adjust(route, { input: 1_000, output: 1_000 });
  t.is(free.likely, 16_000);
  t.true(free.input <= 8_801);
  t.deepEqual(habits.adjust({ ...route, workspace: 'other' }, FIRST), FIRST);
});
