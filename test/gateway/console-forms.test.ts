/**
 * Every form of the console with bad input, in a real browser. The forms are found by walking: all pages of the navigation,
 * the first item of each page, and whatever their buttons open. So a form that is added later is tried, too.
 */
import { REDIS } from '@sluice/cli/start/find-redis';
import type { Browser, Locator, Page } from 'playwright-core';
import { adminOf } from '../helpers/admin.js';
import { launchBrowser } from '../helpers/browser.js';
import { openConsole, openPage } from '../helpers/console.js';
import { buttonsOf, clickable, drawn, go, placesOf } from '../helpers/console-walk.js';
import { type Gateway, startGateway } from '../helpers/gateway.js';
import { testNeeding } from '../helpers/test-needing.js';
import { CHROMIUM } from '../helpers/tools.js';
import { until } from '../helpers/until.js';

const test = testNeeding(REDIS, CHROMIUM);

const LONG = 'x'.repeat(5_000);
/** Of no type that a field has. Some are good in some fields: a name may be an emoji. */
const ODD = ['🚰🚰', '1e309', '-1', '  leading', 'zeta'];
/** Each is typed into a form in one go: what its field of a given number gets. */
const BAD: ((field: number) => string)[] = [
  () => '',
  () => '<script>window.hacked=1</script>',
  () => LONG,
  // Neighbours get different values, and a field gets another one in the next go.
  (field) => ODD[field % ODD.length] as string,
  (field) => ODD[(field + 2) % ODD.length] as string,
];
/** The rows of a long table have the same buttons. This many rows are more than there are kinds of them. */
const MOST_ALIKE = 12;
/** The gateway refuses, as it should. */
const REFUSED = /status of 4\d\d/;
const TYPED = 'input:not([type=radio]):not([type=checkbox]):not([type=date]):not([type=file]), textarea';
const WORDS = '.mistake:not(:empty), .notice, [role=alert], [aria-live]:not(:empty)';

let gateway: Gateway;
let browser: Browser;

test.before(async () => {
  [gateway, browser] = await Promise.all([startGateway(), launchBrowser()]);
  const admin = adminOf(gateway);
  // A name that exists. It is not the first workspace, whose forms are tried.
  await admin('POST', '/workspaces', { id: 'zeta' });
  const provider = { kind: 'openai', base_url: gateway.simulator.openaiBaseUrl };
  const keys = ['first', 'second'].map((name) => ({ name, api_key: `sk-${name}` }));
  await admin('PUT', '/providers/single', { ...provider, api_key: 'sk-1' });
  await admin('PUT', '/providers/pooled', { ...provider, keys });
  await admin('POST', '/tokens', { name: 'a program', role: 'viewer' });
  await gateway.chat({ model: 'fast', messages: [{ role: 'user', content: 'hello' }] });
});
test.after.always(async () => {
  await browser?.close();
  await gateway?.stop();
});

interface Found {
  what: string;
  /** Opens it anew. Undefined when it cannot be opened any more: what it was for is gone. */
  open(): Promise<Locator | undefined>;
}

/** `nth` tells apart buttons that say the same. */
async function openDialog(
  page: Page,
  place: string,
  button: string,
  nth: number,
): Promise<Locator | undefined> {
  await go(page, place);
  const openers = (await clickable(page)).getByText(button, { exact: true });
  if ((await openers.count()) <= nth) return undefined;
  await openers.nth(nth).click();
  const form = page.locator('dialog[open] form');
  // A button that opens nothing does its work at once, or changes what the page shows.
  await drawn(page);
  return (await form.count()) > 0 && (await form.locator(TYPED).count()) > 0 ? form : undefined;
}

async function formsOf(page: Page): Promise<Found[]> {
  const found: Found[] = [];
  for (const place of await placesOf(page)) {
    await go(page, place);
    const own = page.locator('main form');
    if ((await own.locator(TYPED).count()) > 0)
      found.push({
        what: place,
        async open() {
          await go(page, place);
          return own;
        },
      });
    const times = new Map<string, number>();
    const fieldsSeen = new Set<string>();
    for (const button of await buttonsOf(page)) {
      const nth = times.get(button) ?? 0;
      times.set(button, nth + 1);
      if (nth >= MOST_ALIKE) continue;
      const form = await openDialog(page, place, button, nth);
      if (!form) continue;
      // The buttons of a table's rows open one form, and it is tried once.
      const fields = `${button}: ${(await form.locator('label').allInnerTexts()).join(', ')}`;
      if (fieldsSeen.has(fields)) continue;
      fieldsSeen.add(fields);
      found.push({ what: `${place} ${fields}`, open: () => openDialog(page, place, button, nth) });
    }
  }
  return found;
}

