import type { ErasedUser } from '@sluice/shared/admin-api';
import { useState } from 'preact/hooks';
import { path } from '../../admin-client.js';
import { counted } from '../../format.js';
import { Dialog } from '../../ui/dialog.js';
import { Field } from '../../ui/field.js';
import { explainFailure, Notice } from '../../ui/small.js';
import { useAction } from '../../ui/use-action.js';
import { useSubmit } from '../../ui/use-submit.js';

export function EraseUserDialog({ workspace, onClose }: { workspace: string; onClose(): void }) {
  const [user, setUser] = useState('');
  const [erased, setErased] = useState<ErasedUser | undefined>();
  const action = useAction();
  const { onSubmit, shown } = useSubmit(user !== '', () => {
    action.run(async (client) =>
      setErased(await client.send<ErasedUser>('DELETE', path`/workspaces/${workspace}/users/${user}`)),
    );
  });
  return (
    <Dialog title="Erase an end user" onClose={onClose}>
      <form onSubmit={onSubmit} noValidate>
        <p>
          Erases one end user of <b>{workspace}</b> from the request log. What their requests cost stays in
          the spend. This cannot be undone.
        </p>
        <Field
          label="End user"
          value={user}
          onInput={setUser}
          mistake={shown(user, user === '' ? 'Name the end user' : undefined)}
          hint="As callers send it, in the field user"
        />
        {erased && (
          <Notice tone="good">
            {counted(erased.log_entries, 'entry', 'entries')} erased
            {erased.archive === 'scheduled' ? '; the archive follows within seconds' : ''}.
          </Notice>
        )}
        {action.error && <Notice tone="bad">{explainFailure(action.error)}</Notice>}
        <div class="dialog-end">
          <button type="button" onClick={onClose}>
            Close
          </button>
          <button type="submit" class="danger" disabled={action.busy}>
            Erase the end user
          </button>
        </div>
      </form>
    </Dialog>
  );
}
