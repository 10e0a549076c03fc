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
  /** CPU of all processes without a request, in µs for each second. */
  idleUs: number[];
}

/** No master should have more of the CPU than so many times the mean. */
const GOAL = 1.2;

const isRedis = (name: string) => name.startsWith('redis');
const redisUs = ({ cpuUs }: Sample) =>
  sum(Object.entries(cpuUs).flatMap(([name, us]) => (isRedis(name) ? us : [])));
const totalUs = ({ cpuUs }: Sample) => sum(Object.values(cpuUs));

/** The largest part of the masters’ CPU that one of them has, to the mean. */
export function spreadOf({ cpuUs }: Sample): number {
  const masters = Object.entries(cpuUs).flatMap(([name, us]) => (isRedis(name) ? us : []));
  return (Math.max(...masters) * masters.length) / sum(masters);
}

export function goalRows(divisions: readonly Division[]): string[][] {
  const rows = divisions
    .filter(({ masters }) => masters > 1)
    .map(({ title, samples }) =>
      atMost(`CPU of the busiest master to the mean, ${title}`, median(samples.map(spreadOf)), GOAL, '×'),
    );
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
      ...[median(samples.map(redisUs)), middle.perSecond, middle.p99, median(idleUs) / 1_000].map(figure),
      String(sum(samples.map(({ errors }) => errors))),
    ];
  });
  return table(head, rows);
}

/** How the shards and the CPU lie on the masters of a Cluster. */
export function spreadLines(divisions: readonly Division[]): string[] {
  return divisions
    .filter(({ masters }) => masters > 1)
    .map(({ title, samples, shardsOn }) => {
      const { cpuUs } = medianOf(samples);
      const each = Object.entries(cpuUs).flatMap(([name, us]) => (isRedis(name) ? figure(us) : []));
      const spread = times(median(samples.map(spreadOf)));
      return `${title}: the masters have ${shardsOn.join(', ')} shards and use ${each.join(', ')} µs for each request of the cell, the busiest ${spread} the mean.`;
    });
}
