/** What V8's CPU profile says: time by package, by function, and down the calls. */

export interface CpuProfile {
  nodes: ProfileNode[];
  samples: number[];
  /** µs between samples. */
  timeDeltas: number[];
  /** µs of the monotonic clock. */
  startTime: number;
}

interface ProfileNode {
  id: number;
  callFrame: { functionName: string; url: string; lineNumber: number };
  children?: number[];
}

export interface Share {
  name: string;
  us: number;
}

export interface Call extends Share {
  children: Call[];
}

export interface Summary {
  /** µs in which the process was not idle. */
  busyUs: number;
  packages: Share[];
  functions: Share[];
  /** Time in a function and all that it calls. */
  tree: Call[];
}

const IDLE = new Set(['(idle)', '(root)', '(program)']);

/** Samples from `from` to `to`. `(program)` is native time outside JavaScript and counts; idle time does not. */
export function summarise(profile: CpuProfile, from: number, to: number): Summary {
  const self = selfTimes(profile, from, to);
  const packages = new Map<string, number>();
  const functions = new Map<string, number>();
  let busyUs = 0;
  for (const node of profile.nodes) {
    const us = self.get(node.id) ?? 0;
    if (us === 0 || node.callFrame.functionName === '(idle)') continue;
    busyUs += us;
    add(packages, packageOf(node), us);
    add(functions, functionOf(node), us);
  }
  return { busyUs, packages: ranked(packages), functions: ranked(functions), tree: callsOf(profile, self) };
}

function selfTimes(
  { samples, timeDeltas, startTime }: CpuProfile,
  from: number,
  to: number,
): Map<number, number> {
  const self = new Map<number, number>();
  let at = startTime;
  for (const [i, id] of samples.entries()) {
    const us = timeDeltas[i] ?? 0;
    at += us;
    if (at >= from && at <= to) self.set(id, (self.get(id) ?? 0) + Math.max(0, us));
  }
  return self;
}

/** Calls of the same function by the same caller are one. */
function callsOf({ nodes }: CpuProfile, self: ReadonlyMap<number, number>): Call[] {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const toCalls = (ids: readonly number[]): Call[] => {
    const groups = new Map<string, { us: number; children: number[] }>();
    for (const id of ids) {
      const node = byId.get(id);
      if (!node) continue;
      const group = groups.get(functionOf(node)) ?? { us: 0, children: [] };
      group.us += self.get(id) ?? 0;
      group.children.push(...(node.children ?? []));
      groups.set(functionOf(node), group);
    }
    const calls = [...groups].map(([name, { us, children }]) => {
      const below = toCalls(children);
      return { name, us: below.reduce((total, call) => total + call.us, us), children: below };
    });
    return calls.filter(({ us }) => us > 0).sort((a, b) => b.us - a.us);
  };
  const root = nodes[0];
  return toCalls(root?.children ?? []).filter(({ name }) => !IDLE.has(name));
}

function packageOf({ callFrame: { url, functionName } }: ProfileNode): string {
  const ours = /\/packages\/(\w+)\/dist\//.exec(url)?.[1];
  if (ours) return `sluice ${ours}`;
  const installed = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1];
  if (installed) return installed;
  if (url.startsWith('node:')) return url.split('/').slice(0, 2).join('/');
  return functionName.startsWith('(') ? functionName : `native ${functionName}`.trim();
}

function functionOf({ callFrame: { url, functionName, lineNumber } }: ProfileNode): string {
  const name = functionName || '(anonymous)';
  const place = url.replace(/.*\/node_modules\//, '').replace(/.*\/packages\//, '');
  return place === '' ? name : `${name} ${place}:${lineNumber + 1}`;
}

function add(totals: Map<string, number>, name: string, us: number): void {
  totals.set(name, (totals.get(name) ?? 0) + us);
}

function ranked(totals: ReadonlyMap<string, number>): Share[] {
  return [...totals].map(([name, us]) => ({ name, us })).sort((a, b) => b.us - a.us);
}
