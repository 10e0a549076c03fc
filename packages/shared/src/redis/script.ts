import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import { Command, type Redis } from 'ioredis';

type Argument = string | number;

/** The first line of a script that must run even when Redis is full. Such a script takes hardly any memory. */
export const ALSO_WHEN_FULL = '#!lua flags=allow-oom\n';

/** Keys as Redis gets them. A queue's keys are the same for each of its scripts, and are written once. */
export class ScriptKeys {
  private constructor(
    readonly count: number,
    readonly text: string,
  ) {}

  static of(keys: readonly string[]): ScriptKeys {
    return new ScriptKeys(keys.length, encode(keys));
  }

  and(...more: readonly string[]): ScriptKeys {
    return new ScriptKeys(this.count + more.length, this.text + encode(more));
  }

  joined(other: ScriptKeys): ScriptKeys {
    return new ScriptKeys(this.count + other.count, this.text + other.text);
  }
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

  return (redis: Redis, keys: readonly string[] | ScriptKeys, args: readonly Argument[]): Promise<Result> => {
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
