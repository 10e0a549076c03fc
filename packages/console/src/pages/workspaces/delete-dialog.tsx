import type { DeletedWorkspace } from '@sluice/shared/admin-api';
import { useState } from 'preact/hooks';
import { path } from '../../admin-client.js';
import { Confirm } from '../../ui/confirm.js';

export function DeleteDialog({ id, onClose, onDone }: { id: string; onClose(): void; onDone(): void }) {
  const [erase, setErase] = useState(false);
  const url = `${path`/workspaces/${id}`}${erase ? '?erase=true' : ''}`;
  return (
    <Confirm
      title={`Delete ${id}?`}
      verb={erase ? 'Delete and erase the workspace' : 'Delete the workspace'}
      typed={id}
      work={async (client) => void (await client.send<DeletedWorkspace>('DELETE', url))}
      onClose={onClose}
      onDone={onDone}
    >
      <div class="stack">
        <p>
          Its keys are refused within two seconds, and its routes are gone. This cannot be undone. Its log and
          its spend stay, and so its id stays taken, unless you erase them too.
        </p>
        <label class="check">
          <input
            type="checkbox"
            checked={erase}
            onChange={(event) => setErase(event.currentTarget.checked)}
          />
          Also erase its log entries and its spend, here and in the archive
        </label>
      </div>
    </Confirm>
  );
}
