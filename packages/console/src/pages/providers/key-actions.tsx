import type { ProviderInfo } from '@sluice/shared/admin-api';
import { useState } from 'preact/hooks';
import { path } from '../../admin-client.js';
import { Confirm } from '../../ui/confirm.js';
import { KeyDialog } from './key-dialog.js';

interface KeyActionsProps {
  provider: ProviderInfo;
  /** The name of one of its keys. */
  name: string;
  onDone(): void;
}

/** Change and remove, for one of several keys of a provider that was added. */
export function KeyActions({ provider, name, onDone }: KeyActionsProps) {
  const [doing, setDoing] = useState<'change' | 'remove' | undefined>();
  const close = () => setDoing(undefined);
  const done = () => {
    close();
    onDone();
  };
  return (
    <>
      <button
        type="button"
        class="small"
        aria-label={`Change key ${name} of ${provider.name}`}
        onClick={() => setDoing('change')}
      >
        Change
      </button>{' '}
      <button
        type="button"
        class="small danger"
        aria-label={`Remove key ${name} of ${provider.name}`}
        onClick={() => setDoing('remove')}
      >
        Remove
      </button>
      {doing === 'change' && <KeyDialog provider={provider} use={{ name }} onClose={close} onDone={done} />}
      {doing === 'remove' && (
        <Confirm
          title={`Remove key ${name} of ${provider.name}?`}
          verb="Remove the key"
          work={async (client) =>
            void (await client.send('DELETE', path`/providers/${provider.name}/keys/${name}`))
          }
          onClose={close}
          onDone={done}
        >
          Calls under way end with it, and those that wait take another key. The only key of a provider cannot
          be removed, nor one that a batch needs.
        </Confirm>
      )}
    </>
  );
}
