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

export async function launchBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: programOf(CHROMIUM), args: FLAGS });
}
