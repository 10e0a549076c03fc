import type { AdminToken, DirectoryOverview, List } from '@sluice/shared/admin-api';
import { useMemo, useState } from 'preact/hooks';
import { path } from '../../admin-client.js';
import { ago, date } from '../../format.js';
import { Confirm } from '../../ui/confirm.js';
import { Page } from '../../ui/page.js';
import { Badge, Empty, Waiting } from '../../ui/small.js';
import { type Column, Table } from '../../ui/table.js';
import { usePoll } from '../../use-poll.js';
import { Sessions } from './sessions.js';
import { TokenDialog } from './token-dialog.js';

const EVERY_MS = 10_000;
const SLOWLY_MS = 60_000;

type Doing = { what: 'create' } | { what: 'revoke'; token: AdminToken };

export function AccessPage() {
  const [doing, setDoing] = useState<Doing | undefined>();
  const tokens = usePoll('tokens', EVERY_MS, (client, signal) =>
    client.get<List<AdminToken>>('/tokens', signal),
  );
  const directory = usePoll('workspaces', SLOWLY_MS, (client, signal) =>
    client.get<DirectoryOverview>('/directory?keys=false', signal),
  );
  const columns = useMemo(() => tokenColumns((token) => setDoing({ what: 'revoke', token })), []);
  const done = () => {
    setDoing(undefined);
    tokens.reload();
  };
  return (
    <Page
      title="Access"
      intro="Tokens for programs that use the admin api, and the people who are signed in to this console."
      actions={
        <button type="button" class="primary" onClick={() => setDoing({ what: 'create' })}>
          Create a token
        </button>
      }
    >
      <section aria-labelledby="tokens">
        <h2 id="tokens">Tokens</h2>
        {!tokens.data && <Waiting polled={tokens} />}
        {tokens.data?.data.length === 0 && (
          <Empty title="There is no token yet.">
            Whoever has ADMIN_TOKEN may do everything. Give each program a token of its own instead.
          </Empty>
        )}
        {tokens.data && tokens.data.data.length > 0 && (
          <Table
            caption="Tokens"
            columns={columns}
            rows={tokens.data.data}
            rowKey={({ id }) => id}
            sortBy="name"
          />
        )}
      </section>
      {doing?.what === 'create' && (
        <TokenDialog workspaces={directory.data?.workspaces.map(({ id }) => id) ?? []} onClose={done} />
      )}
      {doing?.what === 'revoke' && (
        <Confirm
          title={`Revoke ${doing.token.name}?`}
          verb="Revoke the token"
          work={async (client) => void (await client.send('DELETE', path`/tokens/${doing.token.id}`))}
          onClose={() => setDoing(undefined)}
          onDone={done}
        >
          The token <code>…{doing.token.last_four}</code>, last used {ago(doing.token.last_used_at)}, is
          refused from now on, and sessions that were begun with it end. This cannot be undone.
        </Confirm>
      )}
      <Sessions />
    </Page>
  );
}

function tokenColumns(onRevoke: (token: AdminToken) => void): Column<AdminToken>[] {
  return [
    {
      id: 'name',
      label: 'Name',
      head: true,
      cell: ({ name }) => <span class="name">{name}</span>,
      sort: ({ name }) => name,
    },
    { id: 'role', label: 'Role', cell: ({ role }) => <Badge>{role}</Badge>, sort: ({ role }) => role },
    {
      id: 'workspaces',
      label: 'Workspaces',
      cell: ({ workspaces }) => workspaces?.join(', ') ?? 'the whole gateway',
    },
    { id: 'last-four', label: 'Ends in', cell: ({ last_four }) => <code>…{last_four}</code> },
    {
      id: 'created',
      label: 'Created',
      cell: ({ created_at, created_by }) => `${date(created_at)} by ${created_by}`,
      sort: ({ created_at }) => created_at,
    },
    { id: 'used', label: 'Last used', cell: ({ last_used_at }) => ago(last_used_at) },
    {
      id: 'expires',
      label: 'Expires',
      cell: ({ expires_at }) => (expires_at === null ? 'never' : date(expires_at)),
      sort: ({ expires_at }) => expires_at ?? '9',
    },
    {
      id: 'change',
      label: 'Change',
      cell: (token) => (
        <button
          type="button"
          class="small danger"
          aria-label={`Revoke ${token.name}`}
          onClick={() => onRevoke(token)}
        >
          Revoke
        </button>
      ),
    },
  ];
}
