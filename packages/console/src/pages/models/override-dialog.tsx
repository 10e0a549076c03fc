import type { ModelOverride } from '@sluice/shared/admin-api';
import { useState } from 'preact/hooks';
import { path } from '../../admin-client.js';
import { Dialog } from '../../ui/dialog.js';
import { Field } from '../../ui/field.js';
import { explainFailure, Notice } from '../../ui/small.js';
import { useAction } from '../../ui/use-action.js';
import { useSubmit } from '../../ui/use-submit.js';
import type { ModelRow } from './model-rows.js';
import { FIELDS, type FieldName, mistakeOf, toForm, toOverride } from './override-form.js';

interface OverrideProps {
  row: ModelRow;
  onClose(): void;
  onSaved(): void;
}

export function OverrideDialog({ row, onClose, onSaved }: OverrideProps) {
  const [form, setForm] = useState(() => toForm(row.facts));
  const [keepSteps, setKeepSteps] = useState(row.overridden);
  const action = useAction();
  const mistakes = Object.fromEntries(FIELDS.map(({ name }) => [name, mistakeOf(name, form[name])]));
  const isValid = FIELDS.every(({ name }) => mistakes[name] === undefined);
  const steps = stepsOf(row.facts);
  const url = path`/models/${row.provider}/${row.id}`;

  const { onSubmit, isTried } = useSubmit(isValid, async () => {
    const override = { ...(keepSteps ? steps : {}), ...toOverride(form) };
    if (await action.run(async (client) => void (await client.send('PUT', url, override)))) onSaved();
  });
  const remove = async () => {
    if (await action.run(async (client) => void (await client.send('DELETE', url)))) onSaved();
  };

  return (
    <Dialog title={`Price of ${row.id}`} onClose={onClose}>
      <form onSubmit={onSubmit} noValidate>
        <p class="muted">
          What you set here stands above the registry and survives its refreshes. Requests that are settled
          keep the price they were settled at.
        </p>
        {row.facts?.source && (
          <p class="small-print wrap">
            Shown now: {row.facts.as_of} <span class="muted">{row.facts.source}</span>
          </p>
        )}
        <div class="grid">
          {FIELDS.map(({ name, label, hint }) => (
            <Field
              key={name}
              label={label}
              value={form[name]}
              onInput={(value) => setForm({ ...form, [name]: value })}
              mistake={form[name] === '' && !isRequired(name) ? undefined : mistakes[name]}
              hint={hint}
              inputMode={name === 'capabilities' || name === 'deprecated' ? undefined : 'decimal'}
            />
          ))}
        </div>
        {Object.keys(steps).length > 0 && (
          <label class="check">
            <input
              type="checkbox"
              checked={keepSteps}
              onChange={(event) => setKeepSteps(event.currentTarget.checked)}
            />
            Keep its prices for long prompts and service tiers. Unticked, the prices above hold for every
            request.
          </label>
        )}
        {isTried && !isValid && <Notice tone="warn">Correct the marked fields first.</Notice>}
        {action.error && <Notice tone="bad">{explainFailure(action.error)}</Notice>}
        <div class="dialog-end">
          {row.overridden && (
            <button type="button" class="danger" disabled={action.busy} onClick={remove}>
              Remove override
            </button>
          )}
          <button type="submit" class="primary" disabled={action.busy}>
            Save override
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function isRequired(name: FieldName): boolean {
  return name === 'input' || name === 'output';
}

function stepsOf(facts: ModelRow['facts']): Partial<ModelOverride> {
  return {
    ...(facts?.long_context ? { long_context: facts.long_context } : {}),
    ...(facts?.service_tiers ? { service_tiers: facts.service_tiers } : {}),
  };
}
