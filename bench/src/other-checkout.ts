import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { UsageError } from './options.js';
import type { startSluice } from './sluice.js';

/** Starts the Sluice of another checkout, as its own bench does. */
export async function findOther(folder: string): Promise<typeof startSluice> {
  const module = join(resolve(folder), 'bench/dist/sluice.js');
  if (!existsSync(module)) throw new UsageError(`${folder} is no checkout that has been built`);
  return (await import(pathToFileURL(module).href)).startSluice;
}
