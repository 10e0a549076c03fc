import { against } from './against.js';
import { endOnSignals } from './children.js';
import { compare } from './compare/compare.js';
import { floor } from './floor/floor.js';
import { growth } from './growth/growth.js';
import { micro } from './micro/micro.js';
import { UsageError } from './options.js';
import { profile } from './profile/profile.js';
import { redisClients } from './redis-clients/redis-clients.js';
import { shards } from './shards/shards.js';

const COMMANDS = { compare, growth, micro, profile, against, floor, shards, 'redis-clients': redisClients };

endOnSignals();
const [first = '', ...rest] = process.argv.slice(2);
const named = Object.entries(COMMANDS).find(([name]) => name === first)?.[1];
try {
  if (named) await named(rest);
  else if (first === '' || first.startsWith('-')) await compare(process.argv.slice(2));
  else throw new UsageError(`unknown command ${first}: there are ${Object.keys(COMMANDS).join(', ')}`);
} catch (error) {
  console.error(error instanceof Error ? `bench: ${error.message}` : error);
  process.exit(error instanceof UsageError ? 2 : 1);
}
process.exit(0);
