import { useState } from 'preact/hooks';
import { path } from '../../admin-client.js';
import type { Catalogue, Directory, ModelList, Route, Status, Traffic } from '../../admin-types.js';
import { count } from '../../format.js';
import { changeQuery, type Place } from '../../location.js';
import { Confirm } from '../../ui/confirm.js';
import { Field, Select } from '../../ui/field.js';
import { Page } from '../../ui/page.js';
import { Empty, Waiting } from '../../ui/small.js';
import { usePoll } from '../../use-poll.js';
import { RouteCard } from './route-card.js';
import { RouteDialog } from './route-dialog.js';
import { blankForm, type RouteForm, toRouteForm } from './route-form.js';

const EVERY_MS = 2_000;
const SLOWLY_MS = 30_000;
const STEP = 30;

type Doing = { what: 'edit'; form: RouteForm; isNew: boolean } | { what: 'delete'; route: Route };

export function RoutesPage({ place }: { place: Place }) {
  const [doing, setDoing] = useState<Doing | undefined>();
  const [shown, setShown] = useState(STEP);
  const live = usePoll('routes', EVERY_MS, async (client, signal) => {
    const [directory, status, traffic] = await Promise.all([
      client.get<Directory>('/directory', signal),
      client.get<Status>('/status', signal),
      client.get<Traffic>('/traffic?since=15m', signal),
    ]);
    return { directory, status, traffic };
  });
  const known = usePoll('known models', SLOWLY_MS, async (client, signal) => {
    const [models, catalogue] = await Promise.all([
      client.get<ModelList>('/models', signal),
      client.get<Catalogue>('/catalogue', signal),
    ]);
    return { models: models.data, direct: catalogue.data };
  });
  const { search = '', workspace = '' } = place.query;
  const workspaces = live.data?.directory.workspaces.map(({ id }) => id) ?? [];
  const routes = (live.data?.directory.routes ?? []).filter(
    (route) =>
      (workspace === '' || route.workspace === workspace) && textOf(route).includes(search.toLowerCase()),
  );
  const done = () => {
    setDoing(undefined);
    live.reload();
  };
  const create = () =>
    setDoing({ what: 'edit', form: blankForm(workspace || (workspaces[0] ?? '')), isNew: true });

  return (
    <Page
      title="Routes"
      intro="A route is a chain: when an entry fails, the next one serves. Figures are of the last 15 minutes."
      actions={
        <button type="button" class="primary" disabled={workspaces.length === 0} onClick={create}>
          New route
        </button>
      }
    >
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <Field
          label="Search"
          type="search"
          value={search}
          onInput={(value) => changeQuery(place, { search: value })}
          placeholder="Name, provider or model"
        />
        <Select
          label="Workspace"
          value={workspace}
          choices={[['', 'All'], ...workspaces.map((id) => [id, id] as const)]}
          onChange={(value) => changeQuery(place, { workspace: value })}
        />
        <p class="muted found" aria-live="polite">
          {count(routes.length)} routes
        </p>
      </form>
      {!live.data && <Waiting polled={live} />}
      {live.data && routes.length === 0 && (
        <Empty title={live.data.directory.routes.length === 0 ? 'No route yet.' : 'No route fits.'}>
          Callers can still ask for model ids directly, without any fallback.
        </Empty>
      )}
      <div class="stack">
        {routes.slice(0, shown).map((route) => (
          <RouteCard
            key={`${route.workspace} ${route.id}`}
            route={route}
            status={live.data?.status}
            traffic={live.data?.traffic.routes.find(
              (each) => each.workspace === route.workspace && each.route === route.id,
            )}
            onEdit={() => setDoing({ what: 'edit', form: toRouteForm(route), isNew: false })}
            onDelete={() => setDoing({ what: 'delete', route })}
          />
        ))}
      </div>
      {routes.length > shown && (
        <p class="more">
          <button type="button" onClick={() => setShown(shown + STEP)}>
            Show {Math.min(STEP, routes.length - shown)} more of {count(routes.length)}
          </button>
        </p>
      )}
      {doing?.what === 'edit' && live.data && (
        <RouteDialog
          first={doing.form}
          isNew={doing.isNew}
          workspaces={workspaces}
          routes={live.data.directory.routes}
          providers={live.data.status.providers}
          known={known.data}
          onClose={() => setDoing(undefined)}
          onSaved={done}
        />
      )}
      {doing?.what === 'delete' && (
        <DeleteRoute route={doing.route} onClose={() => setDoing(undefined)} onDone={done} />
      )}
    </Page>
  );
}

function DeleteRoute({
  route: { workspace, id },
  onClose,
  onDone,
}: {
  route: Route;
  onClose(): void;
  onDone(): void;
}) {
  return (
    <Confirm
      title={`Delete ${id}?`}
      verb="Delete the route"
      work={async (client) => void (await client.send('DELETE', path`/workspaces/${workspace}/routes/${id}`))}
      onClose={onClose}
      onDone={onDone}
    >
      Callers of workspace <b>{workspace}</b> who ask for <b>{id}</b> are then told that there is no such
      model.
    </Confirm>
  );
}

function textOf({ id, workspace, chain }: Route): string {
  return [id, workspace, ...chain.flatMap(({ provider, model }) => [provider, model])]
    .join(' ')
    .toLowerCase();
}
