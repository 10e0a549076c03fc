/** The console in a real browser, signed in. Whatever the page did wrong on the way fails the test that opened it. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { ExecutionContext } from 'ava';
import type { Browser, ConsoleMessage, Page } from 'playwright-core';
import type { Gateway } from './gateway.js';

const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

/** The machine's doing, and not the page's: a container or another interface came or went. */
const NETWORK_CHANGED = 'ERR_NETWORK_CHANGED';
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
  page.on('pageerror', (error) => faults.push(`page: ${error.message}`));
  page.on('dialog', (dialog) => faults.push(`dialog: ${dialog.message()}`));
  page.on('console', (message) => {
    const text = message.text();
    if (text.includes(NETWORK_CHANGED)) return;
    if (message.type() === 'error' && !expected?.test(text)) faults.push(`console: ${text}`);
  });
  t.teardown(async () => {
    await context.close();
    if (faults.length > 0) throw new Error(faults.join('\n'));
  });
  await load(page, url);
  return page;
}

/** Goes to the address, or loads the page anew without one; once more when the machine's network changed meanwhile. */
export async function load(page: Page, url?: string): Promise<void> {
  let changed = false;
  const watch = (message: ConsoleMessage) => {
    changed ||= message.text().includes(NETWORK_CHANGED);
  };
  page.on('console', watch);
  await (url === undefined ? page.reload() : page.goto(url));
  for (let tried = 1; changed && tried < LOADS; tried++) {
    changed = false;
    await page.reload();
  }
  page.off('console', watch);
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
