import type { GroupMember, PlacedRoute, RouteEntry, RouteTraffic, Status } from '@sluice/shared/admin-api';
import { entriesOf, isGroup } from '@sluice/shared/contract/chain';
import { useState } from 'preact/hooks';
import { count, counted, duration, percent } from '../../format.js';
import { formatPlace } from '../../location.js';
import { useMay } from '../../permissions.js';
import { stateOf } from '../../provider-state.js';
import { Badge, Bar } from '../../ui/small.js';
import { renamesOf } from './route-form.js';
import { RouteHistory } from './route-history.js';

interface RouteCardProps {
  route: PlacedRoute;
  status: Status | undefined;
  traffic: RouteTraffic | undefined;
  mayEdit: boolean;
  onEdit(): void;
  onDelete(): void;
}

export function RouteCard({ route, status, traffic, mayEdit, onEdit, onDelete }: RouteCardProps) {
  const { id, workspace, chain, on_crash, provider_batches, warm_prefix_tokens } = route;
  const [isOpen, setOpen] = useState(false);
  const may = useMay();
  const served = (traffic?.served ?? []).reduce((sum, each) => sum + each, 0);
  return (
    <article class="card route" aria-label={`Route ${id} of ${workspace}`}>
      <header>
        <h3>
          <span class="name">{id}</span> <span class="muted">{workspace}</span>{' '}
          {on_crash === 'fail' && (
            <Badge title="A request whose worker dies in mid-call is not sent again.">fails on a crash</Badge>
          )}
          {on_crash === 'resume' && (
            <Badge title="Another worker asks for the answer of a call whose worker dies, where the provider runs calls in the background.">
              resumes after a crash
            </Badge>
          )}
          {provider_batches && (
            <Badge title="Batches are handed to the batch API of the first provider, at its batch price.">
              provider batches
            </Badge>
          )}
          {warm_prefix_tokens !== null && (
            <Badge title="Requests that begin with the same tokens, so many of them, go where these are cached.">
              warm prefix: {warm_prefix_tokens} tokens
            </Badge>
          )}
        </h3>
        <p class="muted">
          <Figures traffic={traffic} served={served} />{' '}
          <a
            href={formatPlace({ page: 'requests', query: { workspace, route: id } })}
            aria-label={`Requests of ${id}`}
          >
            Requests
          </a>
          {may('admin', workspace) && (
            <>
              {' · '}
              <a
                href={formatPlace({
                  page: 'audit',
                  query: { path: `/workspaces/${workspace}/routes/${id}` },
                })}
                aria-label={`Changes of ${id}`}
              >
                Changes
              </a>
            </>
          )}
        </p>
        {mayEdit && (
          <div class="actions">
            <button type="button" class="small" aria-label={`Edit ${id}`} onClick={onEdit}>
              Edit
            </button>
            <button type="button" class="small danger" aria-label={`Delete ${id}`} onClick={onDelete}>
              Delete
            </button>
          </div>
        )}
      </header>
      <ol class="chain">
        {placed(chain).map(({ entries, first }) => (
          <li key={first} class={entries.length > 1 ? 'group' : undefined}>
            {entries.map((entry, i) => (
              // The same model may stand in a chain twice.
              <Entry
                key={`${i} ${entry.model}`}
                entry={entry}
                share={entries.length > 1 ? shareOf(entry, entries) : undefined}
                status={status}
                served={traffic?.served[first + i] ?? 0}
                of={served}
              />
            ))}
          </li>
        ))}
      </ol>
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>The last hour by entry</summary>
        {isOpen && <RouteHistory workspace={workspace} route={id} />}
      </details>
    </article>
  );
}

function Figures({ traffic, served }: { traffic: RouteTraffic | undefined; served: number }) {
  if (!traffic || traffic.requests === 0) return <>No request lately.</>;
  const { requests, fallbacks, failed } = traffic;
  return (
    <>
      {counted(requests, 'request')}
      {served > 0 && `, ${percent(fallbacks, served)} by fallback`}, {percent(failed, requests)} failed.
    </>
  );
}

/** The entries with the number of each among all models of the chain, as `served` counts them. */
function placed(chain: readonly RouteEntry[]): { entries: GroupMember[]; first: number }[] {
  return chain.map((entry, i) => ({
    entries: isGroup(entry) ? entry.one_of : [entry],
    first: entriesOf(chain.slice(0, i)).length,
  }));
}

function shareOf({ weight = 1 }: GroupMember, group: readonly GroupMember[]): string {
  const all = group.reduce((sum, each) => sum + (each.weight ?? 1), 0);
  return `first for ${percent(weight, all)}`;
}

interface EntryProps {
  entry: GroupMember;
  /** The share of a member of a group. */
  share: string | undefined;
  status: Status | undefined;
  served: number;
  of: number;
}

function Entry({ entry, share, status, served, of }: EntryProps) {
  const { provider, model, timeout_ms, max_tokens, retries, drop } = entry;
  const state = stateOf(
    status?.providers.find(({ name }) => name === provider),
    model,
  );
  const settings = [
    ...(share === undefined ? [] : [share]),
    ...(entry.when === undefined ? [] : ['only for prompts that are too long for the entries before it']),
    ...(timeout_ms === undefined ? [] : [`timeout ${duration(timeout_ms)}`]),
    ...(max_tokens === undefined ? [] : [`max ${count(max_tokens)} tokens`]),
    ...(retries === undefined ? [] : [`${retries} ${retries === 1 ? 'retry' : 'retries'}`]),
    ...(drop === undefined ? [] : [`without ${drop.join(', ')}`]),
    ...renamesOf(entry).map(([field, to]) => `${field} as ${to}`),
  ];
  return (
    <div class="entry">
      <p class="entry-head">
        <span class="muted">{provider}</span>
        {status && <Badge tone={state.tone}>{state.text}</Badge>}
      </p>
      <p class="name">{model}</p>
      <p class="entry-share">
        {of === 0 ? <span class="muted">nothing served lately</span> : <>served {percent(served, of)}</>}
      </p>
      <Bar value={served} max={of} />
      {settings.length > 0 && <p class="hint">{settings.join(', ')}</p>}
    </div>
  );
}
