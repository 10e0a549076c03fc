import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os';
import { findOrInstallRedis } from '@sluice/cli/start/find-redis';

/** The machine on which the figures were measured. */
export interface Machine {
  cpu: string;
  cores: number;
  memoryGb: number;
  system: string;
  node: string;
  redis: string;
  commit: string;
  /** Mean number of busy processes over the minute before the run: well below 1 on a quiet machine. */
  loadBefore: number;
}

/** `node`: the program that runs what is measured, if it is another than this one. */
export function describeMachine(node?: string): Machine {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGb: Math.round(totalmem() / 2 ** 30),
    system: systemName(),
    node: node === undefined ? process.version : output(node, '--version'),
    redis: firstMatch(output(findOrInstallRedis(console.error), '--version'), /v=([\d.]+)/),
    commit: output('git', 'rev-parse', '--short', 'HEAD') || 'unknown',
    loadBefore: Math.round((loadavg()[0] ?? 0) * 100) / 100,
  };
}

export function machineLines(machine: Machine): string[] {
  const { cpu, cores, memoryGb, node, redis, commit, loadBefore } = machine;
  return [
    `${cores} cores (${cpu}), ${memoryGb} GB; Node ${node}, Redis ${redis}; commit ${commit}; load before: ${loadBefore}.`,
  ];
}

function systemName(): string {
  try {
    return firstMatch(readFileSync('/etc/os-release', 'utf8'), /^PRETTY_NAME="(.*)"$/m);
  } catch {
    return process.platform;
  }
}

function output(program: string, ...args: string[]): string {
  return spawnSync(program, args, { encoding: 'utf8' }).stdout?.trim() ?? '';
}

function firstMatch(text: string, pattern: RegExp): string {
  return pattern.exec(text)?.[1] ?? 'unknown';
}
