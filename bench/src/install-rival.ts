import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RIVALS } from './paths.js';

/** Installs a package for the bench only, outside our own lock file. Two versions may stand side by side. Returns its folder. */
export function installRival(name: string, version: string, say: (line: string) => void): string {
  const home = join(RIVALS, `${name.replace('/', '-')}-${version}`);
  const folder = join(home, 'node_modules', name);
  if (versionIn(folder) === version) return folder;
  say(`Installing ${name} ${version} for the bench …`);
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, 'package.json'), JSON.stringify({ private: true }));
  const args = [
    'install',
    '--no-audit',
    '--no-fund',
    '--save-exact',
    '--ignore-scripts',
    `${name}@${version}`,
  ];
  // Under `npm run` the environment holds npm's settings for our own project.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([key]) => !/^npm_(?!config_)/.test(key)),
  );
  const { status, stderr } = spawnSync('npm', args, { cwd: home, env, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${name} could not be installed:\n${stderr.slice(-1_000)}`);
  return folder;
}

function versionIn(folder: string): string | undefined {
  const file = join(folder, 'package.json');
  return existsSync(file)
    ? (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
    : undefined;
}
