import type { PresentedRequest } from '@sluice/shared/admin-api';
import { count, duration, moment, NOTHING, usd } from '../../format.js';
import { formatPlace, type Place } from '../../location.js';
import { statusTone } from '../../outcomes.js';
import { Badge } from '../../ui/small.js';
import type { Column } from '../../ui/table.js';

/** `keyName` names a key by its id. */
export function requestColumns(place: Place, keyName: (id: string) => string): Column<PresentedRequest>[] {
  return [
    {
      id: 'time',
      label: 'Ended',
      head: true,
      cell: ({ id, settled_at }) => (
        <a
          class="mono"
          href={formatPlace({ ...place, item: id })}
          aria-label={`Request ${id}, ${moment(settled_at)}`}
        >
          {moment(settled_at)}
        </a>
      ),
    },
    { id: 'status', label: 'Status', cell: Outcome },
    {
      id: 'workspace',
      label: 'Workspace',
      cell: ({ workspace, key_id }) => (
        <>
          {workspace}
          <span class="under nowrap">{keyName(key_id)}</span>
        </>
      ),
    },
    {
      id: 'asked',
      label: 'Asked for',
      cell: ({ model, route }) => (route ? <b>{route}</b> : <span class="wrap">{model}</span>),
    },
    { id: 'served', label: 'Served by', cell: Server },
    { id: 'took', label: 'Took', numeric: true, cell: (request) => duration(tookMs(request)) },
    { id: 'queue', label: 'Queued', numeric: true, cell: ({ queue_ms }) => duration(queue_ms) },
    { id: 'tokens', label: 'Tokens in / out', numeric: true, cell: Tokens },
    { id: 'cost', label: 'Cost', numeric: true, cell: Cost },
  ];
}

export function tookMs({ accepted_at, settled_at }: PresentedRequest): number {
  return Date.parse(settled_at) - Date.parse(accepted_at);
}

function Outcome({ status, code, count: requests }: PresentedRequest) {
  return (
    <>
      <Badge tone={statusTone(status)}>{code === null ? status : `${status} ${code}`}</Badge>
      {requests > 1 && ` × ${count(requests)}`}
    </>
  );
}

function Server(request: PresentedRequest) {
  const { provider, provider_model, usage } = request;
  if (provider === null) return <span class="muted">{NOTHING}</span>;
  return (
    <span class={usage === null ? 'muted' : ''}>
      <span class="muted">{provider}/</span>
      {provider_model} {request.fallback_used && <Badge tone="warn">fallback</Badge>}
    </span>
  );
}

function Tokens({ usage }: PresentedRequest) {
  if (!usage) return NOTHING;
  const input = usage.input + usage.cached_input + usage.cache_write + usage.cache_write_1h;
  return `${count(input)} / ${count(usage.output)}`;
}

function Cost({ usage, priced, cost_usd }: PresentedRequest) {
  if (!usage) return NOTHING;
  return priced ? usd(cost_usd) : <Badge tone="warn">no price</Badge>;
}
