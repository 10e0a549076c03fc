/** A real Chromium for tests of the console: the one of this machine, else Debian's package. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';

const PROGRAMS = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
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

function findChromium(): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/bin', '/usr/local/bin', '/snap/bin'];
  return PROGRAMS.flatMap((program) => folders.map((folder) => join(folder, program))).find(existsSync);
}

function installChromium(): void {
  const how = 'apt-get install -y --no-install-recommends chromium';
  if (process.getuid?.() !== 0)
    throw new Error(`no Chromium found: install one, on Debian with "sudo ${how}"`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const apt = (...args: string[]) => spawnSync('apt-get', args, { encoding: 'utf8', env });
  const install = () => apt('install', '-y', '--no-install-recommends', 'chromium');
  if (install().status === 0) return;
  apt('update');
  const { status, stderr } = install();
  if (status !== 0) throw new Error(`no Chromium found, and "${how}" failed:\n${stderr}`);
}

export async function launchBrowser(): Promise<Browser> {
  if (!findChromium()) installChromium();
  const executablePath = findChromium();
  if (!executablePath) throw new Error('no Chromium found');
  return chromium.launch({ executablePath, args: FLAGS });
}
