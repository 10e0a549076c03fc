/** Nodes and package managers, brought by npm into a folder of this repository. They stay there for the next run. */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { REPOSITORY } from '../helpers/all-in-one.js';

const runFile = promisify(execFile);
const FOLDER = join(REPOSITORY, 'build', 'installs', 'tools');

/** Each Node with the npm that comes with it, and the other managers. They are named as npm names them. */
const NODES: Readonly<Record<string, string>> = { 20: 'npm@10', 22: 'npm@10', 24: 'npm@11' };
const MANAGERS = ['pnpm@latest', 'bun@1'];
const YARN = '@yarnpkg/cli-dist@4';
const REGISTRY = 'verdaccio@6';

export const NODE_VERSIONS = Object.keys(NODES);

export interface Tools {
  node: string;
  /** The PATH on which only these tools and the system's are found. */
  path: string;
  /** Words that run yarn 4. */
  yarn: string[];
}

export async function bringTools(node: string): Promise<Tools> {
  const own = await bring(`node-${node}`, [
    `node-${process.platform}-${process.arch}@${node}`,
    NODES[node] ?? 'npm@latest',
  ]);
  const program = join(own, `node_modules/node-${process.platform}-${process.arch}/bin`);
  const managers = await bring('managers', MANAGERS);
  const yarn = await bring('yarn', [YARN]);
  return {
    node: join(program, 'node'),
    path: [
      program,
      ...[own, managers].map((each) => join(each, 'node_modules/.bin')),
      '/usr/bin',
      '/bin',
    ].join(delimiter),
    yarn: [join(program, 'node'), join(yarn, 'node_modules/@yarnpkg/cli-dist/bin/yarn.js')],
  };
}

/** The program of a registry that asks npm's own one for what it does not have. */
export async function bringRegistry(): Promise<string> {
  return join(await bring('registry', [REGISTRY]), 'node_modules/verdaccio/bin/verdaccio');
}

async function bring(name: string, packages: readonly string[]): Promise<string> {
  const folder = join(FOLDER, name);
  const wanted = JSON.stringify(packages);
  const done = join(folder, 'brought.json');
  if (existsSync(done) && readFileSync(done, 'utf8') === wanted) return folder;
  mkdirSync(folder, { recursive: true });
  // verdaccio depends on a tag of node-fetch, and some mirrors know no tags.
  const manifest = { private: true, overrides: { 'node-fetch': '2.7.0' } };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  await runFile('npm', ['install', '--prefix', folder, '--no-audit', '--no-fund', ...packages]);
  writeFileSync(done, wanted);
  return folder;
}
