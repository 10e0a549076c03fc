/** Goes through the console as it is: whatever page or button is added later is found, too. */
import type { Locator, Page } from 'playwright-core';

/** A click has been drawn when two frames have passed: dialogs open without asking the gateway. */
export async function drawn(page: Page): Promise<void> {
  await page.evaluate(
    'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0))))',
  );
}

/**
 * Leaves what is open, goes to the place and waits until it is there. The page watches itself: asking it again and again takes
 * most of the time of a walk. `place` begins with #.
 */
export async function go(page: Page, place: string): Promise<void> {
  await page.evaluate(walkTo, place);
}

function walkTo(place: string): Promise<void> {
  interface Page {
    addEventListener(event: 'hashchange', run: (event: { newURL: string }) => void): void;
    removeEventListener(event: 'hashchange', run: (event: { newURL: string }) => void): void;
    location: { hash: string; href: string };
    document: {
      querySelector(selector: string): { textContent: string } | null;
      querySelectorAll(selector: string): Iterable<{ close(): void }>;
    };
    requestAnimationFrame(run: () => void): void;
  }
  const page = globalThis as unknown as Page;
  const { document, location, requestAnimationFrame } = page;
  const until = (isSo: () => boolean) =>
    new Promise<void>((done) => {
      const look = () => (isSo() ? setTimeout(done, 0) : requestAnimationFrame(look));
      requestAnimationFrame(() => requestAnimationFrame(look));
    });
  const has = (selector: string) => document.querySelector(selector) !== null;
  // A change of the machine's network ends what the page asked for. The page asks again two seconds later.
  const triesAgain = () =>
    document.querySelector('main')?.textContent.includes('This page tries again by itself') ?? false;
  for (const open of document.querySelectorAll('dialog[open]')) open.close();
  // A busy browser may draw the page of before several times until it tells of the new place.
  const toldOf = (place: string) =>
    new Promise<void>((done) => {
      const listen = ({ newURL }: { newURL: string }) => {
        if (newURL !== place) return;
        page.removeEventListener('hashchange', listen);
        done();
      };
      page.addEventListener('hashchange', listen);
    });
  // The page follows with what it does at the end of a dialog, such as going back.
  return until(() => !has('dialog')).then(() => {
    const before = location.href;
    location.hash = place;
    return (location.href === before ? Promise.resolve() : toldOf(location.href)).then(() =>
      until(() => has('h1') && !has('.loading') && !triesAgain()),
    );
  });
}

/** The pages of the navigation, and of each the first item that it links to. */
export async function placesOf(page: Page): Promise<string[]> {
  const links = page.getByRole('navigation', { name: 'Pages', exact: true }).getByRole('link');
  await links.first().waitFor();
  const places: string[] = [];
  for (const link of await links.all()) {
    const place = (await link.getAttribute('href')) ?? '';
    await go(page, place);
    const item = page.locator(`main a[href^="${place}/"]`).first();
    places.push(place, ...((await item.count()) > 0 ? [(await item.getAttribute('href')) ?? ''] : []));
  }
  return places;
}

/** The buttons that can be clicked: an open dialog covers the page. */
export async function clickable(page: Page): Promise<Locator> {
  const scope = (await page.locator('dialog[open]').count()) > 0 ? 'dialog[open]' : 'main';
  return page.locator(`${scope} button[type=button]:enabled:visible`);
}

/** What each button says. */
export async function buttonsOf(page: Page): Promise<string[]> {
  const texts = await (await clickable(page)).allInnerTexts();
  return texts.map((text) => text.trim()).filter(Boolean);
}
