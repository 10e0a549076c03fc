import type { DirectoryOverview, List, WebhookDelivery, WebhookView } from '@sluice/shared/admin-api';
import { useState } from 'preact/hooks';
import { path } from '../../admin-client.js';
import { ago, moment, NOTHING } from '../../format.js';
import type { Place } from '../../location.js';
import { useMay } from '../../permissions.js';
import { Confirm } from '../../ui/confirm.js';
import { Page } from '../../ui/page.js';
import { Pick } from '../../ui/pick.js';
import { Badge, Empty, explainFailure, Notice, Waiting } from '../../ui/small.js';
import { type Column, Table } from '../../ui/table.js';
import { useAction } from '../../ui/use-action.js';
import { usePoll } from '../../use-poll.js';
import { WebhookDialog } from './webhook-dialog.js';

const EVERY_MS = 5_000;
const SLOWLY_MS = 60_000;

export function WebhooksPage(_: { place: Place }) {
  const may = useMay();
  const [chosen, setChosen] = useState('');
  const [adding, setAdding] = useState(false);
  const directory = usePoll('workspaces', SLOWLY_MS, (client, signal) =>
    client.get<DirectoryOverview>('/directory?keys=false', signal),
  );
  const workspaces = (directory.data?.workspaces ?? [])
    .map(({ id }) => id)
    .filter((id) => may('operator', id));
  const workspace = chosen || workspaces[0];
  return (
    <Page
      title="Webhooks"
      intro="Addresses that are told how batches and requests in the background ended, and what was sent to them."
      actions={
        workspace !== undefined && (
          <button type="button" class="primary" onClick={() => setAdding(true)}>
            Add a webhook
          </button>
        )
      }
    >
      {!directory.data && <Waiting polled={directory} />}
      {directory.data && workspaces.length === 0 && <Empty title="There is no workspace to show." />}
      {workspaces.length > 1 && workspace !== undefined && (
        <div class="filters">
          <Pick label="Workspace" value={workspace} values={workspaces} onChange={setChosen} />
        </div>
      )}
      {workspace !== undefined && (
        <Webhooks key={workspace} workspace={workspace} isAdding={adding} onAdded={() => setAdding(false)} />
      )}
    </Page>
  );
}

interface WebhooksProps {
  workspace: string;
  isAdding: boolean;
  onAdded(): void;
}

function Webhooks({ workspace, isAdding, onAdded }: WebhooksProps) {
  const [removing, setRemoving] = useState<WebhookView | undefined>();
  const webhooks = usePoll(`webhooks ${workspace}`, EVERY_MS, (client, signal) =>
    client.get<List<WebhookView>>(path`/workspaces/${workspace}/webhooks`, signal),
  );
  const deliveries = usePoll(`deliveries ${workspace}`, EVERY_MS, (client, signal) =>
    client.get<List<WebhookDelivery>>(path`/workspaces/${workspace}/webhook-deliveries`, signal),
  );
  const action = useAction();
  const post = (place: string) =>
    action.run(async (client) => {
      await client.send('POST', place);
      deliveries.reload();
    });
  return (
    <>
      {action.error && <Notice tone="bad">{explainFailure(action.error)}</Notice>}
      {!webhooks.data && <Waiting polled={webhooks} />}
      {webhooks.data?.data.length === 0 && (
        <Empty title={`${workspace} has no webhooks.`}>Add one to be told when a batch has ended.</Empty>
      )}
      {webhooks.data && webhooks.data.data.length > 0 && (
        <Table
          caption="Webhooks"
          columns={webhookColumns(
            action.busy,
            ({ id }) => post(path`/workspaces/${workspace}/webhooks/${id}/test`),
            setRemoving,
          )}
          rows={webhooks.data.data}
          rowKey={({ id }) => id}
        />
      )}
      {deliveries.error && !deliveries.data && <Waiting polled={deliveries} />}
      {deliveries.data && deliveries.data.data.length > 0 && (
        <section aria-labelledby="deliveries">
          <h2 id="deliveries">Deliveries</h2>
          <Table
            caption="Deliveries"
            columns={deliveryColumns(action.busy, ({ id }) =>
              post(path`/workspaces/${workspace}/webhook-deliveries/${id}/resend`),
            )}
            rows={deliveries.data.data}
            rowKey={({ id }) => id}
          />
        </section>
      )}
      {isAdding && (
        <WebhookDialog
          workspace={workspace}
          onClose={() => {
            onAdded();
            webhooks.reload();
          }}
        />
      )}
      {removing && (
        <Confirm
          title="Remove the webhook?"
          verb="Remove the webhook"
          work={async (client) =>
            void (await client.send('DELETE', path`/workspaces/${workspace}/webhooks/${removing.id}`))
          }
          onClose={() => setRemoving(undefined)}
          onDone={() => {
            setRemoving(undefined);
            webhooks.reload();
          }}
        >
          Nothing is sent to <code>{removing.url}</code> any more, not even what waits.
        </Confirm>
      )}
    </>
  );
}

function webhookColumns(
  busy: boolean,
  onTest: (webhook: WebhookView) => void,
  onRemove: (webhook: WebhookView) => void,
): Column<WebhookView>[] {
  return [
    { id: 'address', label: 'Address', head: true, cell: ({ url }) => <code>{url}</code> },
    { id: 'events', label: 'Events', cell: ({ events }) => events.join(', ') },
    { id: 'created', label: 'Created', cell: ({ created_at }) => ago(created_at) },
    {
      id: 'actions',
      label: 'Actions',
      cell: (webhook) => (
        <div class="actions">
          <button
            type="button"
            class="small"
            disabled={busy}
            aria-label={`Send a test to ${webhook.url}`}
            onClick={() => onTest(webhook)}
          >
            Send a test
          </button>
          <button
            type="button"
            class="small danger"
            aria-label={`Remove ${webhook.url}`}
            onClick={() => onRemove(webhook)}
          >
            Remove
          </button>
        </div>
      ),
    },
  ];
}

const TONES = { waiting: 'warn', delivered: 'good', failed: 'bad' } as const;

function deliveryColumns(
  busy: boolean,
  onResend: (delivery: WebhookDelivery) => void,
): Column<WebhookDelivery>[] {
  return [
    { id: 'event', label: 'Event', head: true, cell: ({ type }) => type },
    { id: 'subject', label: 'About', cell: ({ subject }) => <code>{subject}</code> },
    { id: 'state', label: 'State', cell: ({ state }) => <Badge tone={TONES[state]}>{state}</Badge> },
    { id: 'attempts', label: 'Attempts', numeric: true, cell: ({ attempts }) => attempts },
    { id: 'outcome', label: 'Last outcome', cell: ({ outcome }) => outcome ?? NOTHING },
    { id: 'created', label: 'Created', cell: ({ created_at }) => ago(created_at) },
    {
      id: 'next',
      label: 'Next attempt',
      cell: ({ next_attempt_at }) => (next_attempt_at === null ? NOTHING : moment(next_attempt_at)),
    },
    {
      id: 'resend',
      label: 'Actions',
      cell: (delivery) => (
        <button
          type="button"
          class="small"
          disabled={busy}
          aria-label={`Send again: ${delivery.type} of ${delivery.subject}`}
          onClick={() => onResend(delivery)}
        >
          Send again
        </button>
      ),
    },
  ];
}
