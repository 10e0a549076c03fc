import type { Machine } from '../machine.js';
import type { Sample } from '../measure.js';
import { medianOf, spread, sum } from '../numbers.js';
import type { Prompt } from '../prompts.js';

/** One situation that all targets are put into. */
export interface Cell {
  upstreamMs: number;
  prompt: Prompt;
  connections: number;
  /** The length of one measurement. */
  seconds: number;
  warmUpSeconds: number;
}

export interface TargetResult {
  name: string;
  title: string;
  samples: Sample[];
}

export interface CellResult {
  cell: Cell;
  targets: TargetResult[];
}

export interface CompareResult {
  machine: Machine;
  generator: string;
  note?: string;
  rounds: number;
  /** By the target's title. */
  versions: Record<string, string>;
  /** Percent of one core that a target takes while nobody calls it. */
  idle: Record<string, number>;
  /** Targets that were not there, and why. */
  missing: string[];
  cells: CellResult[];
}

/** The process of the upstream, measured beside each target. */
export const UPSTREAM = 'upstream';

/** A target's row of the table: medians over the rounds, set against the others of its cell. */
export interface Row extends Sample {
  name: string;
  title: string;
  spread: number;
  /** CPU of the gateway's own processes. */
  gatewayUs: number;
  addedP50?: number;
  addedP99?: number;
  toDirect?: number;
  toPortkey?: number;
}

export function rowsOf({ targets }: CellResult): Row[] {
  const medians = targets.map(({ name, title, samples }) => ({
    name,
    title,
    ...medianOf(samples),
    errors: sum(samples.map(({ errors }) => errors)),
    spread: spread(samples.map(({ perSecond }) => perSecond)),
  }));
  const direct = medians.find(({ name }) => name === 'direct');
  const portkey = medians.find(({ name }) => name === 'portkey');
  return medians.map((row) => {
    const { [UPSTREAM]: _, ...own } = row.cpuUs;
    const result: Row = { ...row, gatewayUs: sum(Object.values(own)) };
    if (direct && row !== direct) {
      result.addedP50 = row.p50 - direct.p50;
      result.addedP99 = row.p99 - direct.p99;
      result.toDirect = row.perSecond / direct.perSecond;
    }
    if (portkey && row !== portkey) result.toPortkey = row.perSecond / portkey.perSecond;
    return result;
  });
}

export function findRow(result: CompareResult, cell: Partial<Cell>, name: string): Row | undefined {
  const matches = ({ cell: other }: CellResult) =>
    Object.entries(cell).every(([field, value]) => Reflect.get(other, field) === value);
  const found = result.cells.find(matches);
  return found && rowsOf(found).find((row) => row.name === name);
}
