import type { BudgetList, DirectoryOverview, Spend } from '@sluice/shared/admin-api';
import { useMemo, useState } from 'preact/hooks';
import { changeQuery, goTo, type Place } from '../../location.js';
import { useMay } from '../../permissions.js';
import { Field } from '../../ui/field.js';
import { Page } from '../../ui/page.js';
import { Empty, Waiting } from '../../ui/small.js';
import { Table } from '../../ui/table.js';
import { usePoll } from '../../use-poll.js';
import { CreateDialog } from './create-dialog.js';
import { toWorkspaceRows, workspaceColumns } from './workspace-columns.js';
import { WorkspaceView } from './workspace-view.js';

const EVERY_MS = 10_000;

export function WorkspacesPage({ place }: { place: Place }) {
  const directory = usePoll('directory', EVERY_MS, (client, signal) =>
    client.get<DirectoryOverview>('/directory', signal),
  );
  if (place.item !== undefined)
    return <WorkspaceView key={place.item} id={place.item} directory={directory} />;
  return <WorkspaceList place={place} directory={directory} />;
}

type Directory = ReturnType<typeof usePoll<DirectoryOverview>>;

function WorkspaceList({ place, directory }: { place: Place; directory: Directory }) {
  const [creating, setCreating] = useState(false);
  const may = useMay();
  const money = usePoll('money', EVERY_MS, async (client, signal) => {
    const month = new Date().toISOString().slice(0, 7);
    const [spend, budgets] = await Promise.all([
      client.get<Spend>(`/spend?month=${month}&by=workspace`, signal),
      client.get<BudgetList>('/budgets?limit=1000', signal),
    ]);
    return { spend, budgets };
  });
  const rows = useMemo(
    () => (directory.data ? toWorkspaceRows(directory.data, money.data) : []),
    [directory.data, money.data],
  );
  const search = (place.query.search ?? '').toLowerCase();
  const found = rows.filter(({ id, name }) => `${id} ${name}`.toLowerCase().includes(search));
  return (
    <Page
      title="Workspaces"
      intro="A workspace is a team or an application: it has keys, routes, limits and a bill of its own."
      actions={
        may('admin') && (
          <button type="button" class="primary" onClick={() => setCreating(true)}>
            Create a workspace
          </button>
        )
      }
    >
      {rows.length > 0 && (
        <form class="filters" onSubmit={(event) => event.preventDefault()}>
          <Field
            label="Search"
            type="search"
            value={place.query.search ?? ''}
            onInput={(value) => changeQuery(place, { search: value })}
            placeholder="Id or name"
          />
        </form>
      )}
      {!directory.data && <Waiting polled={directory} />}
      {directory.data && found.length === 0 && (
        <Empty title={search === '' ? 'There is no workspace yet.' : 'No workspace matches.'}>
          Create one for each team or application that should call the gateway.
        </Empty>
      )}
      {found.length > 0 && (
        <Table
          caption="Workspaces"
          columns={workspaceColumns}
          rows={found}
          rowKey={({ id }) => id}
          sortBy="id"
          onOpen={({ id }) => goTo({ page: 'workspaces', item: id })}
        />
      )}
      {creating && (
        <CreateDialog
          onClose={() => setCreating(false)}
          onCreated={(id) => {
            goTo({ page: 'workspaces', item: id });
            directory.reload();
          }}
        />
      )}
    </Page>
  );
}
