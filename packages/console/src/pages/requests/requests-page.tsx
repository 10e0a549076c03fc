import type { DirectoryOverview, PresentedRequest, RequestPage, Status } from '@sluice/shared/admin-api';
import { useMemo, useRef, useState } from 'preact/hooks';
import { changeQuery, formatPlace, goTo, type Place } from '../../location.js';
import { download } from '../../ui/download.js';
import { Page } from '../../ui/page.js';
import { Empty, explainFailure, Notice, Waiting } from '../../ui/small.js';
import { Table } from '../../ui/table.js';
import { useAction } from '../../ui/use-action.js';
import { usePoll } from '../../use-poll.js';
import { keyNames } from './key-names.js';
import { requestColumns } from './request-columns.js';
import { FILTERS, RequestFilters } from './request-filters.js';
import { RequestView } from './request-view.js';

const EVERY_MS = 2_000;
/** A phone has room for few. */
const PAGE_SIZE = matchMedia('(max-width: 700px)').matches ? 20 : 50;

export function RequestsPage({ place }: { place: Place }) {
  const [paused, setPaused] = useState(false);
  const filters = FILTERS.filter((name) => place.query[name]).map((name) => [name, place.query[name] ?? '']);
  const query = new URLSearchParams(filters).toString();
  /** Cursors of the pages that were left behind; empty on the newest. They are for one question, and Back asks another. */
  const [left, setLeft] = useState<{ query: string; trail: string[] }>({ query, trail: [] });
  const trail = left.query === query ? left.trail : [];
  const setTrail = (trail: string[]) => setLeft({ query, trail });
  const before = trail.at(-1);
  const isOver = Date.parse(place.query.until ?? '') < Date.now();
  const isLive = !paused && before === undefined && !isOver;
  const params = new URLSearchParams([
    ...filters,
    ['limit', String(PAGE_SIZE)],
    ...(before ? [['before', before]] : []),
  ]);
  const log = usePoll(params.toString(), isLive ? EVERY_MS : 0, (client, signal) =>
    client.get<RequestPage>(`/requests?${params}`, signal),
  );
  const choices = usePoll('choices', 60_000, async (client, signal) => {
    const [directory, status] = await Promise.all([
      client.get<DirectoryOverview>('/directory', signal),
      client.get<Status>('/status', signal),
    ]);
    return { directory, providers: status.providers.map(({ name }) => name) };
  });
  const action = useAction();
  const keyName = useMemo(() => keyNames(choices.data?.directory), [choices.data]);
  const columns = useMemo(() => requestColumns(place, keyName), [place, keyName]);
  const { compare } = place.query;
  const open = ({ id }: PresentedRequest) => goTo({ ...place, item: id });
  const saveCsv = () =>
    action.run(async (client) => {
      const wanted = new URLSearchParams([...filters.filter(([name]) => name !== 'sort'), ['format', 'csv']]);
      const response = await client.fetch(`/requests/export?${wanted}`);
      download('requests.csv', await response.blob());
    });
  /** Whether a request was opened from this list: then closing it is going back, and Back does not open it again. */
  const wasList = useRef(false);
  if (place.item === undefined) wasList.current = true;
  const close = () => {
    if (wasList.current && !compare) history.back();
    else goTo({ page: place.page, query: { ...place.query, compare: '' } });
  };
  const filter = (change: Record<string, string>) => {
    setTrail([]);
    changeQuery(place, change);
  };

  return (
    <Page
      title="Requests"
      intro={
        before
          ? 'An older page of the log.'
          : isLive
            ? 'Newest first; updates by itself.'
            : isOver
              ? 'Newest first, in the chosen time.'
              : 'Newest first; paused.'
      }
      actions={
        <>
          {before === undefined && !isOver && (
            <button type="button" aria-pressed={paused} onClick={() => setPaused(!paused)}>
              {paused ? 'Resume' : 'Pause'}
            </button>
          )}
          <button type="button" disabled={action.busy} onClick={saveCsv}>
            {action.busy ? 'Exporting …' : 'Download CSV'}
          </button>
        </>
      }
    >
      <RequestFilters query={place.query} choices={choices.data} onChange={filter} />
      {action.error && <Notice tone="bad">{explainFailure(action.error)}</Notice>}
      {log.data && !log.data.complete && (
        <Notice tone="warn">Older requests may be missing here. {log.data.problem}</Notice>
      )}
      {compare && place.item === undefined && (
        <Notice tone="info">
          Open the request to compare with <code>{compare}</code>.{' '}
          <button type="button" class="small" onClick={() => changeQuery(place, { compare: '' })}>
            Do not compare
          </button>
        </Notice>
      )}
      {log.data && log.data.data.length > 0 && (
        <Table
          caption="Requests"
          look="requests"
          columns={columns}
          rows={log.data.data}
          rowKey={({ id }) => id}
          onOpen={open}
        />
      )}
      {log.data?.data.length === 0 && <NoRequests filtered={query !== ''} />}
      {(!log.data || (log.error && !log.error.isAway)) && <Waiting polled={log} />}
      {(before !== undefined || log.data?.has_more) && (
        <nav class="row" aria-label="Pages of the log">
          {before !== undefined && (
            <>
              <button type="button" onClick={() => setTrail([])}>
                Newest
              </button>
              <button type="button" onClick={() => setTrail(trail.slice(0, -1))}>
                Newer
              </button>
            </>
          )}
          {log.data?.has_more && (
            <button type="button" onClick={() => setTrail([...trail, log.data?.next_before ?? ''])}>
              Older
            </button>
          )}
        </nav>
      )}
      {place.item !== undefined && (
        <RequestView
          key={`${place.item} ${compare}`}
          ids={compare && compare !== place.item ? [compare, place.item] : [place.item]}
          keyName={keyName}
          onClose={close}
          onCompare={() => goTo({ page: place.page, query: { ...place.query, compare: place.item ?? '' } })}
        />
      )}
    </Page>
  );
}

function NoRequests({ filtered }: { filtered: boolean }) {
  if (filtered)
    return (
      <Empty title="No request matches these filters.">
        <a href={formatPlace({ page: 'requests' })}>Show all requests</a>
      </Empty>
    );
  return (
    <Empty title="No request yet.">
      Every answered request appears here. <a href="#/playground">Send one from the playground</a>
    </Empty>
  );
}
