import { howToGet, type Tool } from '@sluice/cli/start/tools';
import anyTest, { type TestFn } from 'ava';
import { findMissing, mustHaveAll } from './tools.js';

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
