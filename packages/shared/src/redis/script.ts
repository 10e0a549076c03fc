/**
 * Lua scripts as functions. For each script it is remembered which sockets know its text: those get the digest alone. Redis may
 * forget all scripts at any time. It says so before anything has run, and the text is sent again.
 */
import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Redis } from 'ioredis';
import { guardOf } from './cluster.js';
import { type Constants, type Name, readLua } from './lua.js';
import { type Argument, type Beginning, encode, encodeOne, ReadyCommand } from './ready-command.js';

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
  const send = createGuardedSender<Result>(file, lua.text);
  const encodeKeys = createEncoder<string>(file, lua.keys);
  const encodeArgs = createEncoder<Argument>(file, lua.args);
  return (redis: Redis, keys: Keys, args: Args): Promise<Result> =>
    send(redis, encodeKeys(keys), encodeArgs(args));
}

/** Keys or arguments in Redis' protocol, and how many they are. */
interface Encoded {
  count: number;
  text: string;
}

/**
 * Returns a function that encodes values in the order of their names. A part of it is compiled, because a name that stands in
 * the code is read ten times faster than one in a variable, and a settlement has forty.
 */
function createEncoder<Value extends Argument>(file: string, names: readonly Name[]) {
  let count = 0;
  let isOver = false;
  const encodeNext = (value: Values<Value>[string], i: number, values: Values<Value>): string => {
    if (value === undefined) {
      const { name, isOptional } = names[i] as Name;
      if (!isOptional || !(name in values)) throw new TypeError(`${file} gets no ${name}`);
      isOver = true;
      return '';
    }
    if (typeof value === 'object') {
      count += value.length;
      return encode(value);
    }
    if (isOver) throw new TypeError(`${file} gets ${names[i]?.name} without the one before`);
    count++;
    return encodeOne(value as Value);
  };
  const code = names.map(({ name }, i) => `encodeNext(values.${name}, ${i}, values)`).join(' + ');
  const encodeAll = new Function('encodeNext', `return (values) => ${code || "''"}`)(encodeNext);
  return (values: Values<Value>): Encoded => {
    count = 0;
    isOver = false;
    const text: string = encodeAll(values);
    return { count, text };
  };
}

const SHEBANG = /^(?:#!.*\n)?/;

/** The same with keys and arguments that have no names. */
export function createScript<Result>(name: string, lua: string) {
  const send = createGuardedSender<Result>(name, lua);
  const list = (values: readonly Argument[]): Encoded => ({ count: values.length, text: encode(values) });
  return (redis: Redis, keys: readonly string[], args: readonly Argument[]): Promise<Result> =>
    send(redis, list(keys), list(args));
}

function createGuardedSender<Result>(name: string, lua: string) {
  const plain = createSender<Result>(name, lua);
  let guarded: typeof plain | undefined;
  return (redis: Redis, keys: Encoded, args: Encoded): Promise<Result> => {
    const guard = guardOf(redis);
    if (guard === undefined) return plain(redis, keys, args);
    guarded ??= createSender(name, lua.replace(SHEBANG, '$&table.remove(KEYS, 1)\n'));
    return guarded(redis, { count: keys.count + 1, text: encodeOne(guard) + keys.text }, args);
  };
}

/** A script as it begins a command. Redis gets its text once for each connection, and then its digest. */
class ScriptBeginning implements Beginning {
  readonly #byDigest: string;
  readonly #byText: string;
  readonly #knowing = new WeakSet<Socket>();

  constructor(lua: string) {
    const digest = createHash('sha1').update(lua).digest('hex');
    this.#byDigest = encode(['EVALSHA', digest]);
    this.#byText = encode(['EVAL', lua]);
  }

  on(socket: Socket): string {
    if (this.#knowing.has(socket)) return this.#byDigest;
    this.#knowing.add(socket);
    return this.#byText;
  }

  forget(socket: Socket): void {
    this.#knowing.delete(socket);
  }
}

/** ioredis has this too (`defineCommand`), but slower. */
function createSender<Result>(name: string, lua: string) {
  const script = new ScriptBeginning(lua);
  return (redis: Redis, keys: Encoded, args: Encoded): Promise<Result> => {
    const parts = 3 + keys.count + args.count;
    const rest = `${encodeOne(keys.count)}${keys.text}${args.text}`;
    const send = () => redis.sendCommand(new ReadyCommand(name, parts, script, rest)) as Promise<Result>;
    return send().catch((error: Error) => {
      // Somebody has emptied Redis' list of scripts.
      if (!error.message.startsWith('NOSCRIPT')) throw error;
      script.forget((redis as unknown as { stream: Socket }).stream);
      return send();
    });
  };
}
