import type { ProviderStatus } from '../../admin-types.js';
import { count, duration } from '../../format.js';
import { stateOf } from '../../provider-state.js';
import { Badge, Bar } from '../../ui/small.js';

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
      {cool_downs.length > 0 && (
        <ul class="plain small-print">
          {cool_downs.map(({ model, remaining_ms }) => (
            <li key={model ?? ''}>
              {model ?? 'all models'}: left alone for {duration(Math.max(0, remaining_ms))}
            </li>
          ))}
        </ul>
      )}
    </article>
  );
}
