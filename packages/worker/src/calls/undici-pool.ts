/**
 * undici's pool, by its own files. undici's index also loads its fetch, WebSockets, caches and mocks, and these bring Node's
 * own undici into memory: 10 MB and 80 ms for each worker.
 */
import { createRequire } from 'node:module';
import { loadLater } from '@sluice/shared/process/load-later';
import type * as undici from 'undici';

const require = createRequire(import.meta.url);

export type Pool = undici.Pool;
export const Pool = require('undici/lib/dispatcher/pool.js') as typeof undici.Pool;
/** The whole of undici. Few workers need it, because few hand batches over. */
export const loadUndici = loadLater<typeof undici>('undici', import.meta.url);
