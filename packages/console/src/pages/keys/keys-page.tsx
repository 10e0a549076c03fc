import type { DirectoryOverview, Key } from '@sluice/shared/admin-api';
import { useState } from 'preact/hooks';
import { changeQuery, type Place } from '../../location.js';
import { useMay } from '../../permissions.js';
import { Field } from '../../ui/field.js';
import { Page } from '../../ui/page.js';
import { Pick } from '../../ui/pick.js';
import { Empty, Waiting } from '../../ui/small.js';
import { usePoll } from '../../use-poll.js';
import { IssueDialog } from './issue-dialog.js';
import { KeyTable } from './key-table.js';

const EVERY_MS = 10_000;

export function KeysPage({ place }: { place: Place }) {
  const [issuing, setIssuing] = useState(false);
  const may = useMay();
  const directory = usePoll('keys', EVERY_MS, (client, signal) =>
    client.get<DirectoryOverview>('/directory', signal),
  );
  const workspace = place.query.workspace ?? '';
  const done = () => {
    setIssuing(false);
    directory.reload();
  };
  const workspaces = directory.data?.workspaces.map(({ id }) => id) ?? [];
  const own = workspaces.filter((id) => may('admin', id));
  const search = (place.query.search ?? '').toLowerCase();
  const keys = (directory.data?.keys ?? []).filter(
    (key) => (workspace === '' || key.workspace === workspace) && textOf(key).includes(search),
  );
  return (
    <Page
      title="Keys"
      intro="What callers send as their API key. The gateway keeps only a digest of each: nobody can read a key again."
      actions={
        own.length > 0 && (
          <button type="button" class="primary" onClick={() => setIssuing(true)}>
            Issue a key
          </button>
        )
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
          Keys belong to workspaces. <a href="#/workspaces">Create one</a> first.
        </Empty>
      )}
      {workspaces.length > 0 && keys.length === 0 && (
        <Empty title={search === '' ? 'No key here.' : 'No key matches.'}>
          Issue one, and give it to a program that should call the gateway.
        </Empty>
      )}
      {keys.length > 0 && <KeyTable keys={keys} onChanged={directory.reload} />}
      {issuing && (
        <IssueDialog workspaces={own} workspace={own.includes(workspace) ? workspace : ''} onClose={done} />
      )}
    </Page>
  );
}

function textOf({ name, workspace, last_four }: Key): string {
  return `${name} ${workspace} ${last_four}`.toLowerCase();
}
