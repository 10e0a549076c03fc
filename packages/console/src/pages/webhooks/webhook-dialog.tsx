import type { CreatedWebhook } from '@sluice/shared/admin-api';
import { useState } from 'preact/hooks';
import { path } from '../../admin-client.js';
import { Dialog } from '../../ui/dialog.js';
import { Field } from '../../ui/field.js';
import { CopyButton, explainFailure, Notice } from '../../ui/small.js';
import { useAction } from '../../ui/use-action.js';
import { useSubmit } from '../../ui/use-submit.js';

export function WebhookDialog({ workspace, onClose }: { workspace: string; onClose(): void }) {
  const [url, setUrl] = useState('');
  const [created, setCreated] = useState<CreatedWebhook | undefined>();
  const action = useAction();
  const isValid = URL.canParse(url);
  const { onSubmit, shown } = useSubmit(isValid, () => {
    const place = path`/workspaces/${workspace}/webhooks`;
    action.run(async (client) => setCreated(await client.send<CreatedWebhook>('POST', place, { url })));
  });
  return (
    <Dialog title={created ? 'The webhook’s secret' : 'Add a webhook'} onClose={onClose}>
      {created ? (
        <div class="stack">
          <Notice tone="good">This secret checks signatures. Copy it now: it is shown only this once.</Notice>
          <p class="secret">
            <code>{created.secret}</code>
          </p>
          <div class="dialog-end">
            <CopyButton text={created.secret} label="Copy the secret" />
            <button type="button" class="primary" onClick={onClose}>
              Done
            </button>
          </div>
        </div>
      ) : (
        <form onSubmit={onSubmit} noValidate>
          <Field
            label="Address"
            value={url}
            onInput={setUrl}
            mistake={shown(url, isValid ? undefined : 'An address with https')}
            hint="It gets a signed POST for every batch and every request in the background that has ended"
          />
          {action.error && <Notice tone="bad">{explainFailure(action.error)}</Notice>}
          <div class="dialog-end">
            <button type="submit" class="primary" disabled={action.busy}>
              Add the webhook
            </button>
          </div>
        </form>
      )}
    </Dialog>
  );
}
