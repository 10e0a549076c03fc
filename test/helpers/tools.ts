/** What the tests need beside Node. `npm test` installs what is missing; see test/setup.ts. */
import { dirname, join } from 'node:path';
import { POSTGRES } from '@sluice/cli/start/find-postgres';
import { REDIS } from '@sluice/cli/start/find-redis';
import { thisMachine } from '@sluice/cli/start/machine';
import { findTool, howToGet, type Tool } from '@sluice/cli/start/tools';

export const CHROMIUM: Tool = {
  name: 'Chromium',
  // The shell has no window, and takes a quarter less of the processor for the same pages.
  programs: ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'],
  packages: ['chromium-headless-shell'],
  elsewhere: 'install Chromium or Chrome so that "chromium" or "google-chrome" is on the PATH',
};

/** promtool comes with Prometheus. */
export const PROMETHEUS: Tool = {
  name: 'Prometheus',
  programs: ['prometheus'],
  packages: ['prometheus'],
  elsewhere: 'install Prometheus, for example with "brew install prometheus"',
};

export const TEST_TOOLS: readonly Tool[] = [REDIS, CHROMIUM, PROMETHEUS, POSTGRES];

/** In CI a test that cannot run is a failure; elsewhere it is skipped. */
export function mustHaveAll({ CI = '' }: NodeJS.ProcessEnv): boolean {
  return !['', '0', 'false'].includes(CI);
}

export function findMissing(tools: readonly Tool[], machine = thisMachine): Tool[] {
  return tools.filter((tool) => !findTool(tool, machine));
}

export function programOf(tool: Tool): string {
  const path = findTool(tool);
  if (path === undefined) throw new Error(`no ${tool.name} found: ${howToGet([tool])}`);
  return path;
}

export function promtool(): string {
  return join(dirname(programOf(PROMETHEUS)), 'promtool');
}
