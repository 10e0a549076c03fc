/** The console in a real browser, signed in. Whatever the page did wrong on the way fails the test that opened it. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { ExecutionContext } from 'ava';
import type { Browser, Page } from 'playwright-core';
import type { Gateway } from './gateway.js';

const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

const LOADS = 4;
const PATIENCE_MS = 60_000;

export interface ConsoleOptions {
  width?: number;
  dark?: boolean;
  /** Messages of the browser's console that the test expects. */
  expected?: RegExp;
}

export async function openPage(
  t: ExecutionContext,
  browser: Browser,
  url: string,
  { width = 1280, dark = false, expected }: ConsoleOptions = {},
): Promise<Page> {
  const context = await browser.newContext({
    viewport: { width, height: 800 },
    colorScheme: dark ? 'dark' : 'light',
    acceptDownloads: true,
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  // A busy machine needs more than the usual half minute.
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const faults: string[] = [];
  // The machine's, and not the page's: a container or another interface came or went.
  let networkChanged = false;
  page.on('pageerror', (error) => faults.push(`page: ${error.message}`));
  page.on('dialog', (dialog) => faults.push(`dialog: ${dialog.message()}`));
  page.on('console', (message) => {
    const text = message.text();
    if (text.includes('ERR_NETWORK_CHANGED')) {
      networkChanged = true;
      return;
    }
    if (message.type() === 'error' && !expected?.test(text)) faults.push(`console: ${text}`);
  });
  t.teardown(async () => {
    await context.close();
    if (faults.length > 0) throw new Error(faults.join('\n'));
  });
  await page.goto(url);
  for (let tried = 1; networkChanged && tried < LOADS; tried++) {
    networkChanged = false;
    await page.reload();
  }
  return page;
}

export async function signIn(page: Page, token: string): Promise<void> {
  await page.getByLabel('Admin token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Pages', exact: true }).waitFor();
}

/** `place` is what stands behind the #, such as `/models`. */
export async function openConsole(
  t: ExecutionContext,
  browser: Browser,
  gateway: Gateway,
  place: string,
  options?: ConsoleOptions,
): Promise<Page> {
  const page = await openPage(t, browser, `${gateway.adminUrl}/#${place}`, options);
  await signIn(page, gateway.adminToken);
  return page;
}

/** What axe finds serious or critical, as short lines: in an open dialog, else on the page. `only`: rules by id. */
export async function audit(page: Page, only?: string[]): Promise<string[]> {
  if (!(await page.evaluate('"axe" in globalThis'))) await page.evaluate(AXE);
  const context = (await page.locator('dialog[open]').count()) > 0 ? 'dialog[open]' : 'html';
  const run = async ({ context, only }: { context: string; only: string[] | undefined }) => {
    interface Finding {
      id: string;
      impact: string | null;
      nodes: { target: string[]; failureSummary?: string }[];
    }
    const { axe } = globalThis as unknown as {
      axe: { run(context: string, options: object): Promise<{ violations: Finding[] }> };
    };
    const { violations } = await axe.run(context, only ? { runOnly: only } : {});
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(' ')).join(', ')}`);
  };
  return page.evaluate(run, { context, only });
}
