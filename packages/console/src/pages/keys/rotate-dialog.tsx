import type { Key, RotatedKey } from '@sluice/shared/admin-api';
import { useState } from 'preact/hooks';
import { path } from '../../admin-client.js';
import { moment } from '../../format.js';
import { Dialog } from '../../ui/dialog.js';
import { Select } from '../../ui/field.js';
import { Secret } from '../../ui/secret.js';
import { explainFailure, Notice } from '../../ui/small.js';
import { useAction } from '../../ui/use-action.js';

const GRACE = [
  ['0', 'Stops at once'],
  ['3600', 'Works for an hour more'],
  ['86400', 'Works for a day more'],
  ['604800', 'Works for a week more'],
] as const;

export function RotateDialog({ apiKey, onClose }: { apiKey: Key; onClose(): void }) {
  const [grace, setGrace] = useState<string>('86400');
  const [issued, setIssued] = useState<RotatedKey | undefined>();
  const action = useAction();
  const rotate = (event: Event) => {
    event.preventDefault();
    const url = path`/keys/${apiKey.id}/rotate`;
    action.run(async (client) =>
      setIssued(await client.send<RotatedKey>('POST', url, { grace_seconds: Number(grace) })),
    );
  };
  return (
    <Dialog title={issued ? `New key ${issued.name}` : `Rotate ${apiKey.name}`} onClose={onClose}>
      {issued ? (
        <Secret what="key" value={issued.value} onClose={onClose} />
      ) : (
        <form onSubmit={rotate}>
          <p>
            A second key is issued for workspace <b>{apiKey.workspace}</b>. The old one, which ends in{' '}
            <code>…{apiKey.last_four}</code>, keeps working until its grace period is over.{' '}
            {apiKey.expires_at === null
              ? 'The new key never expires.'
              : `The new key expires when the old one would have: ${moment(apiKey.expires_at)}.`}
          </p>
          <Select label="The old key" value={grace} choices={GRACE} onChange={setGrace} />
          {action.error && <Notice tone="bad">{explainFailure(action.error)}</Notice>}
          <div class="dialog-end">
            <button type="submit" class="primary" disabled={action.busy}>
              Rotate the key
            </button>
          </div>
        </form>
      )}
    </Dialog>
  );
}
