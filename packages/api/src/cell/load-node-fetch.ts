import { loadLater } from '@sluice/shared/process/load-later';
import type * as nodeFetch from 'node-fetch';

/** node-fetch brings undici into memory. Few processes send a webhook or fetch a document. */
export const loadNodeFetch = loadLater<typeof nodeFetch>('node-fetch', import.meta.url);
