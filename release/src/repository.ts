import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** From dist/, where this runs. */
const root = new URL('../../', import.meta.url);

export interface Manifest {
  name: string;
  version: string;
  dependencies?: Record<string, string>;
  [field: string]: unknown;
}

export function pathOf(name: string): string {
  return fileURLToPath(new URL(name, root));
}

export function readText(name: string): string {
  return readFileSync(pathOf(name), 'utf8');
}

export function readManifest(folder: string): Manifest {
  return JSON.parse(readText(`${folder}/package.json`)) as Manifest;
}

/** The packages of this repository depend on one another by the exact version. */
export function withVersion(manifest: Manifest, version: string): Manifest {
  if (!manifest.dependencies) return { ...manifest, version };
  const dependencies = Object.entries(manifest.dependencies).map(([name, range]) => [
    name,
    name.startsWith('@sluice/') ? version : range,
  ]);
  return { ...manifest, version, dependencies: Object.fromEntries(dependencies) };
}

export function writeJson(path: string, value: unknown): void {
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);
}

/** Runs a program in the repository, or in a folder of it, and returns what it prints. */
export function run(program: string, args: readonly string[], folder = '.'): string {
  return execFileSync(program, args, { cwd: pathOf(folder), encoding: 'utf8' }).trim();
}
