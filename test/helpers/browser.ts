/** A real Chromium for tests of the console. */
import { type Browser, chromium } from 'playwright-core';
import { CHROMIUM, programOf } from './tools.js';

const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Nobody knows how long a busy machine takes. Playwright has a limit of its own without this one. */
const LAUNCH_MS = 600_000;

export async function launchBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: programOf(CHROMIUM), args: FLAGS, timeout: LAUNCH_MS });
}
