import type { AuditPage as AuditAnswer, AuditRecord } from '@sluice/shared/admin-api';
import { differencesOf, type Undo, undoNow, undoOf } from '@sluice/shared/contract/undo';
import { useState } from 'preact/hooks';
import { AdminError } from '../../admin-client.js';
import { moment } from '../../format.js';
import { changeQuery, type Place } from '../../location.js';
import { Confirm } from '../../ui/confirm.js';
import { download } from '../../ui/download.js';
import { Field } from '../../ui/field.js';
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
  const { path = '', search = '' } = place.query;
  const query = new URLSearchParams({
    kind,
    limit: String(PAGE),
    ...(path === '' ? {} : { path }),
    ...(search === '' ? {} : { search }),
  }).toString();
  const newest = usePoll(query, EVERY_MS, (client, signal) =>
    client.get<AuditAnswer>(`/audit?${query}`, signal),
  );
  const [older, setOlder] = useState<{ query: string; data: AuditRecord[]; next: string | null }>();
  const [restoring, setRestoring] = useState<{ record: AuditRecord; undo: Undo } | undefined>();
  const action = useAction();
  const more = older?.query === query ? older : undefined;
  const rows = [...(newest.data?.data ?? []), ...(more?.data ?? [])];
  const next = more ? more.next : (newest.data?.next_before ?? null);
  const showOlder = () =>
    action.run(async (client) => {
      const answer = await client.get<AuditAnswer>(`/audit?${query}&before=${next}`);
      setOlder({ query, data: [...(more?.data ?? []), ...answer.data], next: answer.next_before });
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
            Download CSV
          </button>
          <button type="button" onClick={() => save('jsonl')} disabled={action.busy}>
            JSON lines
          </button>
        </>
      }
    >
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <Field
          label="Search"
          type="search"
          value={search}
          onInput={(text) => changeQuery(place, { search: text })}
          placeholder="Person, or a part of the path"
        />
      </form>
      {path !== '' && (
        <Notice tone="info">
          Only changes of <code>{path}</code>.{' '}
          <button type="button" class="small" onClick={() => changeQuery(place, { path: '' })}>
            Show all
          </button>
        </Notice>
      )}
      {action.error && <Notice tone="bad">{explainFailure(action.error)}</Notice>}
      {!newest.data && <Waiting polled={newest} />}
      {newest.data && rows.length === 0 && (
        <Empty title={path + search === '' ? 'Nothing yet.' : 'No change matches.'}>
          {path + search === ''
            ? 'Whatever somebody changes or signs in to is recorded here.'
            : 'Try fewer words.'}
        </Empty>
      )}
      {rows.length > 0 && (
        <Table
          caption="Audit trail"
          columns={
            kind === 'changes' ? changeColumns((record, undo) => setRestoring({ record, undo })) : SIGN_INS
          }
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
      {restoring && (
        <Confirm
          title="Put it back?"
          verb="Restore"
          work={async (client) => {
            const undo = await undoNow(restoring.record, (path) => client.get(path));
            if ('reason' in undo) throw new AdminError('conflict', undo.reason, 409);
            await client.send(undo.method, undo.path, undo.body);
          }}
          onClose={() => setRestoring(undefined)}
          onDone={() => {
            setRestoring(undefined);
            newest.reload();
          }}
        >
          This {restoring.undo.words}. The change is of <b>{moment(restoring.record.at)}</b>. Putting it back
          is checked and recorded like any change.
          <Differences before={restoring.record.after} after={restoring.record.before} />
        </Confirm>
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

function changeColumns(onRestore: (record: AuditRecord, undo: Undo) => void): Column<AuditRecord>[] {
  return [
    ...COMMON,
    {
      id: 'what',
      label: 'What',
      cell: ({ action, path }) => (
        <code class="wrap">
          {action.split(' ')[0]} {path}
        </code>
      ),
    },
    RESULT,
    { id: 'states', label: 'Difference', cell: (record) => <Change record={record} onRestore={onRestore} /> },
  ];
}

interface ChangeProps {
  record: AuditRecord;
  onRestore(record: AuditRecord, undo: Undo): void;
}

function Change({ record, onRestore }: ChangeProps) {
  const { before, after } = record;
  if (before === null && after === null) return <span class="muted">not recorded</span>;
  const undo = undoOf(record);
  return (
    <details>
      <summary>{before === null ? 'New' : after === null ? 'Removed' : 'Changed'}</summary>
      <Differences before={before} after={after} />
      {'reason' in undo ? (
        <p class="hint">{undo.reason}</p>
      ) : (
        <button
          type="button"
          class="small"
          aria-label={`Restore what was before ${record.action.split(' ')[0]} ${record.path}, ${moment(record.at)}`}
          onClick={() => onRestore(record, undo)}
        >
          Restore
        </button>
      )}
    </details>
  );
}

/** One line for each field that differs. */
function Differences({ before, after }: { before: unknown; after: unknown }) {
  const differences = differencesOf(before, after);
  if (differences.length === 0) return <p class="hint">Nothing differs.</p>;
  return (
    <dl class="differences">
      {differences.map((each) => (
        <div key={each.field}>
          <dt>{each.field}</dt>
          <dd>
            {each.before !== undefined && <del>{each.before}</del>}
            {each.before !== undefined && each.after !== undefined && ' → '}
            {each.after !== undefined && <ins>{each.after}</ins>}
          </dd>
        </div>
      ))}
    </dl>
  );
}
