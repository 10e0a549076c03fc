import type { Redis } from 'ioredis';

type Argument = string | number;

/** The first line of a script that must run even when Redis is full. Such a script takes hardly any memory. */
export const ALSO_WHEN_FULL = '#!lua flags=allow-oom\n';

/** A Lua script as a function. ioredis sends the digest, and sends the text only if Redis does not know it yet. */
export function createScript<Result>(name: string, lua: string) {
  return (redis: Redis, keys: string[], args: Argument[]): Promise<Result> => {
    if (!(name in redis)) redis.defineCommand(name, { lua });
    const command = Reflect.get(redis, name) as (count: number, ...rest: Argument[]) => Promise<Result>;
    return command.call(redis, keys.length, ...keys, ...args);
  };
}
