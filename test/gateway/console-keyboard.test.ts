/**
 * Every page of the console, and every dialog that its buttons open, by keyboard alone: Tab reaches each control in the order
 * of the page, the one that has the focus can be told, Enter does what it says, and Escape leads back to where one was.
 */
import { REDIS } from '@sluice/cli/start/find-redis';
import type { Browser, Page } from 'playwright-core';
import { adminOf } from '../helpers/admin.js';
import { launchBrowser } from '../helpers/browser.js';
import { openConsole, waitForNoDialog } from '../helpers/console.js';
import { buttonsOf, clickable, drawn, go, placesOf } from '../helpers/console-walk.js';
import { type Gateway, startGateway } from '../helpers/gateway.js';
import { testNeeding } from '../helpers/test-needing.js';
import { CHROMIUM } from '../helpers/tools.js';

const test = testNeeding(REDIS, CHROMIUM);

const WALKS = 5;
/** So many times Tab is pressed before the page is asked where that has led. */
const TABS = 10;

let gateway: Gateway;
let browser: Browser;

test.before(async () => {
  [gateway, browser] = await Promise.all([startGateway(), launchBrowser()]);
  const admin = adminOf(gateway);
  const provider = { kind: 'openai', base_url: gateway.simulator.openaiBaseUrl };
  await admin('PUT', '/providers/single', { ...provider, api_key: 'sk-1' });
  await admin('POST', '/tokens', { name: 'a program', role: 'viewer' });
  await admin('POST', '/alerts', { when: 'provider_down', webhook: 'https://nobody.invalid/hook' });
  await gateway.chat({ model: 'fast', messages: [{ role: 'user', content: 'hello' }] });
});
test.after.always(async () => {
  await browser?.close();
  await gateway?.stop();
});

/** Of the page, or of the dialog that covers it. */
interface Stop {
  /** Which of the elements that had the focus so far. -1: none has it. */
  number: number;
  name: string;
  wrong: string[];
}

interface Part {
  id: string;
  tagName: string;
  type?: string;
  checked?: boolean;
  disabled?: boolean;
  tabIndex: number;
  textContent: string | null;
  parentElement: Part | null;
  matches(selector: string): boolean;
  closest(selector: string): Part | null;
  contains(other: Part | null): boolean;
  getAttribute(name: string): string | null;
  querySelectorAll(selector: string): Iterable<Part>;
  compareDocumentPosition(other: Part): number;
  checkVisibility(options: object): boolean;
  getBoundingClientRect(): { top: number; bottom: number; width: number; height: number };
  focus(): void;
}
interface Window {
  visited: Part[];
  stops: Stop[];
  noteStop: (event: { type: string; relatedTarget?: unknown }) => void;
  submitted: boolean;
  innerHeight: number;
  document: {
    body: Part;
    activeElement: Part | null;
    querySelector(selector: string): Part | null;
    querySelectorAll(selector: string): Iterable<Part>;
    addEventListener(type: string, listener: Window['noteStop'] | (() => void), capture?: boolean): void;
  };
  getComputedStyle(part: Part): { outlineStyle: string; outlineWidth: string; outlineColor: string };
}

/** From now on the page keeps what gets the focus, one after another, and what is wrong with that. */
function beginAgain(): void {
  const page = globalThis as unknown as Window;
  const { document } = page;
  page.visited = [];
  page.stops = [];
  // The same function is added once.
  page.noteStop ??= ({ type, relatedTarget }) => {
    // It leaves one part for another, or the page.
    if (type === 'focusin' || relatedTarget === null) page.stops.push(lookAtFocus());
  };
  for (const type of ['focusin', 'focusout']) document.addEventListener(type, page.noteStop);
  // From the top: Tab goes on from what had the focus last.
  const scope = document.querySelector('dialog[open]') ?? document.querySelector('#app') ?? document.body;
  const [first] = scope.querySelectorAll('button, a[href], input, select');
  if (first === document.activeElement) page.noteStop({ type: 'focusin' });
  else first?.focus();
}

/** What has the focus now, and what is wrong with that. */
function lookAtFocus(): Stop {
  const { visited, document, innerHeight, getComputedStyle } = globalThis as unknown as Window;
  const now = document.activeElement;
  if (!now || now === document.body) return { number: -1, name: '', wrong: [] };
  const name = (now.getAttribute('aria-label') ?? now.textContent ?? '').trim().slice(0, 40);
  const wrong: string[] = [];
  const before = visited.at(-1);
  if (!visited.includes(now)) {
    const FOLLOWING = 4;
    if (before && (before.compareDocumentPosition(now) & FOLLOWING) === 0) wrong.push('comes out of order');
    visited.push(now);
  }
  // A radio button is drawn by its label.
  const hasOutline = (part: Part | null) => {
    if (!part) return false;
    const { outlineStyle, outlineWidth, outlineColor } = getComputedStyle(part);
    return outlineStyle !== 'none' && Number.parseFloat(outlineWidth) > 0 && !/, 0\)$/.test(outlineColor);
  };
  if (!hasOutline(now) && !hasOutline(now.closest('label'))) wrong.push('does not show the focus');
  const { top, bottom } = (now.closest('label') ?? now).getBoundingClientRect();
  if (bottom <= 0 || top >= innerHeight) wrong.push('is out of sight');
  const dialog = document.querySelector('dialog[open]');
  if (dialog && !dialog.contains(now)) wrong.push('lies below the dialog');
  return { number: visited.indexOf(now), name: `${now.tagName} ${name}`, wrong };
}

