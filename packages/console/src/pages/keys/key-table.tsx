import type { Key } from '@sluice/shared/admin-api';
import { classText } from '@sluice/shared/contract/priority';
import { useState } from 'preact/hooks';
import { ago, date, moment } from '../../format.js';
import { formatPlace } from '../../location.js';
import { useMay } from '../../permissions.js';
import { Badge } from '../../ui/small.js';
import { type Column, Table } from '../../ui/table.js';
import { RevokeDialog } from './revoke-dialog.js';
import { RotateDialog } from './rotate-dialog.js';

interface KeyTableProps {
  keys: readonly Key[];
  /** Leaves out the column of the workspace. */
  ofOneWorkspace?: boolean;
  onChanged(): void;
}

/** Keys may have the same name, so each is shown with the last four characters of its value. */
export function KeyTable({ keys, ofOneWorkspace = false, onChanged }: KeyTableProps) {
  const [doing, setDoing] = useState<{ what: 'rotate' | 'revoke'; key: Key } | undefined>();
  const done = () => {
    setDoing(undefined);
    onChanged();
  };
  const change: Column<Key> = {
    id: 'change',
    label: 'Change',
    cell: (key) => <Change apiKey={key} onDo={(what) => setDoing({ what, key })} />,
  };
  const columns = COLUMNS.filter(({ id }) => !(ofOneWorkspace && id === 'workspace'));
  return (
    <>
      <Table
        caption="Keys"
        columns={[...columns, change]}
        rows={keys}
        rowKey={({ id }) => id}
        sortBy={ofOneWorkspace ? 'name' : 'workspace'}
      />
      {doing?.what === 'rotate' && <RotateDialog apiKey={doing.key} onClose={done} />}
      {doing?.what === 'revoke' && <RevokeDialog apiKey={doing.key} onClose={done} />}
    </>
  );
}

const COLUMNS: readonly Column<Key>[] = [
  {
    id: 'name',
    label: 'Name',
    head: true,
    cell: ({ name, last_four }) => (
      <>
        <span class="name">{name}</span> <code class="muted">…{last_four}</code>
      </>
    ),
    sort: ({ name }) => name,
  },
  {
    id: 'workspace',
    label: 'Workspace',
    cell: ({ workspace }) => <a href={formatPlace({ page: 'workspaces', item: workspace })}>{workspace}</a>,
    sort: ({ workspace }) => workspace,
  },
  {
    id: 'created',
    label: 'Created',
    cell: ({ created_at, created_by }) =>
      `${date(created_at)}${created_by === null ? '' : ` by ${created_by}`}`,
    sort: ({ created_at }) => created_at,
  },
  {
    id: 'used',
    label: 'Last used',
    cell: ({ last_used_at, id }) =>
      last_used_at === null ? (
        <span class="muted">never</span>
      ) : (
        <a href={formatPlace({ page: 'requests', query: { key_id: id } })}>{ago(last_used_at)}</a>
      ),
    sort: ({ last_used_at }) => last_used_at ?? '',
  },
  {
    id: 'priority',
    label: 'Priority',
    cell: classText,
    sort: ({ priority }) => priority,
  },
  { id: 'expires', label: 'Expires', cell: Expiry, sort: ({ expires_at }) => expires_at ?? '9' },
];

function Change({ apiKey: key, onDo }: { apiKey: Key; onDo(what: 'rotate' | 'revoke'): void }) {
  const may = useMay();
  if (!may('admin', key.workspace)) return null;
  return (
    <span class="row">
      <button
        type="button"
        class="small"
        aria-label={`Rotate ${key.name} …${key.last_four}`}
        onClick={() => onDo('rotate')}
      >
        Rotate
      </button>
      <button
        type="button"
        class="small danger"
        aria-label={`Revoke ${key.name} …${key.last_four}`}
        onClick={() => onDo('revoke')}
      >
        Revoke
      </button>
    </span>
  );
}

function Expiry({ expires_at }: Key) {
  if (expires_at === null) return <span class="muted">never</span>;
  const left = Date.parse(expires_at) - Date.now();
  if (left <= 0) return <Badge tone="bad">expired</Badge>;
  return left < 7 * 86_400_000 ? <Badge tone="warn">{moment(expires_at)}</Badge> : moment(expires_at);
}