/** What a form shows at one moment. Undefined when it is gone. */
async function lookAt(
  form: Locator,
): Promise<{ isBusy: boolean; says: boolean; typed: string[] } | undefined> {
  const look = (forms: unknown[], { typed, words }: { typed: string; words: string }) => {
    interface Part {
      value: string;
      disabled: boolean;
      checkVisibility(): boolean;
      querySelector(selector: string): Part | null;
      querySelectorAll(selector: string): Iterable<Part>;
    }
    const [form] = forms as Part[];
    return (
      form && {
        isBusy: form.querySelector('button[type=submit]')?.disabled ?? false,
        says: form.querySelector(words) !== null,
        typed: [...form.querySelectorAll(typed)]
          .filter((field) => field.checkVisibility())
          .map(({ value }) => value),
      }
    );
  };
  return form.evaluateAll(look, { typed: TYPED, words: WORDS });
}

/** Writes all fields in one go, as Playwright writes one. The form is drawn after each. */
async function fill(fields: unknown[], values: readonly string[]): Promise<void> {
  interface Field {
    value: string;
    focus(): void;
    dispatchEvent(event: Event): void;
  }
  for (const [i, field] of (fields as Field[]).entries()) {
    field.focus();
    const { set } = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), 'value') ?? {};
    set?.call(field, values[i]);
    field.dispatchEvent(new Event('input', { bubbles: true, composed: true }));
    field.dispatchEvent(new Event('change', { bubbles: true }));
    await new Promise((drawn) => setTimeout(drawn, 0));
  }
}

/** What is wrong with how the form took the value; empty when it was accepted, or refused in words. */
async function tryForm(page: Page, form: Locator, value: (field: number) => string): Promise<string[]> {
  const fields = form.locator(TYPED).locator('visible=true');
  const count = await fields.count();
  // A form of choices only.
  if (count === 0) return [];
  const values = Array.from({ length: count }, (_, i) => value(i));
  await fields.evaluateAll(fill, values);
  const button = form.locator('button[type=submit]');
  const isFilter = (await button.count()) === 0;
  const isSent = !isFilter && (await button.isEnabled());
  if (isSent) await button.click();
  else await fields.first().press('Enter');
  const wrong: string[] = [];
  await until('an outcome', async () => {
    const seen = await lookAt(form);
    if (!seen) return 'accepted';
    // What it says now is from before.
    if (isSent && seen.isBusy) return undefined;
    if (seen.says) {
      for (let i = 0; i < count; i++)
        if (seen.typed[i]?.trim() !== value(i).trim()) wrong.push(`forgot field ${i + 1}`);
      return 'said';
    }
    if ((await page.locator('main .answer, main .notice.bad').count()) > 0) return 'answered';
    return isFilter && 'filtered';
  }).catch(() => wrong.push('says nothing'));
  if (!(await page.locator('h1:visible, h2:visible').count())) wrong.push('is blank');
  return wrong;
}

test.serial('every form says in words what is wrong, keeps what was typed, and breaks nothing', async (t) => {
  const page = await openConsole(t, browser, gateway, '/live', { expected: REFUSED });
  const forms = await formsOf(page);
  const names = forms.map(({ what }) => what);
  t.log(names.join('\n'));
  // The walk itself works.
  for (const known of ['Create a workspace', 'Add a provider', 'Issue a key', 'Change limits', 'New route'])
    t.true(
      names.some((name) => name.includes(known)),
      known,
    );
  const wrong: string[] = [];
  for (const { what, open } of forms) {
    let form = await open();
    for (const value of BAD) {
      if (!form || (await form.count()) === 0) form = await open();
      if (!form) {
        wrong.push(`${what}: is gone`);
        break;
      }
      for (const each of await tryForm(page, form, value))
        wrong.push(`${what}: ${each} (${value(0).slice(0, 12)} …)`);
    }
  }
  t.deepEqual(wrong, []);
  t.is(await page.evaluate('window.hacked'), undefined);
});

test.serial('the sign-in says in words what is wrong', async (t) => {
  const page = await openPage(t, browser, gateway.adminUrl, { expected: REFUSED });
  const form = page.locator('form');
  await form.waitFor();
  for (const value of BAD) t.deepEqual(await tryForm(page, form, value), [], value(0).slice(0, 12));
});
