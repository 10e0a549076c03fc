import type { DirectoryOverview, Key } from '@sluice/shared/admin-api';
import { useMemo, useState } from 'preact/hooks';
import { ago, date, moment } from '../../format.js';
import { changeQuery, formatPlace, type Place } from '../../location.js';
import { Field } from '../../ui/field.js';
import { Page } from '../../ui/page.js';
import { Pick } from '../../ui/pick.js';
import { Badge, Empty, Waiting } from '../../ui/small.js';
import { type Column, Table } from '../../ui/table.js';
import { usePoll } from '../../use-poll.js';
import { IssueDialog } from './issue-dialog.js';
import { RevokeDialog } from './revoke-dialog.js';
import { RotateDialog } from './rotate-dialog.js';

const EVERY_MS = 10_000;

type Doing = { what: 'issue' } | { what: 'rotate' | 'revoke'; key: Key };

export function KeysPage({ place }: { place: Place }) {
  const [doing, setDoing] = useState<Doing | undefined>();
  const directory = usePoll('keys', EVERY_MS, (client, signal) =>
    client.get<DirectoryOverview>('/directory', signal),
  );
  const columns = useMemo(() => keyColumns(setDoing), []);
  const workspace = place.query.workspace ?? '';
  const done = () => {
    setDoing(undefined);
    directory.reload();
  };
  const workspaces = directory.data?.workspaces.map(({ id }) => id) ?? [];
  const search = (place.query.search ?? '').toLowerCase();
  const keys = (directory.data?.keys ?? []).filter(
    (key) => (workspace === '' || key.workspace === workspace) && textOf(key).includes(search),
  );
  return (
    <Page
      title="Keys"
      intro="What callers send as their API key. The gateway keeps only a digest of each: nobody can read a key again."
      actions={
        <button
          type="button"
          class="primary"
          disabled={workspaces.length === 0}
          onClick={() => setDoing({ what: 'issue' })}
        >
          Issue a key
        </button>
      }
    >
      {workspaces.length > 0 && (
        <form class="filters" onSubmit={(event) => event.preventDefault()}>
          <Field
            label="Search"
            type="search"
            value={place.query.search ?? ''}
            onInput={(value) => changeQuery(place, { search: value })}
            placeholder="Name, workspace or last four characters"
          />
          <Pick
            label="Workspace"
            value={workspace}
            values={workspaces}
            none="All"
            onChange={(value) => changeQuery(place, { workspace: value })}
          />
        </form>
      )}
      {!directory.data && <Waiting polled={directory} />}
      {directory.data && workspaces.length === 0 && (
        <Empty title="There is no workspace yet.">
          Keys belong to workspaces; <code>sluice workspaces create</code> makes one.
        </Empty>
      )}
      {workspaces.length > 0 && keys.length === 0 && (
        <Empty title={search === '' ? 'No key here.' : 'No key fits.'}>
          Issue one, and give it to a program that should call the gateway.
        </Empty>
      )}
      {keys.length > 0 && (
        <Table caption="Keys" columns={columns} rows={keys} rowKey={({ id }) => id} sortBy="workspace" />
      )}
      {doing?.what === 'issue' && (
        <IssueDialog workspaces={workspaces} workspace={workspace} onClose={done} />
      )}
      {doing?.what === 'rotate' && <RotateDialog apiKey={doing.key} onClose={done} />}
      {doing?.what === 'revoke' && <RevokeDialog apiKey={doing.key} onClose={done} />}
    </Page>
  );
}

function keyColumns(onDo: (doing: Doing) => void): Column<Key>[] {
  return [
    {
      id: 'name',
      label: 'Name',
      head: true,
      cell: ({ name }) => <span class="name">{name}</span>,
      sort: ({ name }) => name,
    },
    {
      id: 'workspace',
      label: 'Workspace',
      cell: ({ workspace }) => workspace,
      sort: ({ workspace }) => workspace,
    },
    { id: 'last-four', label: 'Ends in', cell: ({ last_four }) => <code>…{last_four}</code> },
    {
      id: 'created',
      label: 'Created',
      cell: ({ created_at }) => date(created_at),
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
      cell: ({ priority, max_priority }) =>
        priority === max_priority ? priority : `${priority}, up to ${max_priority}`,
      sort: ({ priority }) => priority,
    },
    { id: 'expires', label: 'Expires', cell: Expiry, sort: ({ expires_at }) => expires_at ?? '9' },
    {
      id: 'change',
      label: 'Change',
      cell: (key) => (
        <span class="row">
          <button
            type="button"
            class="small"
            aria-label={`Rotate ${key.name}`}
            onClick={() => onDo({ what: 'rotate', key })}
          >
            Rotate
          </button>
          <button
            type="button"
            class="small danger"
            aria-label={`Revoke ${key.name}`}
            onClick={() => onDo({ what: 'revoke', key })}
          >
            Revoke
          </button>
        </span>
      ),
    },
  ];
}

function textOf({ name, workspace, last_four }: Key): string {
  return `${name} ${workspace} ${last_four}`.toLowerCase();
}

function Expiry({ expires_at }: Key) {
  if (expires_at === null) return <span class="muted">never</span>;
  const left = Date.parse(expires_at) - Date.now();
  if (left <= 0) return <Badge tone="bad">expired</Badge>;
  return left < 7 * 86_400_000 ? <Badge tone="warn">{moment(expires_at)}</Badge> : moment(expires_at);
}
