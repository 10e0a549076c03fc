import type { RouteTraffic } from '@sluice/shared/admin-api';
import { count, duration, percent } from '../../format.js';
import { formatPlace } from '../../location.js';
import { type Column, Table } from '../../ui/table.js';

const SHOWN = 10;

/** The busiest routes: how fast they are, and how often they fail or fall back. */
export function LiveRoutes({ routes }: { routes: readonly RouteTraffic[] }) {
  if (routes.length === 0) return null;
  const busiest = [...routes].sort((a, b) => b.requests - a.requests).slice(0, SHOWN);
  return (
    <section aria-labelledby="live-routes">
      <h2 id="live-routes">
        Routes{' '}
        {routes.length > SHOWN && (
          <span class="muted">
            the {SHOWN} busiest of {count(routes.length)}
          </span>
        )}
      </h2>
      <Table
        caption="Routes"
        columns={COLUMNS}
        rows={busiest}
        rowKey={({ workspace, route }) => `${workspace} ${route}`}
      />
    </section>
  );
}

const COLUMNS: readonly Column<RouteTraffic>[] = [
  {
    id: 'route',
    label: 'Route',
    head: true,
    cell: ({ workspace, route }) => (
      <>
        <a class="name" href={formatPlace({ page: 'routes', query: { workspace, search: route } })}>
          {route}
        </a>{' '}
        <span class="muted">{workspace}</span>
      </>
    ),
  },
  {
    id: 'requests',
    label: 'Requests',
    numeric: true,
    cell: ({ requests }) => count(requests),
    sort: ({ requests }) => requests,
  },
  {
    id: 'p50',
    label: 'Median',
    numeric: true,
    cell: ({ duration_ms }) => duration(duration_ms.p50),
    sort: ({ duration_ms }) => duration_ms.p50 ?? undefined,
  },
  {
    id: 'p95',
    label: 'p95',
    numeric: true,
    cell: ({ duration_ms }) => duration(duration_ms.p95),
    sort: ({ duration_ms }) => duration_ms.p95 ?? undefined,
  },
  {
    id: 'failed',
    label: 'Failed',
    numeric: true,
    cell: ({ failed, requests }) => percent(failed, requests),
    sort: ({ failed, requests }) => failed / requests,
  },
  {
    id: 'fallback',
    label: 'By fallback',
    numeric: true,
    cell: ({ fallbacks, requests }) => percent(fallbacks, requests),
    sort: ({ fallbacks, requests }) => fallbacks / requests,
  },
];
