import { machineLines } from '../machine.js';
import { figure, table, times } from '../markdown.js';
import { duration } from '../progress.js';
import { glanceTable } from './glance.js';
import { goalRows } from './goals.js';
import { type CellResult, type CompareResult, type Row, rowsOf } from './result.js';

/** Below this the upstream itself, not the gateways, may be what is measured. */
const FAST_ENOUGH = 2;

const HEAD = [
  'callers',
  'target',
  'requests/s',
  'spread',
  'p50 ms',
  'p95 ms',
  'p99 ms',
  'added p50',
  'added p99',
  'CPU µs/request',
  'memory MB',
  'errors',
  'to direct',
  'to Portkey',
];

export function toPage(result: CompareResult): string {
  const goals = goalRows(result);
  const end = goals.length > 0 ? `\n\n### Goals\n\n${table(['what', 'goal', 'measured', ''], goals, 2)}` : '';
  const page = pageOf(result, (cells) => {
    const lines = cells.flatMap((cell) =>
      rowsOf(cell).map((row) => toLine(figureWhole(cell.cell.connections), row)),
    );
    return table(HEAD, lines, 2);
  });
  return page + end;
}

/** The figures of docs/performance.md. The data and the printed page have all of them. */
const SHORT: readonly [string, (row: Row) => number | undefined][] = [
  ['requests/s', ({ perSecond }) => perSecond],
  ['added p99 ms', ({ addedP99 }) => addedP99],
];

/** One line for each target: each figure for every number of callers. */
export function toShortPage(result: CompareResult): string {
  return pageOf(result, (cells) => {
    const callers = cells.map(({ cell }) => figureWhole(cell.connections));
    const head = SHORT.flatMap(([title]) =>
      callers.map((count, i) => (i === 0 ? `${title}: ${count}` : count)),
    );
    const rows = cells.map(rowsOf);
    const titles = (rows[0] ?? []).filter(({ name }) => name !== 'direct').map(({ title }) => title);
    const lines = titles.map((title) => [
      title,
      ...SHORT.flatMap(([, pick]) =>
        rows.map((all) => {
          const row = all.find((each) => each.title === title);
          return figure(row && pick(row));
        }),
      ),
    ]);
    return table(['callers', ...head], lines);
  });
}

function pageOf(result: CompareResult, tableOf: (cells: readonly CellResult[]) => string): string {
  const { machine, generator, note, rounds, versions, idle, missing } = result;
  const list = (values: Record<string, string>) =>
    Object.entries(values)
      .map(([name, value]) => `${name} ${value}`)
      .join(', ');
  const percent = Object.fromEntries(
    Object.entries(idle).map(([name, value]) => [name, `${figure(value)} %`]),
  );
  const lengths = [...new Set(result.cells.map(({ cell }) => duration(cell.seconds)))].join(' or ');
  const intro = [
    ...machineLines(machine),
    `Versions: ${list(versions)}. Load: ${generator}, one thread; ${rounds} rounds of ${lengths}, medians.`,
    `CPU of one core while idle: ${list(percent) || '–'}.`,
    upstreamLine(result),
    ...(note ? [note] : []),
    ...missing.map((line) => `Not measured, ${line}.`),
  ];
  const parts = [
    intro.join('\n'),
    `### At a glance\n\n${glanceTable(result)}`,
    ...groups(result).map(([title, cells]) => `### ${title}\n\n${tableOf(cells)}`),
  ];
  return parts.join('\n\n');
}

function groups({ cells }: CompareResult): [string, CellResult[]][] {
  const titles = new Set(cells.map(titleOf));
  return [...titles].map((title) => [title, cells.filter((cell) => titleOf(cell) === title)]);
}

function titleOf({ cell }: CellResult): string {
  const prompt = cell.prompt === 'small' ? 'Small prompt' : '100 KB prompt';
  return `${prompt}, upstream answers ${cell.upstreamMs === 0 ? 'at once' : `after ${cell.upstreamMs} ms`}`;
}

function toLine(callers: string, row: Row): string[] {
  // Nothing was answered within the time: there is nothing to divide by.
  if (row.perSecond === 0)
    return [callers, row.title, '0', ...Array(7).fill('–'), memory(row), figureWhole(row.errors), '–', '–'];
  return [
    callers,
    row.title,
    figure(row.perSecond),
    `${Math.round(100 * row.spread)} %`,
    figure(row.p50),
    figure(row.p95),
    figure(row.p99),
    figure(row.addedP50),
    figure(row.addedP99),
    cpu(row),
    memory(row),
    figureWhole(row.errors),
    times(row.toDirect),
    times(row.toPortkey),
  ];
}

/** The sum, and its parts where there are several. The upstream's own is left to the data. */
function cpu({ cpuUs, gatewayUs, name }: Row): string {
  if (name === 'direct') return '–';
  const { api, worker, redis } = cpuUs;
  if (api === undefined || worker === undefined || redis === undefined) return figure(gatewayUs);
  return `${figure(gatewayUs)} (api ${figure(api)}, worker ${figure(worker)}, redis ${figure(redis)})`;
}

function memory({ residentMb, name }: Row): string {
  const { upstream: _, ...own } = residentMb;
  const parts = Object.entries(own);
  if (name === 'direct') return '–';
  if (parts.length === 1) return figureWhole(parts[0]?.[1] ?? 0);
  return parts.map(([process, mb]) => `${process} ${figureWhole(mb)}`).join(', ');
}

function upstreamLine(result: CompareResult): string {
  const ratios = result.cells
    .filter(({ cell }) => cell.upstreamMs === 0 && cell.connections > 1)
    .map((cell) => Math.max(...rowsOf(cell).flatMap(({ toDirect }) => toDirect ?? [])))
    .filter(Number.isFinite);
  if (ratios.length === 0)
    return 'Whether the upstream was the limit was not checked: that takes the target direct.';
  const least = 1 / Math.max(...ratios);
  const verdict = least >= FAST_ENOUGH ? 'it was not the limit' : 'TOO LITTLE: it may have been the limit';
  return `The upstream alone served ${times(least)} what the fastest gateway did, or more (10 callers and above): ${verdict}.`;
}

function figureWhole(value: number): string {
  return Math.round(value).toLocaleString('en');
}
