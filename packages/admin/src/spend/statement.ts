/** A workspace's month: what it spent, by model, route, key and day. Every part sums up to the same whole. */
import type { PresentedSpend, SpendField, SpendSums, Statement } from '@sluice/shared/admin-api';
import { csvLine } from '../http/csv.js';

export const STATEMENT_PARTS: readonly { title: string; by: SpendField[] }[] = [
  { title: 'By model', by: ['provider', 'model'] },
  { title: 'By route', by: ['route'] },
  { title: 'By key', by: ['key'] },
  { title: 'By day', by: ['day'] },
];

export function* statementCsv({ workspace, month, parts, total }: Statement): Generator<string> {
  yield csvLine([
    'workspace',
    'month',
    'part',
    'name',
    'requests',
    'input_tokens',
    'output_tokens',
    'cost_usd',
    'cost_picodollars',
  ]);
  const line = (part: string, name: string, sums: SpendSums) =>
    csvLine([
      workspace,
      month,
      part,
      name,
      sums.requests,
      inputOf(sums),
      sums.output_tokens,
      sums.cost_usd,
      sums.cost_picodollars,
    ]);
  for (const { title, by, data } of parts) for (const row of data) yield line(title, nameOf(row, by), row);
  yield line('Total', '', total);
}

export function statementPage({
  workspace,
  month,
  time_zone: zone,
  parts,
  total,
  complete,
}: Statement): string {
  const cells = (sums: SpendSums) =>
    [sums.requests, inputOf(sums), sums.output_tokens]
      .map((number) => `<td>${number.toLocaleString('en')}</td>`)
      .join('') + `<td>${toHtml(sums.cost_usd)}</td>`;
  const tables = parts.map(
    ({ title, by, data }) => `<h2>${toHtml(title)}</h2>
<table><thead><tr><th scope="col">${toHtml(by.join(' / '))}</th><th scope="col">Requests</th><th scope="col">Input tokens</th><th scope="col">Output tokens</th><th scope="col">USD</th></tr></thead>
<tbody>${data.map((row) => `<tr><th scope="row">${toHtml(nameOf(row, by))}</th>${cells(row)}</tr>`).join('')}</tbody>
<tfoot><tr><th scope="row">Total</th>${cells(total)}</tr></tfoot></table>`,
  );
  const title = `Statement of ${workspace}, ${month}`;
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${toHtml(title)}</title><style>
body{font:14px/1.4 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem;color:#111;background:#fff}
table{border-collapse:collapse;width:100%}th,td{padding:.25rem .5rem;border-bottom:1px solid #ccc;text-align:right}
th:first-child{text-align:left;font-weight:normal;overflow-wrap:anywhere}thead th,tfoot th,tfoot td{font-weight:bold!important}
tr{break-inside:avoid}h2{break-after:avoid}
</style></head><body><h1>${toHtml(title)}</h1>
<p>Days of ${toHtml(zone)}. ${toHtml(total.cost_usd)} USD for ${total.requests.toLocaleString('en')} requests.${
    total.unknown_bills > 0
      ? ` ${total.unknown_bills.toLocaleString('en')} calls ended without a bill; they may have cost ${toHtml(total.estimated_usd)} USD more.`
      : ''
  }${complete ? '' : ' Not everything has arrived in the archive yet: this statement is not final.'}</p>
${tables.join('\n')}
</body></html>
`;
}

function nameOf(row: PresentedSpend, by: readonly SpendField[]): string {
  return by.map((field) => row[field] ?? '(direct)').join(' / ');
}

function inputOf(sums: SpendSums): number {
  return sums.input_tokens + sums.cached_input_tokens + sums.cache_write_tokens;
}

function toHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
