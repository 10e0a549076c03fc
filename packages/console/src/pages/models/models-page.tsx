import type { DirectoryOverview, ModelList, ModelOffer, Status } from '@sluice/shared/admin-api';
import { useMemo, useState } from 'preact/hooks';
import { count, date } from '../../format.js';
import { changeQuery, type Place } from '../../location.js';
import { useMay } from '../../permissions.js';
import { Field, Select } from '../../ui/field.js';
import { Page } from '../../ui/page.js';
import { Empty, Waiting } from '../../ui/small.js';
import { Table } from '../../ui/table.js';
import { usePoll } from '../../use-poll.js';
import { modelColumns } from './model-columns.js';
import { filterModels, type ModelRow, toModelRows } from './model-rows.js';
import { OverrideDialog } from './override-dialog.js';
import { RefreshDialog } from './refresh-dialog.js';

const EVERY_MS = 15_000;

const KINDS = [
  ['', 'Routes and models'],
  ['routes', 'Routes only'],
  ['direct', 'Direct model ids'],
  ['overridden', 'Overridden'],
  ['deprecated', 'Deprecated'],
  ['unpriced', 'Without a price'],
] as const;

export function ModelsPage({ place }: { place: Place }) {
  const [edited, setEdited] = useState<ModelRow | undefined>();
  const [refreshing, setRefreshing] = useState(false);
  const mayChange = useMay()('admin');
  const known = usePoll('models', EVERY_MS, async (client, signal) => {
    const [models, catalogue, directory, { providers }] = await Promise.all([
      client.get<ModelList>('/models', signal),
      client.get<ModelOffer>('/catalogue', signal),
      client.get<DirectoryOverview>('/directory?keys=false', signal),
      client.get<Status>('/status', signal),
    ]);
    return { rows: toModelRows(models, catalogue, directory, providers), registry: models.registry };
  });
  const columns = useMemo(() => modelColumns(setEdited), []);
  const providers = useMemo(() => choices(known.data?.rows.map((row) => row.provider)), [known.data]);
  const capabilities = useMemo(
    () => choices(known.data?.rows.flatMap((row) => row.facts?.capabilities ?? [])),
    [known.data],
  );
  if (!known.data)
    return (
      <Page title="Models">
        <Waiting polled={known} />
      </Page>
    );
  const { rows, registry } = known.data;
  const filter = {
    search: place.query.search ?? '',
    provider: place.query.provider ?? '',
    kind: place.query.kind ?? '',
    capability: place.query.tag ?? '',
  };
  const set = (name: string) => (value: string) => changeQuery(place, { [name]: value });
  const found = filterModels(rows, filter);
  return (
    <Page
      title="Models"
      intro={
        <>
          Everything a caller may send as <code>model</code>. Prices are USD per million tokens, from registry{' '}
          {registry.version}
          {registry.origin === 'shipped' || registry.refreshed_at === null
            ? ', as shipped'
            : `, refreshed ${date(registry.refreshed_at)}`}
          .
        </>
      }
      actions={
        mayChange && (
          <button type="button" onClick={() => setRefreshing(true)}>
            Refresh the registry
          </button>
        )
      }
    >
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <Field
          label="Search"
          type="search"
          value={filter.search}
          onInput={set('search')}
          placeholder="claude vision"
        />
        <Select label="Show" value={filter.kind} choices={KINDS} onChange={set('kind')} />
        <Select label="Provider" value={filter.provider} choices={providers} onChange={set('provider')} />
        <Select label="Capability" value={filter.capability} choices={capabilities} onChange={set('tag')} />
        <p class="muted found" aria-live="polite">
          {found.length === rows.length
            ? `${count(rows.length)} in all`
            : `${count(found.length)} of ${count(rows.length)}`}
        </p>
      </form>
      {found.length === 0 ? (
        <Empty title="No model matches.">Try fewer words, or another filter.</Empty>
      ) : (
        <Table caption="Models and their prices" columns={columns} rows={found} rowKey={({ key }) => key} />
      )}
      {refreshing && (
        <RefreshDialog
          source={registry.source}
          onClose={() => setRefreshing(false)}
          onDone={() => {
            setRefreshing(false);
            known.reload();
          }}
        />
      )}
      {edited && (
        <OverrideDialog
          row={edited}
          onClose={() => setEdited(undefined)}
          onSaved={() => {
            setEdited(undefined);
            known.reload();
          }}
        />
      )}
    </Page>
  );
}

function choices(values: string[] = []): (readonly [string, string])[] {
  return [['', 'All'], ...[...new Set(values)].sort().map((each) => [each, each] as const)];
}
