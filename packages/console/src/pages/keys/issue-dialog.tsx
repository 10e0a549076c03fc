import type { IssuedKey } from '@sluice/shared/admin-api';
import { useState } from 'preact/hooks';
import { path } from '../../admin-client.js';
import { Dialog } from '../../ui/dialog.js';
import { Field, Select } from '../../ui/field.js';
import { Pick } from '../../ui/pick.js';
import { Secret } from '../../ui/secret.js';
import { explainFailure, Notice } from '../../ui/small.js';
import { useAction } from '../../ui/use-action.js';
import { useSubmit } from '../../ui/use-submit.js';
import { labelMistake } from '../rules.js';

const LIVES = [
  ['', 'Never'],
  ['7', 'In 7 days'],
  ['30', 'In 30 days'],
  ['90', 'In 90 days'],
  ['365', 'In a year'],
] as const;

const CLASSES = [
  ['interactive', 'Interactive: before all others'],
  ['normal', 'Normal'],
  ['background', 'Background: uses what the others leave'],
] as const;

interface IssueProps {
  workspaces: string[];
  workspace: string;
  onClose(): void;
}

export function IssueDialog({ workspaces, workspace: chosen, onClose }: IssueProps) {
  const [workspace, setWorkspace] = useState(chosen || (workspaces[0] ?? ''));
  const [name, setName] = useState('');
  const [days, setDays] = useState<string>('');
  const [priority, setPriority] = useState<string>('normal');
  const [issued, setIssued] = useState<IssuedKey | undefined>();
  const action = useAction();
  const mistake = labelMistake(name);

  const { onSubmit, shown } = useSubmit(mistake === undefined, () => {
    const expires =
      days === '' ? {} : { expires_at: new Date(Date.now() + Number(days) * 86_400_000).toISOString() };
    action.run(async (client) =>
      setIssued(
        await client.send<IssuedKey>('POST', path`/workspaces/${workspace}/keys`, {
          name,
          priority,
          ...expires,
        }),
      ),
    );
  });

  return (
    <Dialog title={issued ? `Key ${issued.name}` : 'Issue a key'} onClose={onClose}>
      {issued ? (
        <Secret what="key" value={issued.value ?? ''} onClose={onClose} />
      ) : (
        <form onSubmit={onSubmit} noValidate>
          <Pick label="Workspace" value={workspace} values={workspaces} onChange={setWorkspace} />
          <Field
            label="Name"
            value={name}
            onInput={setName}
            mistake={shown(name, mistake)}
            hint="For people: which program uses it"
          />
          <Select label="Expires" value={days} choices={LIVES} onChange={setDays} />
          <Select label="Priority" value={priority} choices={CLASSES} onChange={setPriority} />
          {action.error && <Notice tone="bad">{explainFailure(action.error)}</Notice>}
          <div class="dialog-end">
            <button type="submit" class="primary" disabled={action.busy}>
              Issue the key
            </button>
          </div>
        </form>
      )}
    </Dialog>
  );
}
