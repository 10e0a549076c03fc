/**
 * OpenAI's costs: the answer of GET /v1/organization/costs, and the CSV that the usage page exports, both grouped by line item.
 * A line item has the model and the kind of token in one text, such as `priority | gpt-5.4, cached input, long context`.
 */
import { parseAmount } from './amount.js';
import { csvRecords } from './csv-rows.js';
import {
  dayIn,
  dayOfSeconds,
  type Invoice,
  InvoiceBuilder,
  type InvoiceLine,
  InvoiceMistake,
  NOTHING,
  quantityOf,
  refuseCurrency,
  type TokenKind,
} from './invoice.js';
import { isObject, listIn, pagesOf, textIn } from './json-pages.js';

const KINDS: Readonly<Record<string, TokenKind>> = {
  input: 'input',
  output: 'output',
  'cached input': 'cached',
  'cache write': 'write',
  'cache writes': 'write',
};
const ITEM = /^(?:([a-z][a-z ]{0,30}) \| )?([^,]{1,256}), (batch )?([a-z ]{1,40})(, [a-z ]{1,40})?$/i;

/** What a line item is for. */
export function readLineItem(item: string): Pick<InvoiceLine, 'model' | 'item' | 'kind' | 'tier'> {
  const [, tier, model, batch, kind = '', more] = ITEM.exec(item) ?? [];
  const known = KINDS[kind.toLowerCase()];
  if (model === undefined) {
    // Older exports have the model alone. A charge for something else has spaces in its name.
    return { model: /^[^\s,]+$/.test(item) ? item : undefined, item, kind: undefined, tier: undefined };
  }
  return { model, item, kind: known, tier: tier ?? batch?.trim() ?? more?.slice(2) };
}

export function isOpenaiCsv(head: string): boolean {
  return head.includes('amount_value') && (head.includes('start_time') || head.includes('date'));
}

export function readOpenaiCsv(text: string, month: string): Invoice {
  const builder = new InvoiceBuilder(month);
  for (const { line, cells } of csvRecords(text)) {
    const cell = (name: string) => cells.get(name) ?? '';
    const day = dayIn(cell('start_time_iso')) ?? dayOfSeconds(cell('start_time')) ?? dayIn(cell('date'));
    if (day === undefined) throw new InvoiceMistake(line, 'has no day in start_time_iso or start_time');
    const written = cell('amount_value');
    const amount = parseAmount(written);
    if (written !== '' && !amount) throw new InvoiceMistake(line, 'has no amount in amount_value');
    if (amount) refuseCurrency(cell('amount_currency'), line);
    const item = cell('line_item');
    if (amount && amount.picodollars !== 0n && item === '')
      throw new InvoiceMistake(line, 'has no line_item; export the costs grouped by line item');
    const quantity = quantityOf(cell('quantity'));
    builder.add({ day, ...readLineItem(item), quantity }, amount, JSON.stringify([...cells.values()]), false);
  }
  return builder.finish('openai_csv');
}

export function readOpenaiJson(json: unknown, month: string): Invoice {
  const builder = new InvoiceBuilder(month);
  for (const bucket of pagesOf(json)) {
    const day = dayOfSeconds(bucket.start_time);
    if (day === undefined) throw new InvoiceMistake(undefined, 'has a bucket without a start_time');
    const results = listIn(bucket, 'results');
    if (results.length === 0) builder.add({ day, ...NOTHING }, undefined, '', false);
    for (const result of results) {
      const { value, currency } = isObject(result.amount) ? result.amount : {};
      const amount = parseAmount(String(value ?? ''));
      if (!amount) throw new InvoiceMistake(undefined, `has a result without an amount on ${day}`);
      refuseCurrency(String(currency ?? ''), undefined);
      const item = textIn(result, 'line_item');
      if (amount.picodollars !== 0n && item === '')
        throw new InvoiceMistake(undefined, 'has results without a line_item; ask for group_by=line_item');
      builder.add(
        { day, ...readLineItem(item), quantity: quantityOf(result.quantity) },
        amount,
        `${day} ${JSON.stringify(result)}`,
        false,
      );
    }
  }
  return builder.finish('openai_json');
}
