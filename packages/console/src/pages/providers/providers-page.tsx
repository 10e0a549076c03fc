import type { ProviderList, RequestPage, Status } from '@sluice/shared/admin-api';
import { useState } from 'preact/hooks';
import type { Place } from '../../location.js';
import { useMay } from '../../permissions.js';
import { Page } from '../../ui/page.js';
import { Waiting } from '../../ui/small.js';
import { usePoll } from '../../use-poll.js';
import { ProviderCard } from './provider-card.js';
import { ProviderDialog } from './provider-dialog.js';

const EVERY_MS = 2_000;
const FAILURES_EVERY_MS = 10_000;

export function ProvidersPage(_: { place: Place }) {
  const providers = usePoll('providers', EVERY_MS, (client, signal) =>
    client.get<ProviderList>('/providers', signal),
  );
  const status = usePoll('status', EVERY_MS, (client, signal) => client.get<Status>('/status', signal));
  const names = providers.data?.data.map(({ name }) => name) ?? [];
  const failures = usePoll(`failures of ${names.join()}`, FAILURES_EVERY_MS, async (client, signal) => {
    const pages = await Promise.all(
      names.map((name) =>
        client.get<RequestPage>(
          `/requests?provider=${encodeURIComponent(name)}&status=5xx&since=1d&limit=1`,
          signal,
        ),
      ),
    );
    return new Map(names.map((name, i) => [name, pages[i]?.data[0]]));
  });
  const may = useMay();
  const [isAdding, setAdding] = useState(false);
  return (
    <Page
      title="Providers"
      intro="How each provider is reached, what its limits per minute have left, and the state of its keys. Those of gateway.yaml are changed in the file, and those that were added are changed here."
      actions={
        may('admin') &&
        providers.data?.can_add && (
          <button type="button" class="primary" onClick={() => setAdding(true)}>
            Add a provider
          </button>
        )
      }
    >
      {!providers.data && <Waiting polled={providers} />}
      <div class="stack">
        {providers.data?.data.map((provider) => (
          <ProviderCard
            key={provider.name}
            provider={provider}
            status={status.data?.providers.find(({ name }) => name === provider.name)}
            failure={failures.data?.get(provider.name)}
            canAdd={providers.data?.can_add ?? false}
            onChanged={providers.reload}
          />
        ))}
      </div>
      {isAdding && (
        <ProviderDialog
          provider={undefined}
          names={names}
          onClose={() => setAdding(false)}
          onDone={() => {
            setAdding(false);
            providers.reload();
          }}
        />
      )}
    </Page>
  );
}
