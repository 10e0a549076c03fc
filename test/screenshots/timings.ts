import type { Browser, CDPSession } from 'playwright-core';

const PAGES: readonly (readonly [name: string, content: string])[] = [
  ['live', '.tiles'],
  ['requests', 'tbody tr'],
  ['routes', 'article.route'],
  ['models', 'tbody tr'],
  ['spend', 'tbody tr'],
  ['keys', 'tbody tr'],
  ['playground', 'textarea'],
];
const ROUNDS = 5;

interface Timing {
  page: string;
  firstPaint: number;
  firstContentfulPaint: number;
  /** From the sign-in's Enter to the page's data. */
  data: number;
}

/** In ms, of a browser that has nothing of it in its cache: the middle one of five rounds for each figure. */
export async function takeTimings(browser: Browser, url: string, token: string): Promise<Timing[]> {
  const timings: Timing[] = [];
  for (const [name, content] of PAGES) {
    const rounds: Omit<Timing, 'page'>[] = [];
    for (let i = 0; i < ROUNDS; i++) rounds.push(await takeOne(browser, `${url}/#/${name}`, token, content));
    const middle = (figure: keyof Omit<Timing, 'page'>) =>
      Math.round(rounds.map((round) => round[figure]).sort((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? 0);
    timings.push({
      page: name,
      firstPaint: middle('firstPaint'),
      firstContentfulPaint: middle('firstContentfulPaint'),
      data: middle('data'),
    });
  }
  return timings;
}

async function takeOne(browser: Browser, url: string, token: string, content: string) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 820 } });
  const page = await context.newPage();
  const session: CDPSession = await context.newCDPSession(page);
  await session.send('Network.setCacheDisabled', { cacheDisabled: true });
  await page.goto(url);
  await page.getByLabel('Admin token').fill(token);
  const paints = await page.evaluate<Record<string, number>>(
    'Object.fromEntries(performance.getEntriesByType("paint").map(({ name, startTime }) => [name, startTime]))',
  );
  const began = performance.now();
  await page.keyboard.press('Enter');
  await page.locator(content).first().waitFor();
  const data = performance.now() - began;
  await context.close();
  return {
    firstPaint: paints['first-paint'] ?? Number.NaN,
    firstContentfulPaint: paints['first-contentful-paint'] ?? Number.NaN,
    data,
  };
}
