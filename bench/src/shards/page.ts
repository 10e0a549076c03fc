import { atMost } from '../compare/goals.js';
import { figure, table, times } from '../markdown.js';
import type { Sample } from '../measure.js';
import { median, medianOf, medianRatio, sum } from '../numbers.js';

/** A way to divide a cell, measured. */
export interface Division {
  title: string;
  shards: number;
  /** Of a Cluster; 1: a plain Redis. */
  masters: number;
  /** How many shards lie on each master. */
  shardsOn: readonly number[];
  samples: Sample[];
  /** CPU without a request, in µs for each second, by process. */
  idleUs: Record<string, number>[];
}

/** No master should have more of the CPU than so many times the mean. */
const GOAL = 1.2;

const ofRedis = (cpuUs: Record<string, number>) =>
  Object.entries(cpuUs).flatMap(([name, us]) => (name.startsWith('redis') ? us : []));
const redisUs = ({ cpuUs }: Sample) => sum(ofRedis(cpuUs));
const totalUs = ({ cpuUs }: Sample) => sum(Object.values(cpuUs));

/** What the busiest has, to the mean. */
const toMean = (masters: readonly number[]) => (Math.max(...masters) * masters.length) / sum(masters);

/** Of the CPU of the masters, all of it or only what requests add to that of an idle cell. */
function spreads({ samples, idleUs }: Division): { all: number; added: number } {
  const idle = ofRedis(medianOf(idleUs));
  const added = ({ cpuUs, perSecond }: Sample) =>
    toMean(ofRedis(cpuUs).map((us, i) => us - (idle[i] ?? 0) / perSecond));
  return {
    all: median(samples.map(({ cpuUs }) => toMean(ofRedis(cpuUs)))),
    added: median(samples.map(added)),
  };
}

export function goalRows(divisions: readonly Division[]): string[][] {
  const rows = divisions
    .filter(({ masters }) => masters > 1)
    .flatMap((division) => {
      const { all, added } = spreads(division);
      const what = `CPU of the busiest master to the mean, ${division.title}`;
      return [atMost(what, all, GOAL, '×'), atMost(`${what}, beyond idle`, added, GOAL, '×')];
    });
  return rows.filter((row) => row !== undefined);
}

/** Ratios are to the first. */
export function toTable(divisions: readonly Division[]): string {
  const [first] = divisions;
  const head = [
    '',
    'CPU to first',
    'CPU µs/request',
    'api',
    'worker',
    'redis',
    'requests/s',
    'p99 ms',
    'idle CPU ms/s',
    'errors',
  ];
  const rows = divisions.map(({ title, samples, idleUs }) => {
    const middle = medianOf(samples);
    return [
      title,
      times(medianRatio(samples, first?.samples ?? [], totalUs)),
      ...[median(samples.map(totalUs)), middle.cpuUs.api, middle.cpuUs.worker].map(figure),
      ...[
        median(samples.map(redisUs)),
        middle.perSecond,
        middle.p99,
        sum(Object.values(medianOf(idleUs))) / 1_000,
      ].map(figure),
      String(sum(samples.map(({ errors }) => errors))),
    ];
  });
  return table(head, rows);
}

/** How the shards and the CPU lie on the masters of a Cluster. The first shard also has what all share. */
export function spreadLines(divisions: readonly Division[]): string[] {
  return divisions
    .filter(({ masters }) => masters > 1)
    .map((division) => {
      const { title, samples, shardsOn, idleUs } = division;
      const busy = ofRedis(medianOf(samples).cpuUs).map(figure).join(', ');
      const idle = ofRedis(medianOf(idleUs))
        .map((us) => figure(us / 1_000))
        .join(', ');
      const { all, added } = spreads(division);
      return `${title}: the masters have ${shardsOn.join(', ')} shards and use ${busy} µs for each request of the cell, and ${idle} ms/s while it is idle. The busiest has ${times(all)} the mean, and ${times(added)} of what requests add.`;
    });
}
