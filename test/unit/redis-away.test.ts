import { CommandTimeout, isRedisAway } from '@sluice/shared/redis/away';
import test from 'ava';

test('a command that Redis did not answer in time means that Redis is away, whatever its text', (t) => {
  t.true(isRedisAway(new CommandTimeout(1_500)));
  t.false(isRedisAway(new Error('Command timed out')), 'the text alone means nothing');
});
