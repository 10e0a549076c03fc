import type { AuditPage as AuditAnswer, AuditRecord } from '@sluice/shared/admin-api';
import { useState } from 'preact/hooks';
import { moment } from '../../format.js';
import { changeQuery, type Place } from '../../location.js';
import { download } from '../../ui/download.js';
import { Page } from '../../ui/page.js';
import { Badge, Choice, Empty, explainFailure, Notice, Waiting } from '../../ui/small.js';
import { type Column, Table } from '../../ui/table.js';
import { useAction } from '../../ui/use-action.js';
import { usePoll } from '../../use-poll.js';

const EVERY_MS = 5_000;
const PAGE = 100;
const KINDS = [
  ['changes', 'Changes'],
  ['sign_ins', 'Sign-ins'],
] as const;
type Kind = (typeof KINDS)[number][0];

export function AuditPage({ place }: { place: Place }) {
  const kind: Kind = place.query.kind === 'sign_ins' ? 'sign_ins' : 'changes';
  const newest = usePoll(`audit ${kind}`, EVERY_MS, (client, signal) =>
    client.get<AuditAnswer>(`/audit?kind=${kind}&limit=${PAGE}`, signal),
  );
  const [older, setOlder] = useState<{ kind: Kind; data: AuditRecord[]; next: string | null }>();
  const action = useAction();
  const more = older?.kind === kind ? older : undefined;
  const rows = [...(newest.data?.data ?? []), ...(more?.data ?? [])];
  const next = more ? more.next : (newest.data?.next_before ?? null);
  const showOlder = () =>
    action.run(async (client) => {
      const answer = await client.get<AuditAnswer>(`/audit?kind=${kind}&limit=${PAGE}&before=${next}`);
      setOlder({ kind, data: [...(more?.data ?? []), ...answer.data], next: answer.next_before });
    });
  const save = (format: 'csv' | 'jsonl') =>
    action.run(async (client) => {
      const response = await client.fetch(`/audit/export?kind=${kind}&format=${format}`);
      download(`audit.${format}`, await response.blob());
    });

  return (
    <Page
      title="Audit"
      intro="Who has changed what, from where, and who has signed in. Refused attempts are there too."
      actions={
        <>
          <Choice
            label="What"
            value={kind}
            choices={KINDS}
            onChange={(value) => changeQuery(place, { kind: value === 'changes' ? '' : value })}
          />
          <button type="button" onClick={() => save('csv')} disabled={action.busy}>
            Save as CSV
          </button>
          <button type="button" onClick={() => save('jsonl')} disabled={action.busy}>
            Save as JSON lines
          </button>
        </>
      }
    >
      {action.error && <Notice tone="bad">{explainFailure(action.error)}</Notice>}
      {!newest.data && <Waiting polled={newest} />}
      {newest.data && rows.length === 0 && <Empty title="Nothing yet." />}
      {rows.length > 0 && (
        <Table
          caption="Audit trail"
          columns={kind === 'changes' ? CHANGES : SIGN_INS}
          rows={rows}
          rowKey={({ cursor }) => cursor}
        />
      )}
      {next !== null && (
        <p class="more">
          <button type="button" onClick={showOlder} disabled={action.busy}>
            Show older entries
          </button>
        </p>
      )}
    </Page>
  );
}

const COMMON: readonly Column<AuditRecord>[] = [
  { id: 'at', label: 'When', head: true, cell: ({ at }) => moment(at) },
  {
    id: 'who',
    label: 'Who',
    cell: ({ who, credential }) => (
      <span title={credential ?? ''}>{who ?? <span class="muted">unknown</span>}</span>
    ),
  },
  { id: 'from', label: 'From', cell: ({ address }) => address },
];

const RESULT: Column<AuditRecord> = {
  id: 'result',
  label: 'Result',
  cell: ({ status }) =>
    status < 400 ? <Badge tone="good">done</Badge> : <Badge tone="bad">refused {status}</Badge>,
};

const SIGN_INS: readonly Column<AuditRecord>[] = [
  ...COMMON,
  { id: 'way', label: 'How', cell: ({ action }) => action },
  RESULT,
];

const CHANGES: readonly Column<AuditRecord>[] = [
  ...COMMON,
  {
    id: 'what',
    label: 'What',
    cell: ({ action, path }) => (
      <code>
        {action.split(' ')[0]} {path}
      </code>
    ),
  },
  RESULT,
  { id: 'states', label: 'Before and after', cell: States },
];

function States({ before, after }: AuditRecord) {
  if (before === null && after === null) return <span class="muted">not recorded</span>;
  return (
    <details>
      <summary>{before === null ? 'New' : after === null ? 'Removed' : 'Changed'}</summary>
      {before !== null && <State name="Before" state={before} />}
      {after !== null && <State name="After" state={after} />}
    </details>
  );
}

function State({ name, state }: { name: string; state: unknown }) {
  return (
    <>
      <p class="muted">{name}</p>
      <pre class="state">{JSON.stringify(state, null, 2)}</pre>
    </>
  );
}
