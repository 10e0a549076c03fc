/** FOCUS files: who sends the bill, whose tags a line has, and that lines add up to the ledger. */
import { withRest } from '@sluice/admin/spend/rest';
import { noSums, type SpendResult, type SpendRow } from '@sluice/admin/spend/spend';
import { focusCsv } from '@sluice/admin/spend/spend-export';
import { PRESETS } from '@sluice/shared/contract/presets';
import { companyAt } from '@sluice/shared/contract/price-lists';
import test from 'ava';

test('the address of a provider tells who sends its bill', (t) => {
  for (const [name, { base_url: address }] of Object.entries(PRESETS)) {
    const url = String(address)
      .replace('{location-}', 'eu-')
      .replace(/\{\w+\}/g, 'example');
    const company = companyAt(url);
    if (/^(ollama|vllm)$/.test(name)) t.is(company, undefined, name);
    else t.truthy(company, name);
  }
  t.is(companyAt('https://us.api.openai.com/v1'), 'OpenAI');
  t.is(companyAt('https://api.anthropic.com'), 'Anthropic');
  t.is(companyAt('https://x.openai.azure.com/openai/v1'), 'Microsoft Azure');
  t.is(companyAt('https://api.openai.com.example.com/v1'), undefined);
});

const sums = (requests: bigint, cost: bigint) => ({ ...noSums(), requests, cost });
const group = { day: '2026-11-15', workspace: 'demo', route: 'fast', provider: 'ours', model: 'gpt-4o' };
const answerOf = (rows: SpendRow[]): SpendResult => ({
  ...{ rows, total: noSums(), others: [], groups: rows.length, isComplete: true },
});

test('what only the ledger has is in a line without tags', (t) => {
  const tagged = (tags: string, ...of: [bigint, bigint]) => ({
    group: { ...group, tags },
    sums: sums(...of),
  });
  const archive = answerOf([tagged('{"a":"1"}', 2n, 20n), tagged('{}', 1n, 5n)]);
  const other = { group: { ...group, route: null }, sums: sums(1n, 1n) };
  const { rows } = withRest(archive, answerOf([{ group, sums: sums(4n, 32n) }, other]));
  t.deepEqual(rows.slice(2), [{ group, sums: sums(1n, 7n) }, other]);
  t.deepEqual(withRest(archive, answerOf([{ group, sums: sums(3n, 25n) }])).rows, archive.rows);
});

test('a line has the tags of callers, and the name of the company', (t) => {
  const row = {
    ...{ ...group, tags: '{"__proto__":"x","sluice:route":"mine","team":"a"}', requests: 1 },
    ...{ input_tokens: 1, cached_input_tokens: 0, cache_write_tokens: 0, output_tokens: 1 },
    ...{ cost_usd: '0', cost_picodollars: '7', unknown_bills: 0, estimated_usd: '0' },
    ...{ estimated_picodollars: '0', adjusted_usd: '0', adjusted_picodollars: '0' },
  };
  const [, line = ''] = [...focusCsv([row], [], () => 'Acme, Inc.')];
  t.is(line.split('"Acme, Inc."').length, 4);
  t.true(line.includes('{""__proto__"":""x"",""sluice:route"":""fast"",""team"":""a""}'), line);
});
