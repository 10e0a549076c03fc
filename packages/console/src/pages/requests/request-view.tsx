import type { PresentedRequest, TokenType } from '@sluice/shared/admin-api';
import type { ComponentChildren } from 'preact';
import { path } from '../../admin-client.js';
import { count, moment, price, usd } from '../../format.js';
import { statusTone } from '../../outcomes.js';
import { Dialog } from '../../ui/dialog.js';
import { Badge, CopyButton, Notice, Waiting } from '../../ui/small.js';
import { usePoll } from '../../use-poll.js';
import { TimeLine } from './time-line.js';

const TOKENS: readonly (readonly [TokenType, string])[] = [
  ['input', 'Input'],
  ['cached_input', 'Cached input'],
  ['cache_write', 'Cache write'],
  ['cache_write_1h', 'Cache write, 1 hour'],
  ['output', 'Output'],
];

const WAYS = {
  standard: 'the standard tier',
  flex: 'flex',
  provider_batch: 'the provider’s own batch API',
} as const;
const PICODOLLARS_PER_USD_PER_MILLION = 1e6;

interface RequestViewProps {
  /** One request, or two side by side. */
  ids: readonly string[];
  keyName(id: string): string;
  onClose(): void;
  onCompare(): void;
}

/** A request, opened: its way through the gateway and what it cost. */
export function RequestView({ ids, keyName, onClose, onCompare }: RequestViewProps) {
  const isAlone = ids.length === 1;
  return (
    <Dialog
      title={isAlone ? 'Request' : 'Two requests'}
      {...(isAlone ? { side: true } : { wide: true })}
      onClose={onClose}
    >
      <div class={isAlone ? '' : 'columns'}>
        {ids.map((id) => (
          <One key={id} id={id} keyName={keyName} onCompare={isAlone ? onCompare : undefined} />
        ))}
      </div>
    </Dialog>
  );
}

interface OneProps extends Pick<RequestViewProps, 'keyName'> {
  id: string;
  onCompare: (() => void) | undefined;
}

function One({ id, keyName, onCompare }: OneProps) {
  const url = path`/requests/${id}`;
  const found = usePoll(url, 0, (client, signal) => client.get<PresentedRequest>(url, signal));
  return (
    <section aria-label={`Request ${id}`}>
      <p class="row">
        <code class="wrap">{id}</code> <CopyButton text={id} />
        {onCompare && found.data && (
          <button type="button" class="small" onClick={onCompare}>
            Compare with another
          </button>
        )}
      </p>
      {found.data ? (
        <Details request={found.data} keyName={keyName} />
      ) : found.error?.status === 404 ? (
        <Notice tone="warn">
          The log has no request with this id. It may have been dropped because the log is full. A replay of
          an Idempotency-Key is not in the log either: the request that it repeats is.
        </Notice>
      ) : (
        <Waiting polled={found} />
      )}
    </section>
  );
}

function Details({ request, keyName }: { request: PresentedRequest } & Pick<RequestViewProps, 'keyName'>) {
  const { status, code, workspace, key_id, route, model, accepted_at, settled_at } = request;
  return (
    <div class="stack">
      <dl class="facts">
        <Fact name="Status">
          <Badge tone={statusTone(status)}>{code === null ? status : `${status} ${code}`}</Badge>
          {request.fallback_used && <Badge tone="warn">fallback</Badge>}
        </Fact>
        {request.reason_text !== null && <Fact name="Why">{request.reason_text}</Fact>}
        <Fact name="Accepted">{moment(accepted_at)}</Fact>
        <Fact name="Ended">{moment(settled_at)}</Fact>
        <Fact name="Workspace">{workspace}</Fact>
        <Fact name="Key">
          <span title={key_id}>{keyName(key_id)}</span>
        </Fact>
        <Fact name={route === null ? 'Model asked for' : 'Route asked for'}>
          <span class="wrap">{route ?? model}</span>
        </Fact>
        <Fact name="Priority">{request.priority}</Fact>
        {request.plan && (
          <Fact name="Deadline">
            {moment(request.plan.deadline_at)}
            {request.plan.missed && <b class="mistake"> missed</b>}
            {request.plan.via && `; by ${WAYS[request.plan.via]}`}
            {request.plan.standard_usd && `; ${usd(request.plan.standard_usd)} at the standard tier`}
          </Fact>
        )}
        {request.user !== null && (
          <Fact name="End user">
            <span class="wrap">{request.user}</span>
          </Fact>
        )}
        {Object.keys(request.tags).length > 0 && (
          <Fact name="Tags">
            <span class="wrap">
              {Object.entries(request.tags)
                .map(([name, value]) => `${name}=${value}`)
                .join(', ')}
            </span>
          </Fact>
        )}
      </dl>
      <TimeLine request={request} />
      {request.billed === 'unknown' && (
        <Notice tone="warn">
          Some calls ended before the provider sent a bill. They may have cost {usd(request.estimated_usd)}.
          The cost below does not include that.
        </Notice>
      )}
      {request.count > 1 && (
        <Notice tone="warn">
          This is the first of {count(request.count)} refusals of the same kind, logged together; the last was
          at {moment(request.last_at)}.
        </Notice>
      )}
      <Bill request={request} />
    </div>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Bill({ request }: { request: PresentedRequest }) {
  const { usage, price: used, cost_usd, priced, attempts } = request;
  if (!usage) return <p class="muted">The request was not served, so it has no cost.</p>;
  const allowed = attempts.at(-1)?.allowed_output;
  return (
    <section aria-labelledby="bill">
      <h3 id="bill">Tokens and cost</h3>
      {!priced && (
        <Notice tone="warn">
          The registry had no price for this model or its service tier, so its cost is not known.
        </Notice>
      )}
      {allowed !== undefined && (
        <Notice tone="warn">
          The provider reports {count(usage.output)} output tokens, and the call may have written at most{' '}
          {count(allowed)}. The cost is what the provider reports.
        </Notice>
      )}
      <div class="table-wrap">
        <table class="keep">
          <thead>
            <tr>
              <th scope="col">Tokens</th>
              <th scope="col" class="number">
                Count
              </th>
              <th scope="col" class="number">
                Per million
              </th>
              <th scope="col" class="number">
                Cost
              </th>
            </tr>
          </thead>
          <tbody>
            {TOKENS.filter(([type]) => usage[type] > 0 || type === 'input' || type === 'output').map(
              ([type, name]) => (
                <tr key={type}>
                  <th scope="row">{name}</th>
                  <td class="number">{count(usage[type])}</td>
                  <td class="number">{used ? price(used[type] / PICODOLLARS_PER_USD_PER_MILLION) : '–'}</td>
                  <td class="number">{used ? usd((usage[type] * used[type]) / 1e12) : '–'}</td>
                </tr>
              ),
            )}
          </tbody>
          {used?.request !== undefined && (
            <tbody>
              <tr>
                <th scope="row">Fee of the request</th>
                <td />
                <td />
                <td class="number">{usd(used.request / 1e12)}</td>
              </tr>
            </tbody>
          )}
          <tfoot>
            <tr>
              <th scope="row">Cost</th>
              <td />
              <td />
              <td class="number">{priced ? usd(cost_usd) : 'unknown'}</td>
            </tr>
          </tfoot>
        </table>
      </div>
      {used && (
        <p class="hint">
          Price of {used.model}, tier {used.tier}, registry {used.registry}; fixed when the request was
          settled.
        </p>
      )}
    </section>
  );
}
