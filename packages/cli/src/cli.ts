/** Gives every command the admin api, and ways to write for people and for programs. */
import { createInterface } from 'node:readline/promises';
import { findAdmin } from './admin/address.js';
import { AdminClient } from './admin/client.js';
import { CliError, UsageError } from './output/cli-error.js';
import { createStyle, type Style } from './output/style.js';
import { type Column, table } from './output/table.js';
import type { Terminal } from './output/terminal.js';

export class Cli {
  readonly style: Style;
  #admin: AdminClient | undefined;

  constructor(
    readonly terminal: Terminal,
    /** Results and errors are printed as JSON. */
    readonly json = false,
  ) {
    this.style = createStyle(terminal);
  }

  get admin(): AdminClient {
    this.#admin ??= new AdminClient(findAdmin(this.terminal.env, this.terminal.directory));
    return this.#admin;
  }

  /** A line on stdout. */
  say(line: string): void {
    this.terminal.stdout.write(`${line}\n`);
  }

  /** A line on stderr: what is not the result. */
  note(line: string): void {
    this.terminal.stderr.write(`${line}\n`);
  }

  /** The result: as JSON for programs, in words for people. */
  show(value: unknown, words: () => string): void {
    this.say(this.json ? JSON.stringify(value, null, 2) : words());
  }

  showTable<Row>(rows: readonly Row[], columns: readonly Column<Row>[], whenEmpty: string): void {
    this.show(rows, () => (rows.length === 0 ? whenEmpty : table(columns, rows, this.style)));
  }

  /** Shows progress on a terminal. The next text replaces it; an empty text removes it. */
  progress(text: string): void {
    if (this.terminal.stderr.isTTY) this.terminal.stderr.write(`\r\x1b[K${text}`);
  }

  /** Asks before something that cannot be undone. Without a terminal, --yes is needed. */
  async confirm(what: string, yes: boolean | undefined): Promise<void> {
    if (yes) return;
    const { stdin, stderr } = this.terminal;
    if (!stdin.isTTY || !stderr.isTTY) throw new UsageError(`${what} needs --yes when nobody can be asked`);
    const question = createInterface({ input: stdin, output: stderr, terminal: false });
    const closed = new Promise<string>((resolve) => question.once('close', () => resolve('')));
    const answer = await Promise.race([question.question(`${what}? [y/N] `), closed]);
    question.close();
    if (!/^y(es)?$/i.test(answer.trim())) throw new CliError('nothing was done');
  }
}
