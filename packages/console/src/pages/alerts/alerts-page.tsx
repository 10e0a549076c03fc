import type { AlertNotice, AlertView, DirectoryOverview, List } from '@sluice/shared/admin-api';
import { alertText, watchedText } from '@sluice/shared/contract/alert';
import { useState } from 'preact/hooks';
import { path } from '../../admin-client.js';
import { ago, moment, NOTHING } from '../../format.js';
import type { Place } from '../../location.js';
import { useMay } from '../../permissions.js';
import { Confirm } from '../../ui/confirm.js';
import { Page } from '../../ui/page.js';
import { Badge, Empty, explainFailure, Notice, Waiting } from '../../ui/small.js';
import { type Column, Table } from '../../ui/table.js';
import { useAction } from '../../ui/use-action.js';
import { usePoll } from '../../use-poll.js';
import { AlertDialog } from './alert-dialog.js';

const EVERY_MS = 5_000;
const SLOWLY_MS = 60_000;

type Doing = { what: 'add' } | { what: 'change' | 'remove'; alert: AlertView };

export function AlertsPage(_: { place: Place }) {
  const mayChange = useMay()('operator');
  const [doing, setDoing] = useState<Doing | undefined>();
  const alerts = usePoll('all alerts', EVERY_MS, (client, signal) =>
    client.get<List<AlertView>>('/alerts', signal),
  );
  const notices = usePoll('alert notices', EVERY_MS, (client, signal) =>
    client.get<List<AlertNotice>>('/alert-notices', signal),
  );
  const directory = usePoll('workspaces', SLOWLY_MS, (client, signal) =>
    client.get<DirectoryOverview>('/directory?keys=false', signal),
  );
  const action = useAction();
  const test = ({ id }: AlertView) =>
    action.run(async (client) => {
      await client.send('POST', path`/alerts/${id}/test`);
      notices.reload();
    });
  const done = () => {
    setDoing(undefined);
    alerts.reload();
  };
  const on = (what: 'change' | 'remove') => (alert: AlertView) => setDoing({ what, alert });
  return (
    <Page
      title="Alerts"
      intro="Each one tells you by webhook or mail, once when it begins and once when it is over."
      actions={
        mayChange && (
          <button type="button" class="primary" onClick={() => setDoing({ what: 'add' })}>
            Add an alert
          </button>
        )
      }
    >
      {action.error && <Notice tone="bad">{explainFailure(action.error)}</Notice>}
      {!alerts.data && <Waiting polled={alerts} />}
      {alerts.data?.data.length === 0 && (
        <Empty title="There are no alerts.">
          Add one to be told when a budget is nearly spent, requests fail, or a provider is down.
        </Empty>
      )}
      {alerts.data && alerts.data.data.length > 0 && (
        <Table
          caption="Alerts"
          columns={alertColumns(mayChange, action.busy, { test, change: on('change'), remove: on('remove') })}
          rows={alerts.data.data}
          rowKey={({ id }) => id}
        />
      )}
      {notices.error && !notices.data && <Waiting polled={notices} />}
      {notices.data && notices.data.data.length > 0 && (
        <section aria-labelledby="sent">
          <h2 id="sent">Sent</h2>
          <Table caption="Sent" columns={NOTICE_COLUMNS} rows={notices.data.data} rowKey={({ id }) => id} />
        </section>
      )}
      {doing?.what === 'add' && <AlertDialog directory={directory.data} onClose={done} />}
      {doing?.what === 'change' && (
        <AlertDialog alert={doing.alert} directory={directory.data} onClose={done} />
      )}
      {doing?.what === 'remove' && (
        <Confirm
          title="Remove the alert?"
          verb="Remove the alert"
          work={async (client) => void (await client.send('DELETE', path`/alerts/${doing.alert.id}`))}
          onClose={() => setDoing(undefined)}
          onDone={done}
        >
          Nobody is told any more when {conditionOf(doing.alert)}. What waits to be sent is not sent.
        </Confirm>
      )}
    </Page>
  );
}

function alertColumns(
  mayChange: boolean,
  busy: boolean,
  on: Record<'test' | 'change' | 'remove', (alert: AlertView) => void>,
): Column<AlertView>[] {
  const actions: Column<AlertView> = {
    id: 'actions',
    label: 'Actions',
    cell: (alert) => (
      <div class="actions one-line">
        <button
          type="button"
          class="small"
          disabled={busy}
          aria-label={`Send a test of ${titleOf(alert)}`}
          onClick={() => on.test(alert)}
        >
          Send a test
        </button>
        <button
          type="button"
          class="small"
          aria-label={`Change ${titleOf(alert)}`}
          onClick={() => on.change(alert)}
        >
          Change
        </button>
        <button
          type="button"
          class="small danger"
          aria-label={`Remove ${titleOf(alert)}`}
          onClick={() => on.remove(alert)}
        >
          Remove
        </button>
      </div>
    ),
  };
  return [
    {
      id: 'alert',
      label: 'Tell when',
      head: true,
      cell: (alert) => (
        <>
          {alert.name && <p>{alert.name}</p>}
          <p class={alert.name ? 'muted' : undefined}>{conditionOf(alert)}</p>
        </>
      ),
    },
    { id: 'of', label: 'Of', cell: watchedText },
    {
      id: 'to',
      label: 'To',
      cell: ({ webhook, mail }) => [...(webhook ? [webhook] : []), ...mail].join(', '),
    },
    {
      id: 'state',
      label: 'Now',
      cell: ({ firing }) =>
        firing.length === 0 ? (
          <Badge tone="good">quiet</Badge>
        ) : (
          <ul class="plain">
            {firing.map(({ subject, text, since }) => (
              <li key={subject}>
                <Badge tone="bad">firing</Badge> {text} Since {moment(since)}.
              </li>
            ))}
          </ul>
        ),
    },
    ...(mayChange ? [actions] : []),
  ];
}

function titleOf(alert: AlertView): string {
  return alert.name ?? conditionOf(alert);
}

function conditionOf({ when, above, minutes }: AlertView): string {
  return alertText(when, above, minutes);
}

const TONES = { waiting: 'warn', delivered: 'good', failed: 'bad' } as const;
const TYPES = { 'alert.fired': 'fired', 'alert.resolved': 'over', 'alert.test': 'test' } as const;

const NOTICE_COLUMNS: Column<AlertNotice>[] = [
  { id: 'text', label: 'Message', head: true, cell: ({ text }) => text },
  { id: 'type', label: 'About', cell: ({ type }) => TYPES[type] },
  { id: 'to', label: 'To', cell: ({ to }) => to },
  { id: 'state', label: 'State', cell: ({ state }) => <Badge tone={TONES[state]}>{state}</Badge> },
  { id: 'outcome', label: 'Last outcome', cell: ({ outcome }) => outcome ?? NOTHING },
  { id: 'created', label: 'Created', cell: ({ created_at }) => ago(created_at) },
  {
    id: 'next',
    label: 'Next attempt',
    cell: ({ next_attempt_at }) => (next_attempt_at === null ? NOTHING : moment(next_attempt_at)),
  },
];
