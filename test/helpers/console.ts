/** The console in a real browser, signed in. Whatever the page did wrong on the way fails the test that opened it. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { ExecutionContext } from 'ava';
import type { Browser, Page, Request } from 'playwright-core';
import type { Gateway } from './gateway.js';

const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

/** The machine's doing, and not the page's: a container or another interface came or went. */
const NETWORK_CHANGED = 'ERR_NETWORK_CHANGED';
const LOADS = 8;
/** Only "never" is a failure. Playwright has a limit of its own without this one. */
export const PATIENCE_MS = 600_000;
const QUIET_MS = 10_000;

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

/**
 * Goes to the address, or loads the page anew without one. It does so once more when the machine's network changed meanwhile:
 * then a module is missing, and a browser does not ask for it again. Modules of the console also come after its first ones, so
 * the page is waited for until it asks for nothing. A page that always asks is waited for no longer than a while.
 */
export async function load(page: Page, url?: string): Promise<void> {
  let address = url;
  for (let tries = LOADS; ; tries--) {
    let changed = false;
    const watch = (request: Request) => {
      changed ||= request.failure()?.errorText.includes(NETWORK_CHANGED) ?? false;
    };
    page.on('requestfailed', watch);
    try {
      await (address === undefined ? page.reload() : page.goto(address));
      // Going to the same address once more would only change the place within the page.
      address = undefined;
      await page.waitForLoadState('networkidle', { timeout: QUIET_MS }).catch(() => {});
    } catch (error) {
      if (tries === 1 || !String(error).includes(NETWORK_CHANGED)) throw error;
      changed = true;
    } finally {
      page.off('requestfailed', watch);
    }
    if (!changed || tries === 1) return;
  }
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

/** Holds when the page is, or soon comes, at this place, which begins with #. An address follows what people do with a delay. */
export async function isAt(t: ExecutionContext, page: Page, place: string | RegExp): Promise<void> {
  const isThere = ({ hash }: URL) => (typeof place === 'string' ? hash === place : place.test(hash));
  // The assertion tells where the page is instead.
  await page.waitForURL(isThere).catch(() => {});
  const { hash } = new URL(page.url());
  if (typeof place === 'string') t.is(hash, place);
  else t.regex(hash, place);
}

/**
 * Waits until there is no dialog. The browser closes one on Escape, and tells the page a moment later: until then the address
 * is still the dialog's. So a role or `dialog[open]` does not find it any more while it is still there.
 */
export async function waitForNoDialog(page: Page): Promise<void> {
  await page.locator('dialog').first().waitFor({ state: 'detached' });
}

/** What axe finds serious or critical, as short lines: in an open dialog, else on the page. `only`: rules by id. */
export async function audit(page: Page, only?: string[]): Promise<string[]> {
  if (!(await page.evaluate('"axe" in globalThis'))) await page.evaluate(AXE);
  const run = async (only: string[] | undefined) => {
    interface Finding {
      id: string;
      impact: string | null;
      nodes: { target: string[]; failureSummary?: string }[];
    }
    const { axe, document } = globalThis as unknown as {
      axe: { run(context: object, options: object): Promise<{ violations: Finding[] }> };
      document: { querySelector(selector: string): object | null };
    };
    const context = document.querySelector('dialog[open]') ?? document;
    const { violations } = await axe.run(context, only ? { runOnly: only } : {});
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(' ')).join(', ')}`);
  };
  return page.evaluate(run, only);
}
