import { figure, table } from '../markdown.js';
import { sum } from '../numbers.js';
import { type CompareResult, type Row, rowsOf, UPSTREAM } from './result.js';

/** A caller who waits for no longer than this does not notice the gateway. */
const QUICK_MS = 10;
const MANY = 64;

/** The four figures by which gateways are compared elsewhere, one line for each target. */
export function glanceTable(result: CompareResult): string {
  const cells = result.cells.filter(({ cell }) => cell.upstreamMs === 0 && cell.prompt === 'small');
  const rows = (name: string) =>
    cells.flatMap(({ cell, ...rest }) =>
      rowsOf({ cell, ...rest }).flatMap((row) =>
        row.name === name ? { ...row, callers: cell.connections } : [],
      ),
    );
  const names = new Map(
    cells.flatMap(({ targets }) => targets.map(({ name, title }) => [name, title] as const)),
  );
  names.delete('direct');
  const lines = [...names].map(([name, title]) => {
    const own = rows(name);
    const [one, many] = [1, MANY].map((callers) => own.find((row) => row.callers === callers));
    const quick = own.filter(({ p99 }) => p99 <= QUICK_MS);
    const best = quick.sort((a, b) => b.perSecond - a.perSecond)[0];
    return [
      title,
      one?.addedP50 === undefined ? '–' : figure(one.addedP50),
      best ? `${figure(best.perSecond)} (callers: ${best.callers})` : '–',
      many ? figure(many.gatewayUs) : '–',
      many ? figure(memoryOf(many)) : '–',
    ];
  });
  const head = [
    'target',
    'added p50 ms, 1 caller',
    `requests/s with p99 of ${QUICK_MS} ms or less`,
    `CPU µs/request, ${MANY} callers`,
    'memory MB after it, all processes',
  ];
  return table(head, lines);
}

function memoryOf({ residentMb }: Row): number {
  const { [UPSTREAM]: _, ...own } = residentMb;
  return sum(Object.values(own));
}
