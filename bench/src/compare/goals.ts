import { figure, times } from '../markdown.js';
import { type CompareResult, findRow } from './result.js';

/** What this project set out to reach, beside what was measured. Rows whose situation was not measured are left out. */
export function goalRows(result: CompareResult): string[][] {
  const row = (prompt: string, connections: number, name = 'sluice') =>
    findRow(result, { upstreamMs: 0, prompt, connections } as Parameters<typeof findRow>[1], name);
  const bifrost = (prompt: string, connections: number) => row(prompt, connections, 'bifrost');
  const toBifrost = (prompt: string, connections: number) =>
    ratio(row(prompt, connections)?.perSecond, bifrost(prompt, connections)?.perSecond);
  const rows: (string[] | undefined)[] = [
    atMost('added latency, one caller, p50', row('small', 1)?.addedP50, 1, 'ms'),
    atMost('added latency, one caller, p99', row('small', 1)?.addedP99, 4, 'ms'),
    atLeast('requests/s to Portkey’s, 10 callers', row('small', 10)?.toPortkey, 3),
    atLeast('requests/s to Bifrost’s, 10 callers', toBifrost('small', 10), 0.8),
    atMost('p99 to Bifrost’s, 10 callers', ratio(row('small', 10)?.p99, bifrost('small', 10)?.p99), 1, '×'),
    atLeast('requests/s to Portkey’s, 64 callers', row('small', 64)?.toPortkey, 4.5),
    atLeast('requests/s to Bifrost’s, 64 callers', toBifrost('small', 64), 1),
    atMost('CPU per request, 64 callers', row('small', 64)?.gatewayUs, 450, 'µs'),
    ...[10, 64].map((callers) =>
      atLeast(`100 KB prompt, requests/s to Bifrost’s, ${callers} callers`, toBifrost('100kb', callers), 1),
    ),
    ...[1, 10, 64].map((callers) =>
      atMost(
        `100 KB prompt, p50 to Portkey’s, ${callers} caller${callers === 1 ? '' : 's'}`,
        ratio(row('100kb', callers)?.p50, row('100kb', callers, 'portkey')?.p50),
        1,
        '×',
      ),
    ),
  ];
  return rows.filter((line) => line !== undefined);
}

function ratio(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : a / b;
}

export function atMost(
  what: string,
  value: number | undefined,
  goal: number,
  unit: string,
): string[] | undefined {
  if (value === undefined) return undefined;
  return [what, `at most ${goal} ${unit}`, `${figure(value)} ${unit}`, value <= goal ? 'reached' : 'missed'];
}

function atLeast(what: string, value: number | undefined, goal: number): string[] | undefined {
  if (value === undefined) return undefined;
  return [what, `at least ${goal}×`, times(value), value >= goal ? 'reached' : 'missed'];
}
