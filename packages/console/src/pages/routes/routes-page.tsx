import type {
  DirectoryOverview,
  ModelList,
  ModelOffer,
  PlacedRoute,
  Status,
  TrafficReport,
} from '@sluice/shared/admin-api';
import { entriesOf } from '@sluice/shared/contract/chain';
import { useMemo, useState } from 'preact/hooks';
import { path } from '../../admin-client.js';
import { count, counted } from '../../format.js';
import { changeQuery, formatPlace, type Place } from '../../location.js';
import { useMay } from '../../permissions.js';
import { Confirm } from '../../ui/confirm.js';
import { Field } from '../../ui/field.js';
import { Page } from '../../ui/page.js';
import { Pick } from '../../ui/pick.js';
import { Empty, Waiting } from '../../ui/small.js';
import { usePoll } from '../../use-poll.js';
import { RouteCard } from './route-card.js';
import { RouteDialog } from './route-dialog.js';
import { blankForm, type RouteForm, toRouteForm } from './route-form.js';

const EVERY_MS = 2_000;
const ROUTES_EVERY_MS = 5_000;
const SLOWLY_MS = 30_000;
const STEP = 30;

type Doing = { what: 'edit'; form: RouteForm; isNew: boolean } | { what: 'delete'; route: PlacedRoute };

export function RoutesPage({ place }: { place: Place }) {
  const [doing, setDoing] = useState<Doing | undefined>();
  const [shown, setShown] = useState(STEP);
  const directory = usePoll('routes', ROUTES_EVERY_MS, (client, signal) =>
    client.get<DirectoryOverview>('/directory?keys=false', signal),
  );
  const live = usePoll('live', EVERY_MS, async (client, signal) => {
    const [status, traffic] = await Promise.all([
      client.get<Status>('/status', signal),
      client.get<TrafficReport>('/traffic?since=15m', signal),
    ]);
    return {
      status,
      traffic: new Map(traffic.routes.map((each) => [keyOf(each.workspace, each.route), each])),
    };
  });
  const known = usePoll('known models', SLOWLY_MS, async (client, signal) => {
    const [models, catalogue] = await Promise.all([
      client.get<ModelList>('/models', signal),
      client.get<ModelOffer>('/catalogue', signal),
    ]);
    return { models: models.data, direct: catalogue.data };
  });
  const { search = '', workspace = '' } = place.query;
  const all = directory.data?.routes ?? [];
  const workspaces = useMemo(() => directory.data?.workspaces.map(({ id }) => id) ?? [], [directory.data]);
  const routes = all.filter(
    (route) =>
      (workspace === '' || route.workspace === workspace) && textOf(route).includes(search.toLowerCase()),
  );
  const may = useMay();
  const editable = workspaces.filter((id) => may('operator', id));
  const done = () => {
    setDoing(undefined);
    directory.reload();
  };
  const create = () => {
    const first = editable.includes(workspace) ? workspace : (editable[0] ?? '');
    setDoing({ what: 'edit', form: blankForm(first), isNew: true });
  };

  return (
    <Page
      title="Routes"
      intro="A route is a chain: when an entry fails, the next one serves. Figures are of the last 15 minutes."
      actions={
        editable.length > 0 &&
        live.data && (
          <button type="button" class="primary" onClick={create}>
            New route
          </button>
        )
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
        <Pick
          label="Workspace"
          value={workspace}
          values={workspaces}
          none="All"
          onChange={(value) => changeQuery(place, { workspace: value })}
        />
        <p class="muted found" aria-live="polite">
          {directory.data && counted(routes.length, 'route')}
        </p>
      </form>
      {!directory.data && <Waiting polled={directory} />}
      {directory.data && !live.data && <Waiting polled={live} />}
      {directory.data && routes.length === 0 && (
        <Empty title={all.length === 0 ? 'No route yet.' : 'No route matches.'}>
          Callers can still ask for model ids directly, without any fallback.
        </Empty>
      )}
      {groupBy(routes.slice(0, shown)).map(([owner, own]) => (
        <section key={owner} class="stack" aria-label={`Routes of ${owner}`}>
          <h2>
            <a href={formatPlace({ page: 'workspaces', item: owner })}>{owner}</a>
          </h2>
          {own.map((route) => (
            <RouteCard
              key={keyOf(route.workspace, route.id)}
              route={route}
              status={live.data?.status}
              traffic={live.data?.traffic.get(keyOf(route.workspace, route.id))}
              // The editor needs the names of the providers.
              mayEdit={live.data !== undefined && may('operator', route.workspace)}
              onEdit={() => setDoing({ what: 'edit', form: toRouteForm(route), isNew: false })}
              onDelete={() => setDoing({ what: 'delete', route })}
            />
          ))}
        </section>
      ))}
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
          workspaces={editable}
          routes={all}
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
  route: PlacedRoute;
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

/** Routes of one workspace stand together. */
function groupBy(routes: readonly PlacedRoute[]): [workspace: string, routes: PlacedRoute[]][] {
  const groups = new Map<string, PlacedRoute[]>();
  for (const route of routes) groups.set(route.workspace, [...(groups.get(route.workspace) ?? []), route]);
  return [...groups];
}

/** Neither can have a space. */
function keyOf(workspace: string, route: string): string {
  return `${workspace} ${route}`;
}

function textOf({ id, workspace, chain }: PlacedRoute): string {
  return [id, workspace, ...entriesOf(chain).flatMap(({ provider, model }) => [provider, model])]
    .join(' ')
    .toLowerCase();
}