/** The controls that can be seen and had no focus yet. */
function findUnreached(): string[] {
  const { visited, document } = globalThis as unknown as Window;
  const scope = document.querySelector('dialog[open]') ?? document.body;
  const controls = 'a[href], button, input, select, textarea, summary, [tabindex="0"]';
  return (
    [...scope.querySelectorAll(controls)]
      .filter((part) => !part.disabled && part.tabIndex >= 0 && !visited.includes(part))
      .filter((part) => part.checkVisibility({ visibilityProperty: true }))
      // One of a group of radio buttons has the focus; arrows lead to the others.
      .filter((part) => part.type !== 'radio' || part.checked === true)
      .map((part) => `${part.tagName} ${(part.getAttribute('aria-label') ?? part.textContent ?? '').trim()}`)
  );
}

/** Tab, until what comes was there already. Returns what is wrong. */
async function tabThrough(page: Page): Promise<string[]> {
  await page.evaluate(`globalThis.lookAtFocus = ${lookAtFocus}`);
  await page.evaluate(beginAgain);
  for (let seen = 0; ; ) {
    const stops = await page.evaluate<Stop[]>('stops');
    const end = stops.findIndex(({ number }, i) => i > 0 && number <= (stops[i - 1] as Stop).number);
    if (end > 0 || stops.length === seen)
      return stops
        .slice(0, end > 0 ? end : undefined)
        .flatMap(({ name, wrong }) => wrong.map((each) => `${name}: ${each}`));
    seen = stops.length;
    for (let i = 0; i < TABS; i++) await page.keyboard.press('Tab');
  }
}

/** A page may be drawn anew meanwhile. Then it is walked through once more. */
async function walk(page: Page): Promise<string[]> {
  let wrong: string[] = [];
  for (let tried = 0; tried < WALKS; tried++) {
    wrong = await tabThrough(page);
    for (const unreached of await page.evaluate(findUnreached)) wrong.push(`${unreached}: is not reached`);
    if (wrong.length === 0) break;
  }
  return wrong;
}

/** Opens what the button opens, and comes back. Undefined: it opens nothing. */
async function tryButton(page: Page, place: string, button: string): Promise<string[] | undefined> {
  if (!(await openBy(page, place, button))) return undefined;
  const wrong = await walk(page);
  await page.keyboard.press('Escape');
  await waitForNoDialog(page);
  const back = await focused(page);
  if (back !== button) wrong.push(`Escape leads to “${back}”`);
  if (await openBy(page, place, button)) {
    const field = page
      .locator('dialog[open] form:has(button[type=submit])')
      .locator('input:not([type]), input[type=text]')
      .locator('visible=true')
      .first();
    if ((await field.count()) > 0) {
      await page.evaluate(watchSubmit);
      await field.focus();
      await page.keyboard.press('Enter');
      if (!(await page.evaluate('submitted'))) wrong.push('Enter in a field does not send the form');
    }
  }
  return wrong;
}

async function openBy(page: Page, place: string, button: string): Promise<boolean> {
  await go(page, place);
  const opener = (await clickable(page)).getByText(button, { exact: true }).first();
  if ((await opener.count()) === 0) return false;
  await opener.focus();
  await page.keyboard.press('Enter');
  await drawn(page);
  return (await page.locator('dialog[open]').count()) > 0;
}

/** What the element that has the focus says. */
function focused(page: Page): Promise<string> {
  return page.evaluate<string>('document.activeElement.textContent.trim().slice(0, 40)');
}

function watchSubmit(): void {
  const page = globalThis as unknown as Window;
  page.submitted = false;
  page.document.addEventListener(
    'submit',
    () => {
      page.submitted = true;
    },
    true,
  );
}

test.serial('every page and dialog can be walked through by keyboard', async (t) => {
  const page = await openConsole(t, browser, gateway, '/live', { expected: /status of 4\d\d/ });
  const wrong: string[] = [];
  const dialogs: string[] = [];
  for (const place of await placesOf(page)) {
    await go(page, place);
    wrong.push(...(await walk(page)).map((each) => `${place}: ${each}`));
    if ((await page.locator('dialog[open]').count()) > 0) {
      await page.keyboard.press('Escape');
      await waitForNoDialog(page);
      continue;
    }
    for (const button of new Set(await buttonsOf(page))) {
      const found = await tryButton(page, place, button);
      if (!found) continue;
      dialogs.push(`${place} ${button}`);
      wrong.push(...found.map((each) => `${place} ${button}: ${each}`));
    }
  }
  t.log(dialogs.join('\n'));
  t.true(dialogs.length >= 10);
  t.deepEqual(wrong, []);
});

test.serial('after a dialog has done its work the focus is where it was opened', async (t) => {
  const page = await openConsole(t, browser, gateway, '/routes');
  t.true(await openBy(page, '#/routes', 'Edit'));
  await page.getByRole('dialog').getByLabel('Model').first().press('Enter');
  await waitForNoDialog(page);
  t.is(await focused(page), 'Edit');
});
