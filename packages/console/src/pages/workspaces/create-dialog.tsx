import type { Workspace } from '@sluice/shared/admin-api';
import { useState } from 'preact/hooks';
import { Dialog } from '../../ui/dialog.js';
import { Field } from '../../ui/field.js';
import { explainFailure, Notice } from '../../ui/small.js';
import { useAction } from '../../ui/use-action.js';
import { useSubmit } from '../../ui/use-submit.js';
import { idMistake, labelMistake } from '../rules.js';
import { changedLimits, limitMistake, NUMBER_LIMITS, toLimitsForm } from './limits-form.js';

const OFFERED = NUMBER_LIMITS.slice(0, 2);

export function CreateDialog({ onClose, onCreated }: { onClose(): void; onCreated(id: string): void }) {
  const [id, setId] = useState('');
  const [name, setName] = useState('');
  const [limits, setLimits] = useState(() => toLimitsForm({}));
  const action = useAction();
  const isValid =
    idMistake(id) === undefined &&
    (name === '' || labelMistake(name) === undefined) &&
    OFFERED.every((limit) => limitMistake(limit.name, limits[limit.name]) === undefined);
  const { onSubmit, shown } = useSubmit(isValid, () => {
    const input = {
      id,
      ...(name === '' ? {} : { name }),
      limits: changedLimits(toLimitsForm({}), limits),
    };
    action.run(async (client) => {
      const created = await client.send<Workspace>('POST', '/workspaces', input);
      onCreated(created.id);
    });
  });
  return (
    <Dialog title="Create a workspace" onClose={onClose}>
      <form onSubmit={onSubmit} noValidate>
        <div class="grid">
          <Field
            label="Id"
            value={id}
            onInput={(value) => setId(value.trim())}
            mistake={shown(id, idMistake(id))}
            hint="It stays as it is"
          />
          <Field
            label="Name"
            value={name}
            onInput={setName}
            mistake={name === '' ? undefined : labelMistake(name)}
            hint="For people; empty: the id"
          />
          {OFFERED.map((limit) => (
            <Field
              key={limit.name}
              label={limit.label}
              value={limits[limit.name]}
              onInput={(value) => setLimits({ ...limits, [limit.name]: value.trim() })}
              mistake={limitMistake(limit.name, limits[limit.name])}
              hint={limit.hint}
              inputMode="decimal"
            />
          ))}
        </div>
        {action.error && <Notice tone="bad">{explainFailure(action.error)}</Notice>}
        <div class="dialog-end">
          <button type="submit" class="primary" disabled={action.busy}>
            Create the workspace
          </button>
        </div>
      </form>
    </Dialog>
  );
}
