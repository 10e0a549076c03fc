import type { IssuedToken } from '@sluice/shared/admin-api';
import { useState } from 'preact/hooks';
import { Dialog } from '../../ui/dialog.js';
import { Field, Select } from '../../ui/field.js';
import { Pick } from '../../ui/pick.js';
import { Secret } from '../../ui/secret.js';
import { explainFailure, Notice } from '../../ui/small.js';
import { useAction } from '../../ui/use-action.js';
import { useSubmit } from '../../ui/use-submit.js';
import { labelMistake } from '../rules.js';

const ROLES = [
  ['viewer', 'Viewer: look'],
  ['operator', 'Operator: keep it running'],
  ['admin', 'Admin: decide who uses it'],
] as const;
const LIVES = [
  ['30', 'In 30 days'],
  ['90', 'In 90 days'],
  ['365', 'In a year'],
  ['', 'Never'],
] as const;

export function TokenDialog({ workspaces, onClose }: { workspaces: string[]; onClose(): void }) {
  const [name, setName] = useState('');
  const [role, setRole] = useState<string>('viewer');
  const [workspace, setWorkspace] = useState('');
  const [days, setDays] = useState<string>('90');
  const [issued, setIssued] = useState<IssuedToken | undefined>();
  const action = useAction();
  const mistake = labelMistake(name);

  const { onSubmit, shown } = useSubmit(mistake === undefined, () => {
    const input = {
      name,
      role,
      ...(workspace === '' ? {} : { workspaces: [workspace] }),
      ...(days === '' ? {} : { expires_at: new Date(Date.now() + Number(days) * 86_400_000).toISOString() }),
    };
    action.run(async (client) => setIssued(await client.send<IssuedToken>('POST', '/tokens', input)));
  });

  return (
    <Dialog title={issued ? `Token ${issued.name}` : 'Create a token'} onClose={onClose}>
      {issued ? (
        <Secret what="token" value={issued.value} onClose={onClose} />
      ) : (
        <form onSubmit={onSubmit} noValidate>
          <Field
            label="Name"
            value={name}
            onInput={setName}
            mistake={shown(name, mistake)}
            hint="For people: which program uses it"
          />
          <Select label="Role" value={role} choices={ROLES} onChange={setRole} />
          <Pick
            label="Workspace"
            value={workspace}
            values={workspaces}
            none="The whole gateway"
            onChange={setWorkspace}
          />
          <Select label="Expires" value={days} choices={LIVES} onChange={setDays} />
          {action.error && <Notice tone="bad">{explainFailure(action.error)}</Notice>}
          <div class="dialog-end">
            <button type="submit" class="primary" disabled={action.busy}>
              Create the token
            </button>
          </div>
        </form>
      )}
    </Dialog>
  );
}
