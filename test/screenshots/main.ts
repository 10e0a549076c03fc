/**
 * `npm run screenshots`: the console's pages as they look after a load run, written to docs/images/. With `-- --timings`
 * it takes no pictures and prints how soon each page is painted. With `-- --states FOLDER` it takes every page in every state
 * instead, for somebody to look at.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { REPOSITORY } from '../helpers/all-in-one.js';
import { launchBrowser } from '../helpers/browser.js';
import { load, PATIENCE_MS } from '../helpers/console.js';
import { startRealGateway } from '../helpers/gateway.js';
import { addDetails, backdateSpend, GATEWAY, runLoad } from './load.js';
import { takeStates } from './states.js';
import { takeTimings } from './timings.js';

const FOLDER = join(REPOSITORY, 'docs/images');
const HELP = `npm run screenshots -- [name...] [options]

  name             only these pictures; all without one
  --states FOLDER  every page in every state into this folder, for somebody to look at
  --timings        no pictures: how soon each page is painted
  --help           this text
`;
const { values, positionals: wanted } = parseArgs({
  options: {
    timings: { type: 'boolean', default: false },
    states: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
  allowPositionals: true,
});
if (values.help) {
  process.stdout.write(HELP);
  process.exit();
}
const timingsOnly = values.timings;
const LOAD_MS = timingsOnly ? 5_000 : 75_000;

interface Shot {
  name: string;
  place: string;
  dark?: boolean;
  narrow?: boolean;
  before?(page: Page): Promise<void>;
}

const openFallback = async (page: Page) => {
  await page
    .getByRole('row', { name: /fallback/ })
    .first()
    .getByRole('link')
    .click();
  await page.getByRole('dialog').getByText('Settled', { exact: true }).waitFor();
};
const chatWithTwo = async (page: Page) => {
  await page.getByLabel('Compare with').fill('gpt-4o');
  await page.getByLabel('Message').fill('Name three uses of a sluice.');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('x-gateway-cost-usd').nth(1).waitFor();
};
const openHistory = async (page: Page) => {
  await page.getByText('The last hour by entry').first().click();
  await page.locator('canvas').nth(1).waitFor();
};
const editRoute = async (page: Page) => {
  await page.getByRole('button', { name: 'Edit fast' }).click();
  await page.getByRole('dialog').waitFor();
};

const addProvider = async (page: Page) => {
  await page.getByRole('button', { name: 'Add a provider' }).click();
  await page.getByRole('dialog').getByLabel('Provider', { exact: true }).selectOption('azure');
};

const addAlert = async (page: Page) => {
  await page.getByRole('button', { name: 'Add an alert' }).click();
  await page.getByRole('dialog').getByLabel('Mail to').fill('ops@example.com');
};

const SHOTS: Shot[] = [
  { name: 'live', place: '/live?range=5m' },
  { name: 'live-phone', place: '/live?range=5m', narrow: true },
  { name: 'providers', place: '/providers' },
  { name: 'provider-editor', place: '/providers', before: addProvider },
  { name: 'requests-phone', place: '/requests', narrow: true },
  { name: 'request', place: '/requests', before: openFallback },
  { name: 'request-phone-dark', place: '/requests', dark: true, narrow: true, before: openFallback },
  { name: 'route-history', place: '/routes?search=fast', before: openHistory },
  { name: 'route-editor', place: '/routes', before: editRoute },
  { name: 'spend-dark', place: '/spend?days=30&by=model', dark: true },
  { name: 'workspace', place: '/workspaces/support' },
  { name: 'alert-editor', place: '/alerts', before: addAlert },
  { name: 'playground', place: '/playground', before: chatWithTwo },
];

async function take(browser: Browser, url: string, token: string, shot: Shot): Promise<void> {
  const context = await browser.newContext({
    viewport: shot.narrow ? { width: 390, height: 780 } : { width: 1280, height: 820 },
    colorScheme: shot.dark ? 'dark' : 'light',
  });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  await load(page, `${url}/#${shot.place}`);
  await page.getByLabel('Admin token').fill(token);
  await page.keyboard.press('Enter');
  await page.getByRole('navigation', { name: 'Pages', exact: true }).waitFor();
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.locator('.loading').first().waitFor({ state: 'detached' });
  if (/live|spend/.test(shot.name)) await page.locator('canvas').first().waitFor();
  await shot.before?.(page);
  await page.mouse.move(0, 0);
  await page.screenshot({ path: join(FOLDER, `${shot.name}.png`), animations: 'disabled' });
  await context.close();
}

const say = (line: string) => process.stdout.write(`${line}\n`);
const browser = await launchBrowser();
try {
  if (values.states) await takeStates(browser, values.states, say);
  else await takeShots();
} finally {
  await browser.close();
}

async function takeShots(): Promise<void> {
  mkdirSync(FOLDER, { recursive: true });
  const gateway = await startRealGateway(GATEWAY);
  try {
    say(`Sending requests for ${LOAD_MS / 1000} s …`);
    const requests = runLoad(gateway);
    await addDetails(gateway);
    await new Promise((resolve) => setTimeout(resolve, LOAD_MS));
    await backdateSpend(gateway);
    if (timingsOnly) {
      await requests.stop();
      say('page        first paint   first contentful paint   data after sign-in');
      for (const timing of await takeTimings(browser, gateway.adminUrl, gateway.adminToken)) {
        const [paint, contentful, data] = [timing.firstPaint, timing.firstContentfulPaint, timing.data];
        say(`${timing.page.padEnd(12)}${`${paint} ms`.padEnd(14)}${`${contentful} ms`.padEnd(25)}${data} ms`);
      }
    }
    for (const shot of timingsOnly ? [] : SHOTS) {
      if (wanted.length > 0 && !wanted.includes(shot.name)) continue;
      await take(browser, gateway.adminUrl, gateway.adminToken, shot);
      say(`docs/images/${shot.name}.png`);
    }
    await requests.stop();
  } finally {
    await gateway.stop();
  }
}
