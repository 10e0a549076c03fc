/**
 * Lua scripts as functions. For each script it is remembered which sockets know its text: those get the digest alone. Redis may
 * forget all scripts at any time. It says so before anything has run, and the text is sent again.
 */
import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import { Command, type Redis } from 'ioredis';
import { guardOf } from './cluster.js';
import { type Constants, type Name, readLua } from './lua.js';

type Argument = string | number;

/** Keys or arguments of a script by their names in the Lua. An optional one has to be there, too, as undefined. */
type Values<Value, Name extends PropertyKey = string> = Readonly<
  Record<Name, Value | readonly Value[] | undefined>
>;
export type NamedKeys<Keys> = Values<string, keyof Keys>;
export type NamedArgs<Args> = Values<Argument, keyof Args>;

/**
 * The script `lua/<name>.lua` beside a module, as a function. tsc copies no Lua, so it is read from `src`, which lies beside
 * `dist`. A name that the Lua has and the call has not is an error in every call.
 */
export function loadScript<
  Result,
  Keys extends NamedKeys<Keys>,
  Args extends NamedArgs<Args> = Record<never, never>,
>(module: string, name: string, constants: Constants = {}) {
  const file = `lua/${name}.lua`;
  const lua = readLua(new URL(file, module.replace(/\/dist\/(?!.*\/dist\/)/, '/src/')), constants);
  const run = createScript<Result>(file, lua.text);
  const listKeys = createLister<string>(file, lua.keys);
  const listArgs = createLister<Argument>(file, lua.args);
  return (redis: Redis, keys: Keys, args: Args): Promise<Result> =>
    run(redis, listKeys(keys), listArgs(args));
}

/**
 * Returns a function that lists values in the order of their names. A part of it is compiled, because a name that stands in the
 * code is read ten times faster than one in a variable, and a settlement has forty.
 */
function createLister<Value>(file: string, names: readonly Name[]) {
  const code = `return [${names.map(({ name }) => `values.${name}`).join(', ')}]`;
  const pick = new Function('values', code) as (values: Values<Value>) => Values<Value>[string][];
  return (values: Values<Value>): Value[] => {
    const list: Value[] = [];
    const picked = pick(values);
    let isOver = false;
    for (let i = 0; i < picked.length; i++) {
      const value = picked[i];
      if (value === undefined) {
        const { name = '', isOptional } = names[i] ?? {};
        if (!isOptional || !(name in values)) throw new TypeError(`${file} gets no ${name}`);
        isOver = true;
      } else if (Array.isArray(value)) {
        for (const each of value) list.push(each);
      } else {
        if (isOver) throw new TypeError(`${file} gets ${names[i]?.name} without the one before`);
        list.push(value as Value);
      }
    }
    return list;
  };
}

const SHEBANG = /^(?:#!.*\n)?/;

/**
 * A Lua script as a function. Redis gets the text once for each connection, and then its digest. ioredis has this too
 * (`defineCommand`), but handles each argument several times, and every request passes here three times. Errors of ioredis
 * have the name.
 */
export function createScript<Result>(name: string, lua: string) {
  const plain = createSender<Result>(name, lua);
  let guarded: typeof plain | undefined;
  return (redis: Redis, keys: readonly string[], args: readonly Argument[]): Promise<Result> => {
    const guard = guardOf(redis);
    if (guard === undefined) return plain(redis, keys, args);
    guarded ??= createSender(name, lua.replace(SHEBANG, '$&table.remove(KEYS, 1)\n'));
    return guarded(redis, [guard, ...keys], args);
  };
}

function createSender<Result>(name: string, lua: string) {
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

  return (redis: Redis, keys: readonly string[], args: readonly Argument[]): Promise<Result> => {
    const parts = 3 + keys.length + args.length;
    const rest = encodeOne(keys.length) + encode(keys) + encode(args);
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
