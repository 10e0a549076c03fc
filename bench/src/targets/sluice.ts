import { readFileSync } from 'node:fs';
import { startSluice } from '../sluice.js';
import type { Target } from './target.js';

/** One api, one worker and Redis, with everything on. */
export const sluice: Target = {
  name: 'sluice',
  title: 'Sluice',
  missing: () => undefined,
  async start(upstreamUrl) {
    const { urls, caller, processes, stop } = await startSluice({ upstreamUrl });
    const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'));
    return { url: urls[0] ?? '', version, caller, processes, stop };
  },
};
