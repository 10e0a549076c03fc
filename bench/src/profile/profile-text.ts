import { figure, table } from '../markdown.js';
import type { Call, Share, Summary } from './cpu-profile.js';

const PACKAGES = 25;
const FUNCTIONS = 50;
const PRINTED = 12;
/** Branches with less than this part of the time are not drawn. */
const DRAWN = 0.01;
const MAX_DEPTH = 40;

export function toText(role: string, intro: string[], summary: Summary, requests: number): string {
  const { busyUs, packages, functions, tree } = summary;
  const lines = (shares: readonly Share[]) => shares.map((share) => line(share, busyUs, requests));
  return [
    `CPU profile of the ${role} process`,
    ...intro,
    `Busy: ${figure(busyUs / 1e6)} s, ${figure(busyUs / requests)} µs per request. Percent of that, µs per request:`,
    '',
    'BY PACKAGE, own time',
    ...lines(packages.slice(0, PACKAGES)),
    '',
    'BY FUNCTION, own time',
    ...lines(functions.slice(0, FUNCTIONS)),
    '',
    'DOWN THE CALLS, with what they call (1 % and more)',
    ...tree.flatMap((call) => draw(call, 0, busyUs, requests)),
    '',
  ].join('\n');
}

export function toTables(role: string, { busyUs, packages, functions }: Summary, requests: number): string {
  const rows = (shares: readonly Share[]) =>
    shares
      .slice(0, PRINTED)
      .map(({ name, us }) => [name.replaceAll('|', '\\|'), percent(us, busyUs), figure(us / requests)]);
  const head = ['%', 'µs/request'];
  return [
    `### ${role}: ${figure(busyUs / requests)} µs per request`,
    table(['package', ...head], rows(packages)),
    table(['function', ...head], rows(functions)),
  ].join('\n\n');
}

function draw(call: Call, depth: number, busyUs: number, requests: number): string[] {
  if (call.us < busyUs * DRAWN || depth > MAX_DEPTH) return [];
  const own = line({ ...call, name: `${'  '.repeat(depth)}${call.name}` }, busyUs, requests);
  return [own, ...call.children.flatMap((child) => draw(child, depth + 1, busyUs, requests))];
}

function line({ name, us }: Share, busyUs: number, requests: number): string {
  return `${percent(us, busyUs).padStart(5)} ${figure(us / requests).padStart(7)}  ${name}`;
}

function percent(us: number, of: number): string {
  return ((100 * us) / of).toFixed(1);
}
