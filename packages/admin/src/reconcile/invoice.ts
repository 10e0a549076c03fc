/** A provider's own account of its costs, line by line, whatever file it came in. */
import { type Amount, roundingOf } from './amount.js';

export type TokenKind = 'input' | 'cached' | 'write' | 'output';

export interface InvoiceLine {
  /** `2026-10-31`, UTC. */
  day: string;
  /** The provider's name of the model. Undefined: the line is for something else, which `item` names. */
  model: string | undefined;
  item: string;
  kind: TokenKind | undefined;
  /** A service tier, or `long context`. Undefined: the normal one. */
  tier: string | undefined;
  picodollars: bigint;
  /** How far the amount may be from the true one, because the file rounds it. */
  rounding: bigint;
  /** Tokens, where the file tells them. */
  quantity: number | undefined;
}

export type InvoiceFormat = 'openai_csv' | 'openai_json' | 'anthropic_csv' | 'anthropic_json';

export interface Invoice {
  format: InvoiceFormat;
  lines: InvoiceLine[];
  /** Days that the file speaks of, also those without any cost. */
  days: ReadonlySet<string>;
  outsideMonth: number;
  doubled: { line: InvoiceLine; times: number }[];
}

/** The file cannot be read. The message is for the person who sent it, and quotes nothing of the file. */
export class InvoiceMistake extends Error {
  override readonly name = 'InvoiceMistake';

  constructor(line: number | undefined, what: string) {
    super(line === undefined ? what : `line ${line} ${what}`);
  }
}

/** Reading more would keep callers of this process waiting. */
const MAX_LINES = 50_000;
const MAX_NAME = 256;
const MAX_DOUBLED = 100;

/** Takes the lines of a file in, one by one. */
export class InvoiceBuilder {
  #lines: InvoiceLine[] = [];
  #days = new Set<string>();
  #outside = 0;
  #read = 0;
  /** Every cell of a line → how often it came. A provider lists a day, item and project once. */
  #seen = new Map<string, { line: InvoiceLine; times: number }>();

  constructor(private readonly month: string) {}

  /** `identity`: everything that the file says in this line. Undefined amount: the file says that the day cost nothing. */
  add(
    { day, ...line }: Omit<InvoiceLine, 'picodollars' | 'rounding'>,
    amount: Amount | undefined,
    identity: string,
    isRounded: boolean,
    unit?: number,
  ): void {
    if (++this.#read > MAX_LINES) throw new InvoiceMistake(undefined, `has more than ${MAX_LINES} lines`);
    if (!day.startsWith(this.month)) {
      this.#outside++;
      return;
    }
    this.#days.add(day);
    if (amount === undefined || amount.picodollars === 0n) return;
    const known = this.#seen.get(identity);
    if (known) {
      known.times++;
      return;
    }
    const whole: InvoiceLine = {
      ...line,
      day,
      model: line.model && toName(line.model),
      item: toName(line.item),
      picodollars: amount.picodollars,
      rounding: isRounded ? roundingOf(amount, unit) : 0n,
    };
    this.#seen.set(identity, { line: whole, times: 1 });
    this.#lines.push(whole);
  }

  finish(format: InvoiceFormat): Invoice {
    const doubled = [...this.#seen.values()].filter(({ times }) => times > 1).slice(0, MAX_DOUBLED);
    return { format, lines: this.#lines, days: this.#days, outsideMonth: this.#outside, doubled };
  }
}

/** A terminal obeys control characters, and PostgreSQL takes no zero byte. */
function toName(text: string): string {
  return text.slice(0, MAX_NAME).replace(/\p{Cc}/gu, '\ufffd');
}

/** `2026-10-31` of a day or a moment. Undefined for anything else. */
export function dayIn(text: string): string | undefined {
  const day = /^\d{4}-\d\d-\d\d(?=$|[T ])/.exec(text)?.[0];
  return day !== undefined && new Date(day).toJSON()?.startsWith(day) ? day : undefined;
}

/** The day of a Unix time in seconds. */
export function dayOfSeconds(value: unknown): string | undefined {
  const seconds = Number(value);
  if (!Number.isSafeInteger(seconds) || seconds < 0 || seconds > 10_000_000_000) return undefined;
  return new Date(seconds * 1000).toISOString().slice(0, 10);
}

export function quantityOf(value: unknown): number | undefined {
  const count = value === '' || value === null || value === undefined ? Number.NaN : Number(value);
  return Number.isFinite(count) && count >= 0 && count < 1e15 ? Math.round(count) : undefined;
}

/** Of a day without any cost. */
export const NOTHING = { model: undefined, item: '', kind: undefined, tier: undefined, quantity: undefined };

export function refuseCurrency(currency: string, line: number | undefined): void {
  if (currency !== '' && currency.toLowerCase() !== 'usd')
    throw new InvoiceMistake(line, 'has another currency than USD');
}
