/**
 * Anthropic's costs: the answer of GET /v1/organizations/cost_report, grouped by description, whose amounts are cents, and the
 * CSV that the cost page exports, whose amounts are dollars and whose models have names for people.
 */
import { parseAmount, USD_DECIMALS } from './amount.js';
import { csvRecords } from './csv-rows.js';
import {
  dayIn,
  type Invoice,
  InvoiceBuilder,
  InvoiceMistake,
  NOTHING,
  refuseCurrency,
  type TokenKind,
} from './invoice.js';
import { listIn, pagesOf, textIn } from './json-pages.js';

const CENT_DECIMALS = USD_DECIMALS - 2;
/** The names of the answer, and those of the CSV. */
const KINDS: Readonly<Record<string, TokenKind>> = {
  uncached_input_tokens: 'input',
  input_no_cache: 'input',
  cache_read_input_tokens: 'cached',
  input_cache_read: 'cached',
  'cache_creation.ephemeral_5m_input_tokens': 'write',
  'cache_creation.ephemeral_1h_input_tokens': 'write',
  input_cache_write_5m: 'write',
  input_cache_write_1h: 'write',
  output_tokens: 'output',
  output: 'output',
};
/** What stands for the normal tier and for short prompts. */
const NORMAL = /^$|^standard$|^message$|^0-200k$|^(?:≤|<=?) ?200k$/i;

export function isAnthropicCsv(head: string): boolean {
  return head.includes('usage_date_utc') && head.includes('cost_usd');
}

export function readAnthropicCsv(text: string, month: string): Invoice {
  const builder = new InvoiceBuilder(month);
  for (const { line, cells } of csvRecords(text)) {
    const cell = (name: string) => cells.get(name) ?? '';
    const day = dayIn(cell('usage_date_utc'));
    if (day === undefined) throw new InvoiceMistake(line, 'has no day in usage_date_utc');
    const amount = parseAmount(cell('cost_usd'));
    if (!amount) throw new InvoiceMistake(line, 'has no amount in cost_usd');
    const model = cell('model');
    const kind = KINDS[cell('token_type')];
    const isModel = model !== '' && (kind !== undefined || cell('cost_type') === 'token');
    builder.add(
      {
        day,
        model: isModel ? model : undefined,
        item: [model, cell('token_type') || cell('cost_type')].filter(Boolean).join(', ') || 'other',
        kind,
        tier: [cell('usage_type'), cell('context_window')].find((each) => !NORMAL.test(each)),
        quantity: undefined,
      },
      amount,
      JSON.stringify([...cells.values()]),
      true,
    );
  }
  return builder.finish('anthropic_csv');
}

export function readAnthropicJson(json: unknown, month: string): Invoice {
  const builder = new InvoiceBuilder(month);
  for (const bucket of pagesOf(json)) {
    const day = dayIn(textIn(bucket, 'starting_at'));
    if (day === undefined) throw new InvoiceMistake(undefined, 'has a bucket without a starting_at');
    const results = listIn(bucket, 'results');
    if (results.length === 0) builder.add({ day, ...NOTHING }, undefined, '', true);
    for (const result of results) {
      const amount = parseAmount(String(result.amount ?? ''), CENT_DECIMALS);
      if (!amount) throw new InvoiceMistake(undefined, `has a result without an amount on ${day}`);
      refuseCurrency(textIn(result, 'currency'), undefined);
      const model = textIn(result, 'model');
      const description = textIn(result, 'description');
      if (amount.picodollars !== 0n && model === '' && description === '')
        throw new InvoiceMistake(
          undefined,
          'has results without a description; ask for group_by[]=description',
        );
      builder.add(
        {
          day,
          model: model === '' ? undefined : model,
          item: description || model,
          kind: KINDS[textIn(result, 'token_type')],
          tier: [textIn(result, 'service_tier'), textIn(result, 'context_window')].find(
            (each) => !NORMAL.test(each),
          ),
          quantity: undefined,
        },
        amount,
        `${day} ${JSON.stringify(result)}`,
        true,
        CENT_DECIMALS,
      );
    }
  }
  return builder.finish('anthropic_json');
}
