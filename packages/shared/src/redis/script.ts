import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import { Command, type Redis } from 'ioredis';
import { type Constants, type Name, readLua } from './lua.js';

type Argument = string | number;

/** The first line of a script that must run even when Redis is full. Such a script takes hardly any memory. */
export const ALSO_WHEN_FULL = '#!lua flags=allow-oom\n';

/** Keys as Redis gets them. A queue's keys are the same for each of its scripts, and are written once. */
export class ScriptKeys {
  private constructor(
    readonly count: number,
    readonly text: string,
  ) {}

  static of(keys: readonly (string | ScriptKeys)[]): ScriptKeys {
    let count = 0;
    let text = '';
    for (const key of keys) {
      const isGroup = key instanceof ScriptKeys;
      count += isGroup ? key.count : 1;
      text += isGroup ? key.text : encodeOne(key);
    }
    return new ScriptKeys(count, text);
  }

  and(...more: readonly string[]): ScriptKeys {
    return ScriptKeys.of([this, ...more]);
  }

  joined(other: ScriptKeys): ScriptKeys {
    return ScriptKeys.of([this, other]);
  }
}

/** The keys or the arguments of a script by their names in the Lua. An optional one has to be there, too, as undefined. */
type Named<Value> = Readonly<Record<string, Value | readonly Value[] | undefined>>;

/**
 * The script `lua/<name>.lua` beside a module, as a function. tsc copies no Lua, so it is read from `src`, which lies beside
 * `dist`. A name that the Lua has and the call has not is an error in every call.
 */
export function loadScript<
  Result,
  Keys extends { [K in keyof Keys]: string | ScriptKeys | readonly string[] | undefined },
  Args extends { [K in keyof Args]: Argument | readonly Argument[] | undefined } = Record<never, never>,
>(module: string, name: string, constants: Constants = {}) {
  const file = `lua/${name}.lua`;
  const lua = readLua(new URL(file, module.replace(/\/dist\/(?!.*\/dist\/)/, '/src/')), constants);
  const run = createScript<Result>(file, lua.text);
  return (redis: Redis, keys: Keys, args: Args): Promise<Result> =>
    run(
      redis,
      listOf<string | ScriptKeys>(file, lua.keys, keys as Named<string | ScriptKeys>),
      listOf<Argument>(file, lua.args, args as Named<Argument>),
    );
}

function listOf<Value>(file: string, names: readonly Name[], values: Named<Value>): Value[] {
  const list: Value[] = [];
  let absent: string | undefined;
  for (const { name, isOptional } of names) {
    const value = values[name];
    if (value === undefined) {
      if (!isOptional || !(name in values)) throw new TypeError(`${file} gets no ${name}`);
      absent = name;
    } else if (Array.isArray(value)) {
      for (const each of value) list.push(each);
    } else if (absent === undefined) list.push(value as Value);
    else throw new TypeError(`${file} gets ${name} without ${absent}`);
  }
  return list;
}

/**
 * A Lua script as a function. Redis gets the text once for each connection, and then its digest. ioredis has this too
 * (`defineCommand`), but handles each argument several times, and every request passes here three times. Errors of ioredis
 * have the name.
 */
export function createScript<Result>(name: string, lua: string) {
  const digest = createHash('sha1').update(lua).digest('hex');
  const knowing = new WeakSet<Socket>();

  class ScriptCommand extends Command {
    constructor(
      readonly count: number,
      readonly rest: string,
    ) {
      super(name, [], { replyEncoding: 'utf8' });
    }

    /** Called when the command is written, and again when it is written to another connection. */
    override toWritable(socket: object): string {
      const isKnown = knowing.has(socket as Socket);
      if (!isKnown) knowing.add(socket as Socket);
      return `*${this.count}\r\n${isKnown ? byDigest : byText}${this.rest}`;
    }
  }
  const byDigest = encode(['EVALSHA', digest]);
  const byText = encode(['EVAL', lua]);

  return (
    redis: Redis,
    keys: readonly (string | ScriptKeys)[] | ScriptKeys,
    args: readonly Argument[],
  ): Promise<Result> => {
    const { count, text } = keys instanceof ScriptKeys ? keys : ScriptKeys.of(keys);
    const parts = 3 + count + args.length;
    const rest = encodeOne(count) + text + encode(args);
    const send = () => redis.sendCommand(new ScriptCommand(parts, rest)) as Promise<Result>;
    return send().catch((error: Error) => {
      // Somebody has emptied Redis' list of scripts.
      if (!error.message.startsWith('NOSCRIPT')) throw error;
      knowing.delete((redis as unknown as { stream: Socket }).stream);
      return send();
    });
  };
}

function encode(values: readonly Argument[]): string {
  let text = '';
  for (const value of values) text += encodeOne(value);
  return text;
}

/** One argument in Redis' protocol. */
function encodeOne(value: Argument): string {
  const text = String(value);
  return `$${Buffer.byteLength(text)}\r\n${text}\r\n`;
}
