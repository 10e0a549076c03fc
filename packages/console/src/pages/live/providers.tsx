import type { ProviderStatus } from '@sluice/shared/admin-api';
import { useState } from 'preact/hooks';
import { type AdminClient, path } from '../../admin-client.js';
import { count, duration, seconds } from '../../format.js';
import { useMay } from '../../permissions.js';
import { stateOf } from '../../provider-state.js';
import { Confirm } from '../../ui/confirm.js';
import { Badge, Bar } from '../../ui/small.js';
import { useAction } from '../../ui/use-action.js';

export function Providers({ providers }: { providers: ProviderStatus[] }) {
  return (
    <section aria-labelledby="providers">
      <h2 id="providers">Providers</h2>
      <div class="cards">
        {providers.map((provider) => (
          <Provider key={provider.name} provider={provider} />
        ))}
      </div>
    </section>
  );
}

function Provider({ provider }: { provider: ProviderStatus }) {
  const { name, kind, active, concurrency, waiting, max_backlog, oldest_waiting_ms, cool_downs } = provider;
  const state = stateOf(provider);
  const mayOperate = useMay()('operator');
  return (
    <article class="card provider">
      <h3>
        {name} {kind !== name && <span class="muted">{kind}</span>}
        <Badge tone={state.tone}>{state.text}</Badge>
      </h3>
      <dl class="facts">
        <div>
          <dt>Active</dt>
          <dd>
            {count(active)} <span class="muted">of {count(concurrency)}</span>
          </dd>
        </div>
        <div>
          <dt>Waiting</dt>
          <dd>
            {count(waiting)} <span class="muted">of {count(max_backlog)}</span>
          </dd>
        </div>
        <div>
          <dt>Oldest waits</dt>
          <dd>{waiting === 0 ? '–' : duration(oldest_waiting_ms)}</dd>
        </div>
      </dl>
      <Bar value={active} max={concurrency} tone={active >= concurrency ? 'warn' : 'info'} />
      {mayOperate && <PauseButton provider={name} paused={provider.paused} />}
      {cool_downs.length > 0 && (
        <ul class="plain small-print">
          {cool_downs.map((coolDown) => (
            <CoolDown
              key={`${coolDown.model} ${coolDown.service_tier}`}
              provider={name}
              mayLift={mayOperate}
              {...coolDown}
            />
          ))}
        </ul>
      )}
    </article>
  );
}

/** The page asks for the status again by itself, and shows then whether the queue is paused. */
function PauseButton({ provider, paused }: { provider: string; paused: boolean }) {
  const [asking, setAsking] = useState(false);
  const action = useAction();
  const verb = paused ? 'Resume' : 'Pause';
  const place = path`/queues/${provider}/` + verb.toLowerCase();
  const send = async (client: AdminClient) => void (await client.send('POST', place));
  const close = () => setAsking(false);
  return (
    <p class="small-print">
      <button
        type="button"
        class="small"
        aria-label={`${verb} the queue of ${provider}`}
        disabled={action.busy}
        onClick={() => (paused ? action.run(send) : setAsking(true))}
      >
        {verb}
      </button>
      {action.error && <span role="alert"> {action.error.message}</span>}
      {asking && (
        <Confirm
          title={`Pause the queue of ${provider}?`}
          verb="Pause the queue"
          otherwise="Leave it open"
          work={send}
          onClose={close}
          onDone={close}
        >
          No worker starts a call to <b>{provider}</b> until somebody resumes the queue. Requests wait for
          their turn; then they go to the next entry of their chain, or fail.
        </Confirm>
      )}
    </p>
  );
}

interface CoolDownProps {
  provider: string;
  model: string | null;
  service_tier: string | null;
  remaining_ms: number;
  mayLift: boolean;
}

/** The page asks for the status again by itself, and shows then that it is lifted. */
function CoolDown({ provider, model, service_tier, remaining_ms, mayLift }: CoolDownProps) {
  const action = useAction();
  const subject = `${model ?? 'all models'}${service_tier === null ? '' : ` (${service_tier})`}`;
  const query = model === null ? '' : `?model=${encodeURIComponent(model)}`;
  const lift = () =>
    action.run(async (client) => void (await client.send('DELETE', path`/cooldowns/${provider}` + query)));
  return (
    <li>
      {subject}:{' '}
      {remaining_ms > 0 ? `left alone for ${seconds(remaining_ms)}` : 'one call at a time tries it'}{' '}
      {mayLift && (
        <button
          type="button"
          class="small"
          aria-label={`Lift the cool-down of ${provider}: ${subject}`}
          disabled={action.busy}
          onClick={lift}
        >
          Lift
        </button>
      )}
      {action.error && <span role="alert"> {action.error.message}</span>}
    </li>
  );
}
