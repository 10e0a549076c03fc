import { atMost } from '../compare/goals.js';
import { figure, table, times } from '../markdown.js';
import type { Sample } from '../measure.js';
import { medianOf, medianRatio, sum } from '../numbers.js';

/** What is measured, and the program that it is held against. */
export const [SLUICE, FULL] = ['Sluice', 'full'];
/** Sluice does more than `full`: it survives. That may cost so much. */
const GOAL = 1.2;
const GOAL_CALLERS = [1, 10, 64];

/** One number of callers. */
export interface Situation {
  callers: number;
  /** By the title of what was measured, round by round. */
  samples: Record<string, Sample[]>;
}

const RATIOS = {
  CPU: ({ cpuUs }: Sample) => sum(Object.values(cpuUs)),
  p50: ({ p50 }: Sample) => p50,
  'requests/s': ({ perSecond }: Sample) => perSecond,
};

export function toTables(situations: readonly Situation[]): string {
  return situations.map((situation) => `### ${callersText(situation)}\n\n${toTable(situation)}`).join('\n\n');
}

function toTable(situation: Situation): string {
  const head = ['', 'requests/s', 'p50 ms', 'p99 ms', 'CPU µs/request', 'api', 'worker', 'redis', 'errors'];
  const ratios = Object.keys(RATIOS) as (keyof typeof RATIOS)[];
  const rows = Object.entries(situation.samples).map(([title, samples]) => {
    const { perSecond, p50, p99, cpuUs } = medianOf(samples);
    const figures = [perSecond, p50, p99, sum(Object.values(cpuUs)), cpuUs.api, cpuUs.worker, cpuUs.redis];
    const errors = sum(samples.map((sample) => sample.errors));
    const toFull = ratios.map((name) => times(ratioToFull(situation, title, name)));
    return [title, ...figures.map(figure), String(errors), ...toFull];
  });
  return table([...head, ...ratios.map((name) => `${name} to full`)], rows);
}

/** Situations that were not measured are left out. */
export function goalRows(situations: readonly Situation[]): string[][] {
  const measured = situations.filter(({ callers }) => GOAL_CALLERS.includes(callers));
  const goal = (situation: Situation, name: keyof typeof RATIOS) =>
    atMost(`${name} to full’s, ${callersText(situation)}`, ratioToFull(situation, SLUICE, name), GOAL, '×');
  const rows = [
    ...measured.map((situation) => goal(situation, 'CPU')),
    ...measured.filter(({ callers }) => callers === 1).map((situation) => goal(situation, 'p50')),
  ];
  return rows.filter((row) => row !== undefined);
}

function ratioToFull({ samples }: Situation, title: string, name: keyof typeof RATIOS): number {
  return medianRatio(samples[title] ?? [], samples[FULL] ?? [], RATIOS[name]);
}

function callersText({ callers }: Situation): string {
  return callers === 1 ? '1 caller' : `${callers} callers`;
}
