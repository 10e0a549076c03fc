import type { Key } from '@sluice/shared/admin-api';
import { path } from '../../admin-client.js';
import { ago } from '../../format.js';
import { Confirm } from '../../ui/confirm.js';

export function RevokeDialog({ apiKey, onClose }: { apiKey: Key; onClose(): void }) {
  const { id, name, workspace, last_four, last_used_at } = apiKey;
  return (
    <Confirm
      title={`Revoke ${name}?`}
      verb="Revoke the key"
      work={async (client) => void (await client.send('DELETE', path`/keys/${id}`))}
      onClose={onClose}
      onDone={onClose}
    >
      The key <code>…{last_four}</code> of workspace <b>{workspace}</b>, last used {ago(last_used_at)}, is
      refused by every api process within two seconds. This cannot be undone: its value cannot be used again.
    </Confirm>
  );
}
