/** What the tests need beside Node. `npm test` installs what is missing; see test/setup.ts. */
import { dirname, join } from 'node:path';
import { REDIS } from '@sluice/cli/start/find-redis';
import { thisMachine } from '@sluice/cli/start/machine';
import { findTool, howToGet, type Tool } from '@sluice/cli/start/tools';
import anyTest, { type TestFn } from 'ava';

export const CHROMIUM: Tool = {
  name: 'Chromium',
  programs: ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'],
  packages: ['chromium'],
  elsewhere: 'install Chromium or Chrome so that "chromium" or "google-chrome" is on the PATH',
};

/** promtool comes with Prometheus. */
export const PROMETHEUS: Tool = {
  name: 'Prometheus',
  programs: ['prometheus'],
  packages: ['prometheus'],
  elsewhere: 'install Prometheus, for example with "brew install prometheus"',
};

export const TEST_TOOLS: readonly Tool[] = [REDIS, CHROMIUM, PROMETHEUS];

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

/** AVA's `test` for tests that need these tools. On a machine without them every such test is skipped by its name. */
export function testNeeding(...tools: Tool[]): TestFn {
  const missing = findMissing(tools);
  if (missing.length === 0) return anyTest;
  const names = missing.map(({ name }) => name).join(' and ');
  if (mustHaveAll(process.env)) throw new Error(`these tests need ${names}: ${howToGet(missing)}`);
  return skipAll(anyTest, `needs ${names}`);
}

/** Hooks stay as they are: AVA runs none when every test of a file is skipped. */
export function skipAll(test: TestFn, why: string): TestFn {
  const skipping =
    (skip: (title: string, ...rest: never[]) => void) =>
    (title: string, ...rest: never[]) =>
      skip(`${title} (${why})`, ...rest);
  return Object.assign(skipping(test.skip as never), test, {
    serial: Object.assign(skipping(test.serial.skip as never), test.serial),
  }) as unknown as TestFn;
}
