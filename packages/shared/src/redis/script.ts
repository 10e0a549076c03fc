import type { Redis } from 'ioredis';

type Argument = string | number;

/** The first line of a script that takes hardly any memory, and is needed also when Redis has none left. */
export const ALSO_WHEN_FULL = '#!lua flags=allow-oom\n';

/** A Lua script as a function. ioredis sends its digest, and the text only where Redis does not know it yet. */
export function createScript<Result>(name: string, lua: string) {
  return (redis: Redis, keys: string[], args: Argument[]): Promise<Result> => {
    if (!(name in redis)) redis.defineCommand(name, { lua });
    const command = Reflect.get(redis, name) as (count: number, ...rest: Argument[]) => Promise<Result>;
    return command.call(redis, keys.length, ...keys, ...args);
  };
}
