import type { Browser } from 'playwright-core';
import { audit, load, PATIENCE_MS } from '../helpers/console.js';
import type { World } from './world.js';

/** Through the pages of a real provider. Returns the number of steps, the address among them. */
export async function signInAtProvider({ gateway }: World, browser: Browser): Promise<string> {
  const context = await browser.newContext();
  context.setDefaultTimeout(PATIENCE_MS);
  try {
    const page = await context.newPage();
    await load(page, gateway.adminUrl);
    const first = page.getByRole('link', { name: 'Sign in with the test provider' });
    await first.waitFor();
    const findings = await audit(page);
    if (findings.length > 0) throw new Error(`axe: ${findings.join('; ')}`);
    await first.click();
    await page.getByPlaceholder('Enter any login').fill('ada');
    await page.getByPlaceholder('and password').fill('x');
    await page.getByRole('button', { name: 'Sign-in' }).click();
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('heading', { name: 'Live', level: 1 }).waitFor();
    return '6';
  } finally {
    await context.close();
  }
}
