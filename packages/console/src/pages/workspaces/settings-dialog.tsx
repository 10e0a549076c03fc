import type { Workspace } from '@sluice/shared/admin-api';
import { useState } from 'preact/hooks';
import { path } from '../../admin-client.js';
import { Dialog } from '../../ui/dialog.js';
import { Field } from '../../ui/field.js';
import { explainFailure, Notice } from '../../ui/small.js';
import { useAction } from '../../ui/use-action.js';
import { useSubmit } from '../../ui/use-submit.js';
import { labelMistake } from '../rules.js';

interface SettingsProps {
  workspace: Workspace;
  onClose(): void;
  onDone(): void;
}

/** The name of a workspace, and the models that its callers may name. */
export function SettingsDialog({ workspace, onClose, onDone }: SettingsProps) {
  const [before] = useState({ name: workspace.name, models: (workspace.models ?? []).join('\n') });
  const [name, setName] = useState(before.name);
  const [models, setModels] = useState(before.models);
  const action = useAction();
  const mistake = labelMistake(name);
  const { onSubmit } = useSubmit(mistake === undefined, async () => {
    const names = models.split(/\s+/).filter(Boolean);
    // Only what differs, so that what somebody else has changed meanwhile stays.
    const input = {
      ...(name === before.name ? {} : { name }),
      ...(models === before.models ? {} : { models: names.length === 0 ? null : names }),
    };
    const url = path`/workspaces/${workspace.id}`;
    if (await action.run(async (client) => void (await client.send('PATCH', url, input)))) onDone();
  });
  return (
    <Dialog title={`Workspace ${workspace.id}`} onClose={onClose}>
      <form onSubmit={onSubmit} noValidate>
        <Field label="Name" value={name} onInput={setName} mistake={mistake} />
        <div class="field">
          <label for="allowed-models">Models allowed</label>
          <textarea
            id="allowed-models"
            rows={6}
            value={models}
            spellcheck={false}
            onInput={(event) => setModels(event.currentTarget.value)}
            aria-describedby="allowed-models-note"
          />
          <p id="allowed-models-note" class="hint">
            One route or model id a line. A * stands for any characters. Empty: callers may name all of them.
          </p>
        </div>
        {action.error && <Notice tone="bad">{explainFailure(action.error)}</Notice>}
        <div class="dialog-end">
          <button type="submit" class="primary" disabled={action.busy}>
            Save the workspace
          </button>
        </div>
      </form>
    </Dialog>
  );
}
