import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Reconciliation } from '@sluice/shared/admin-api';
import { MAX_INVOICE_CHARACTERS, reconcileInput } from '@sluice/shared/contract/reconciliation';
import type { Command } from 'commander';
import { path } from '../admin/client.js';
import { parseAs } from '../arguments/parse-arguments.js';
import type { Cli } from '../cli.js';
import { CliError } from '../output/cli-error.js';
import { reconciliationText } from '../output/reconciliation-text.js';
import { withExamples } from './examples.js';

interface Options {
  provider: string;
  month: string;
  settle?: boolean;
  all?: boolean;
}

export function addReconcileCommand(program: Command, cli: Cli): void {
  withExamples(
    program
      .command('reconcile')
      .description(
        'Compare what a provider bills for a month with the ledger, by day and model, and say what explains a difference. Without a file, show the latest result.',
      )
      .argument('[file]', 'the costs that OpenAI or Anthropic export, as CSV or JSON')
      .requiredOption('--provider <provider>', 'the provider that bills, by its name in the gateway')
      .requiredOption(
        '--month <month>',
        'the month (UTC), such as 2026-10',
        parseAs(reconcileInput.schema.month),
      )
      .option('--settle', 'make adjustments that bring the spend to the invoice')
      .option('--all', 'also show the days and models that agree'),
    'reconcile --provider openai --month 2026-10 export.csv',
    'reconcile --provider anthropic --month 2026-10 costs.json --settle',
    'reconcile --provider openai --month 2026-10 --all --json',
  ).action(async (file: string | undefined, { provider, month, settle = false, all = false }: Options) => {
    const result =
      file === undefined
        ? await cli.admin.get<Reconciliation>(path`/reconciliations/${provider}/${month}`)
        : await cli.admin.send<Reconciliation>('POST', '/reconciliations', {
            provider,
            month,
            settle,
            invoice: readInvoice(file, cli.terminal.directory),
          });
    cli.show(result, () => reconciliationText(result, { all, style: cli.style }));
  });
}

function readInvoice(file: string, directory: string): string {
  const place = resolve(directory, file);
  try {
    if (statSync(place).size > MAX_INVOICE_CHARACTERS)
      throw new CliError(`${file} is larger than ${MAX_INVOICE_CHARACTERS} bytes; send a part of the month`);
    return readFileSync(place, 'utf8');
  } catch (error) {
    if (error instanceof CliError) throw error;
    const code = error instanceof Error && 'code' in error ? error.code : 'unknown error';
    throw new CliError(`${file} cannot be read (${code})`);
  }
}
