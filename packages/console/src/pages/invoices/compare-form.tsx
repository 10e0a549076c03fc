import type { Reconciliation } from '@sluice/shared/admin-api';
import { useId, useState } from 'preact/hooks';
import { Field, Select } from '../../ui/field.js';
import { explainFailure, Notice } from '../../ui/small.js';
import { useAction } from '../../ui/use-action.js';
import { useSubmit } from '../../ui/use-submit.js';

const MONTH = /^20\d\d-(0[1-9]|1[0-2])$/;

interface CompareFormProps {
  providers: readonly string[];
  onDone(result: Reconciliation): void;
}

/** A provider's file, and whether the spend is brought to it. */
export function CompareForm({ providers, onDone }: CompareFormProps) {
  const [provider, setProvider] = useState(providers[0] ?? '');
  const [month, setMonth] = useState(lastMonth());
  const [file, setFile] = useState<File | undefined>();
  const [settle, setSettle] = useState(false);
  const id = useId();
  const action = useAction();
  const monthMistake = MONTH.test(month) ? undefined : 'Must be a month such as 2026-10.';
  const submit = useSubmit(monthMistake === undefined && file !== undefined, () =>
    action.run(async (client) => {
      const invoice = await file?.text();
      onDone(
        await client.send<Reconciliation>('POST', '/reconciliations', { provider, month, invoice, settle }),
      );
    }),
  );
  return (
    <form class="card stack" aria-label="Compare with an invoice" onSubmit={submit.onSubmit} noValidate>
      <div class="filters">
        <Select
          label="Provider"
          value={provider}
          choices={providers.map((name) => [name, name] as const)}
          onChange={setProvider}
        />
        <Field label="Month" value={month} onInput={setMonth} mistake={submit.shown(month, monthMistake)} />
        <div class="field">
          <label for={id}>The provider’s costs</label>
          <input
            id={id}
            type="file"
            accept=".csv,.json,text/csv,application/json"
            onChange={(event) => setFile(event.currentTarget.files?.[0])}
            aria-invalid={submit.isTried && file === undefined}
          />
          {submit.isTried && file === undefined && (
            <p class="mistake">Choose the file that the provider exports.</p>
          )}
        </div>
      </div>
      <label class="check">
        <input
          type="checkbox"
          checked={settle}
          onChange={(event) => setSettle(event.currentTarget.checked)}
        />
        Make adjustments that bring the spend to the invoice
      </label>
      {action.error && <Notice tone="bad">{explainFailure(action.error)}</Notice>}
      <div class="actions">
        <button type="submit" class="primary" disabled={action.busy}>
          {settle ? 'Compare and settle' : 'Compare'}
        </button>
      </div>
    </form>
  );
}

function lastMonth(): string {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 1)).toISOString().slice(0, 7);
}
