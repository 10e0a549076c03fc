import type { List, OpenSession } from '@sluice/shared/admin-api';
import { useState } from 'preact/hooks';
import { path } from '../../admin-client.js';
import { ago, moment } from '../../format.js';
import { Confirm } from '../../ui/confirm.js';
import { Badge, Empty, Waiting } from '../../ui/small.js';
import { type Column, Table } from '../../ui/table.js';
import { usePoll } from '../../use-poll.js';

const EVERY_MS = 10_000;

/** The sessions of people who are signed in with a browser. Each can be ended. */
export function Sessions() {
  const [ending, setEnding] = useState<OpenSession | undefined>();
  const sessions = usePoll('sessions', EVERY_MS, (client, signal) =>
    client.get<List<OpenSession>>('/sessions', signal),
  );
  const change: Column<OpenSession> = {
    id: 'change',
    label: 'Change',
    cell: (session) =>
      session.own ? (
        <Badge>this browser</Badge>
      ) : (
        <button
          type="button"
          class="small danger"
          aria-label={`End the session of ${session.name}, ${moment(session.signed_in_at)}`}
          onClick={() => setEnding(session)}
        >
          End
        </button>
      ),
  };
  return (
    <section aria-labelledby="sessions">
      <h2 id="sessions">Signed in</h2>
      {!sessions.data && <Waiting polled={sessions} />}
      {sessions.data?.data.length === 0 && <Empty title="Nobody is signed in with a browser." />}
      {sessions.data && sessions.data.data.length > 0 && (
        <Table
          caption="Sessions"
          columns={[...COLUMNS, change]}
          rows={sessions.data.data}
          rowKey={({ id }) => id}
        />
      )}
      {ending && (
        <Confirm
          title={`End the session of ${ending.name}?`}
          verb="End the session"
          work={async (client) => void (await client.send('DELETE', path`/sessions/${ending.id}`))}
          onClose={() => setEnding(undefined)}
          onDone={() => {
            setEnding(undefined);
            sessions.reload();
          }}
        >
          This browser has to sign in again. To keep the person out, also take away the group or the token by
          which they signed in.
        </Confirm>
      )}
    </section>
  );
}

const COLUMNS: readonly Column<OpenSession>[] = [
  { id: 'who', label: 'Who', head: true, cell: ({ name }) => <span class="name">{name}</span> },
  { id: 'way', label: 'Signed in by', cell: ({ way }) => way },
  {
    id: 'roles',
    label: 'Roles',
    cell: ({ grants }) =>
      grants
        .map(({ role, workspaces }) => `${role} of ${workspaces?.join(', ') ?? 'the whole gateway'}`)
        .join('; '),
  },
  { id: 'from', label: 'From', cell: ({ address }) => address },
  { id: 'since', label: 'Since', cell: ({ signed_in_at }) => moment(signed_in_at) },
  { id: 'seen', label: 'Last seen', cell: ({ seen_at }) => ago(seen_at) },
];
