import type { BatchQuote } from '@sluice/shared/admin-api';
import { useId, useState } from 'preact/hooks';
import { path } from '../../admin-client.js';
import { count, counted, moment, NOTHING, usd } from '../../format.js';
import { Pick } from '../../ui/pick.js';
import { explainFailure, Notice } from '../../ui/small.js';
import { type Column, Table } from '../../ui/table.js';
import { useAction } from '../../ui/use-action.js';

type Window = BatchQuote['windows'][number];
type Refused = BatchQuote['refused'][number];

const WINDOWS: Column<Window>[] = [
  { id: 'window', label: 'Within', head: true, cell: ({ completion_window: window }) => window },
  { id: 'expected', label: 'Expected', numeric: true, cell: (row) => usd(row.expected_cost_usd) },
  { id: 'most', label: 'At most', numeric: true, cell: (row) => usd(row.most_cost_usd) },
  {
    id: 'ends',
    label: 'Ends',
    cell: ({ ends_at: ends, in_time: inTime }) =>
      ends === null ? NOTHING : `${moment(ends * 1000)}${inTime ? '' : ', too late'}`,
  },
];
const REFUSED: Column<Refused>[] = [
  { id: 'lines', label: 'Lines', numeric: true, cell: ({ lines }) => count(lines) },
  { id: 'first', label: 'First', numeric: true, cell: ({ first_line: first }) => first ?? NOTHING },
  { id: 'why', label: 'Why', cell: ({ code, message }) => `${code}: ${message}` },
];

/** Asks what a batch of a file would cost. The file is not kept. */
export function QuoteForm({ workspaces }: { workspaces: readonly string[] }) {
  const id = useId();
  const [named, setWorkspace] = useState('');
  const [quote, setQuote] = useState<BatchQuote | undefined>();
  const action = useAction();
  const workspace = workspaces.includes(named) ? named : (workspaces[0] ?? '');
  const ask = (file: File | undefined) =>
    file &&
    action.run(async (client) => {
      setQuote(undefined);
      setQuote(await client.sendFile<BatchQuote>(path`/workspaces/${workspace}/batch-quote`, file));
    });
  return (
    <details>
      <summary>What would a file cost?</summary>
      <form class="filters" aria-label="Quote a batch" onSubmit={(event) => event.preventDefault()}>
        <Pick label="Workspace of the batch" value={workspace} values={workspaces} onChange={setWorkspace} />
        <div class="field">
          <label for={id}>File of requests</label>
          <input
            id={id}
            type="file"
            accept=".jsonl"
            disabled={action.busy || workspace === ''}
            onChange={(event) => ask(event.currentTarget.files?.[0])}
          />
        </div>
      </form>
      {action.busy && <p class="muted">The file is read …</p>}
      {action.error && <Notice tone="bad">{explainFailure(action.error)}</Notice>}
      {quote && <Quote quote={quote} />}
    </details>
  );
}

function Quote({ quote }: { quote: BatchQuote }) {
  const { lines, input_tokens: input, output_tokens: output, windows, errors, refused } = quote;
  const { unpriced_lines: unpriced } = quote;
  return (
    <>
      <p>
        {counted(lines, 'line')}, {count(input)} tokens in, about {count(output)} out.
      </p>
      {unpriced > 0 && (
        <Notice tone="warn">
          {counted(unpriced, 'line')} may go to a model without a known price. The costs below leave that
          model out.
        </Notice>
      )}
      {errors && (
        <Notice tone="bad">
          The batch would fail:{' '}
          {errors.data
            .slice(0, 3)
            .map(({ line, message }) => `${line === null ? '' : `line ${line}: `}${message}`)
            .join(' ')}
        </Notice>
      )}
      <Table
        caption="Cost by window"
        columns={WINDOWS}
        rows={windows}
        rowKey={(row) => row.completion_window}
      />
      {refused.length > 0 && (
        <Table
          caption="What would be refused"
          columns={REFUSED}
          rows={refused}
          rowKey={(row) => row.message}
        />
      )}
    </>
  );
}
