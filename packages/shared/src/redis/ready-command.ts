/**
 * Commands that are written in Redis' protocol at once. ioredis would handle each of their arguments several times, and every
 * request sends several commands.
 */
import type { Socket } from 'node:net';
import { Command, type Redis } from 'ioredis';

export type Argument = string | number;

/** What begins a command, where that depends on the socket. */
export interface Beginning {
  on(socket: Socket): string;
}

const NO_ARGUMENTS: string[] = [];
const AS_TEXT = { replyEncoding: 'utf8' } as const;

/** The one class of all such commands: code that handles objects of many classes is slow. Errors of ioredis have the name. */
export class ReadyCommand extends Command {
  // A field that is declared so is not defined before it is set.
  declare readonly parts: number;
  declare readonly beginning: Beginning | undefined;
  declare readonly rest: string;

  constructor(name: string, parts: number, beginning: Beginning | undefined, rest: string) {
    super(name, NO_ARGUMENTS, AS_TEXT);
    this.parts = parts;
    this.beginning = beginning;
    this.rest = rest;
  }

  /** Called when the command is written, and again when it is written to another connection. */
  override toWritable(socket: object): string {
    const { beginning } = this;
    return `*${this.parts}${beginning ? beginning.on(socket as Socket) : ''}${this.rest}\r\n`;
  }
}

/** Sends one command: its name, and its arguments in their order. */
export function sendReady<Reply>(redis: Redis, name: string, ...args: readonly Argument[]): Promise<Reply> {
  const command = new ReadyCommand(name, 1 + args.length, undefined, encodeOne(name) + encode(args));
  return redis.sendCommand(command) as Promise<Reply>;
}

export function encode(values: readonly Argument[]): string {
  let text = '';
  for (const value of values) text += encodeOne(value);
  return text;
}

/** The end of what stands before an argument of so many bytes, and its length. */
const HEADS = Array.from({ length: 1_024 }, (_, bytes) => headOf(bytes));

function headOf(bytes: number): string {
  return `\r\n$${bytes}\r\n`;
}

/** One argument. What comes after it ends its line. */
export function encodeOne(value: Argument): string {
  const text = typeof value === 'string' ? value : String(value);
  const bytes = Buffer.byteLength(text);
  return (HEADS[bytes] ?? headOf(bytes)) + text;
}
