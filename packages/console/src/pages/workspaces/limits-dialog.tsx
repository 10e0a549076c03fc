import { type Limits, limits as rules } from '@sluice/shared/contract/limits';
import { useState } from 'preact/hooks';
import { path } from '../../admin-client.js';
import { timeZones } from '../../time-zone.js';
import { Dialog } from '../../ui/dialog.js';
import { Field, Select } from '../../ui/field.js';
import { explainFailure, Notice } from '../../ui/small.js';
import { useAction } from '../../ui/use-action.js';
import { useSubmit } from '../../ui/use-submit.js';
import { takesWhole } from '../rules.js';
import {
  CHOICE_LIMITS,
  changedLimits,
  limitMistake,
  NUMBER_LIMITS,
  toLimitsForm,
  zoneMistake,
} from './limits-form.js';

interface LimitsProps {
  workspace: string;
  limits: Limits;
  onClose(): void;
  onDone(): void;
}

export function LimitsDialog({ workspace, limits, onClose, onDone }: LimitsProps) {
  const [before] = useState(() => toLimitsForm(limits));
  const [form, setForm] = useState(before);
  const action = useAction();
  const isValid =
    NUMBER_LIMITS.every((limit) => limitMistake(limit.name, form[limit.name]) === undefined) &&
    zoneMistake(form.time_zone) === undefined;
  const { onSubmit, isTried } = useSubmit(isValid, async () => {
    const change = changedLimits(before, form);
    const url = path`/workspaces/${workspace}/limits`;
    if (await action.run(async (client) => void (await client.send('PATCH', url, change)))) onDone();
  });
  return (
    <Dialog title={`Limits of ${workspace}`} onClose={onClose}>
      <form onSubmit={onSubmit} noValidate>
        <div class="grid">
          {NUMBER_LIMITS.map((limit) => (
            <Field
              key={limit.name}
              label={limit.label}
              value={form[limit.name]}
              onInput={(value) => setForm({ ...form, [limit.name]: value.trim() })}
              mistake={limitMistake(limit.name, form[limit.name])}
              hint={limit.hint}
              inputMode={takesWhole(rules.schema[limit.name]) ? 'numeric' : 'decimal'}
            />
          ))}
        </div>
        <Field
          label="Time zone of budgets"
          value={form.time_zone}
          onInput={(value) => setForm({ ...form, time_zone: value.trim() })}
          mistake={zoneMistake(form.time_zone)}
          hint="Empty: UTC"
          list="time-zones"
        />
        <datalist id="time-zones">
          {timeZones().map((zone) => (
            <option key={zone} value={zone} />
          ))}
        </datalist>
        {CHOICE_LIMITS.map(({ name, label, choices }) => (
          <Select
            key={name}
            label={label}
            value={form[name]}
            choices={choices}
            onChange={(value) => setForm({ ...form, [name]: value })}
          />
        ))}
        <p class="hint">
          They hold at once, for all keys of the workspace together. If gateway.yaml has this workspace, the
          next <code>sluice apply</code> brings back the limits of the file.
        </p>
        {isTried && !isValid && <Notice tone="warn">Correct the marked fields first.</Notice>}
        {action.error && <Notice tone="bad">{explainFailure(action.error)}</Notice>}
        <div class="dialog-end">
          <button type="submit" class="primary" disabled={action.busy}>
            Save the limits
          </button>
        </div>
      </form>
    </Dialog>
  );
}
