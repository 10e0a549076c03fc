import type { ProviderInfo } from '@sluice/shared/admin-api';
import { useState } from 'preact/hooks';
import { path } from '../../admin-client.js';
import { Confirm } from '../../ui/confirm.js';
import { KeyDialog } from './key-dialog.js';
import { ProviderDialog } from './provider-dialog.js';

interface ProviderActionsProps {
  provider: ProviderInfo;
  onDone(): void;
}

/** Stores a provider under the name of one of the file, which waits until the file no longer has it. */
export function TakeOver({ provider, onDone }: ProviderActionsProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button
        type="button"
        class="small"
        aria-label={`Take over ${provider.name}`}
        onClick={() => setOpen(true)}
      >
        Take over
      </button>
      {isOpen && (
        <ProviderDialog
          provider={undefined}
          takesOver={provider}
          names={[]}
          onClose={() => setOpen(false)}
          onDone={() => {
            setOpen(false);
            onDone();
          }}
        />
      )}
    </>
  );
}

/** Change, add a key, replace the only one, remove. Only for a provider that was added: gateway.yaml decides about the others. */
export function ProviderActions({ provider, onDone }: ProviderActionsProps) {
  const { name } = provider;
  const [doing, setDoing] = useState<'change' | 'rotate' | 'add' | 'remove' | undefined>();
  const close = () => setDoing(undefined);
  const done = () => {
    close();
    onDone();
  };
  return (
    <>
      <button type="button" class="small" aria-label={`Change ${name}`} onClick={() => setDoing('change')}>
        Change
      </button>
      {provider.credentials === 'stored' && provider.keys.length === 0 && (
        <button
          type="button"
          class="small"
          aria-label={`Replace the key of ${name}`}
          onClick={() => setDoing('rotate')}
        >
          Replace the key
        </button>
      )}
      <button type="button" class="small" aria-label={`Add a key to ${name}`} onClick={() => setDoing('add')}>
        Add a key
      </button>
      <button
        type="button"
        class="small danger"
        aria-label={`Remove ${name}`}
        onClick={() => setDoing('remove')}
      >
        Remove
      </button>
      {doing === 'change' && <ProviderDialog provider={provider} names={[]} onClose={close} onDone={done} />}
      {doing === 'rotate' && <KeyDialog provider={provider} use="only" onClose={close} onDone={done} />}
      {doing === 'add' && <KeyDialog provider={provider} use="new" onClose={close} onDone={done} />}
      {doing === 'remove' && (
        <Confirm
          title={`Remove ${name}?`}
          verb="Remove the provider"
          work={async (client) => void (await client.send('DELETE', path`/providers/${name}`))}
          onClose={close}
          onDone={done}
        >
          The gateway no longer calls <code>{provider.address}</code>, and forgets its key. Calls under way
          finish. A provider to which a route leads, or that runs a batch, cannot be removed.
        </Confirm>
      )}
    </>
  );
}
