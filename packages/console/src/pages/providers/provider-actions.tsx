import type { ProviderInfo } from '@sluice/shared/admin-api';
import { useState } from 'preact/hooks';
import { path } from '../../admin-client.js';
import { Confirm } from '../../ui/confirm.js';
import { Dialog } from '../../ui/dialog.js';
import { Field } from '../../ui/field.js';
import { explainFailure, Notice } from '../../ui/small.js';
import { useAction } from '../../ui/use-action.js';
import { ProviderDialog } from './provider-dialog.js';
import { keyMistake } from './provider-form.js';

interface ProviderActionsProps {
  provider: ProviderInfo;
  onDone(): void;
}

/** Change, rotate, remove. Only for a provider that was added: gateway.yaml decides about the others. */
export function ProviderActions({ provider, onDone }: ProviderActionsProps) {
  const { name } = provider;
  const [doing, setDoing] = useState<'change' | 'rotate' | 'remove' | undefined>();
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
      <button
        type="button"
        class="small"
        aria-label={`Replace the key of ${name}`}
        onClick={() => setDoing('rotate')}
      >
        Replace the key
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
      {doing === 'rotate' && <KeyDialog provider={name} onClose={close} onDone={done} />}
      {doing === 'remove' && (
        <Confirm
          title={`Remove ${name}?`}
          verb="Remove the provider"
          work={async (client) => void (await client.send('DELETE', path`/providers/${name}`))}
          onClose={close}
          onDone={done}
        >
          Nobody is called at <code>{provider.address}</code> any more, and its key is forgotten. Calls under
          way end. A provider to which a route leads, or that runs a batch, cannot be removed.
        </Confirm>
      )}
    </>
  );
}

interface KeyDialogProps {
  provider: string;
  onClose(): void;
  onDone(): void;
}

function KeyDialog({ provider, onClose, onDone }: KeyDialogProps) {
  const [key, setKey] = useState('');
  const action = useAction();
  const replace = async (event: Event) => {
    event.preventDefault();
    const body = { api_key: key };
    const send = action.run(async (client) => {
      await client.send('PUT', path`/providers/${provider}/key`, body);
    });
    if (await send) onDone();
  };
  return (
    <Dialog title={`Replace the key of ${provider}`} onClose={onClose}>
      <form onSubmit={replace} noValidate>
        <Field
          label="New key"
          type="password"
          value={key}
          onInput={(text) => setKey(text.trim())}
          mistake={keyMistake(key)}
          hint="Calls under way end with the old key. Revoke that one at the provider a minute later"
          autoFocus
        />
        {action.error && <Notice tone="bad">{explainFailure(action.error)}</Notice>}
        <div class="dialog-end">
          <button
            type="submit"
            class="primary"
            disabled={key === '' || keyMistake(key) !== undefined || action.busy}
          >
            Replace the key
          </button>
        </div>
      </form>
    </Dialog>
  );
}
