import { fileURLToPath } from 'node:url';

const inBench = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url));

export const RESULTS = inBench('results');
export const PROFILES = inBench('profiles');
/** Other gateways and other clients of Redis, installed on first use. */
export const RIVALS = inBench('.rivals');
export const DOCS = inBench('../docs/performance.md');
