/** The ways to install the package, each in an empty folder of its own. */
import type { Tools } from './tools.js';

export interface Way {
  manager: 'npm' | 'pnpm' | 'yarn' | 'bun';
  /** As a person would type it. */
  shown: string;
  /** Commands that come first. */
  install: string[][];
  /** The command that `sluice start` becomes. */
  start: string[];
  env?: Record<string, string>;
  /** Takes the package from the registry, by its name. */
  fromRegistry?: boolean;
}

export function waysOf(tarball: string, { yarn }: Tools): Way[] {
  return [
    {
      manager: 'npm',
      shown: 'npx sluice start',
      install: [],
      start: ['npx', '--yes', 'sluice', 'start'],
      fromRegistry: true,
    },
    {
      manager: 'npm',
      shown: 'npm install',
      install: [['npm', 'install', tarball]],
      start: ['npx', 'sluice', 'start'],
    },
    {
      manager: 'npm',
      shown: 'npm install --global',
      install: [['npm', 'install', '--global', tarball]],
      start: ['sluice', 'start'],
    },
    {
      manager: 'npm',
      shown: 'npx --package <tarball> sluice start',
      install: [],
      start: ['npx', '--yes', '--package', tarball, 'sluice', 'start'],
    },
    {
      manager: 'pnpm',
      shown: 'pnpm add --ignore-scripts',
      install: [['pnpm', 'add', '--ignore-scripts', tarball]],
      start: ['pnpm', 'exec', 'sluice', 'start'],
    },
    {
      manager: 'pnpm',
      shown: 'pnpm add --global',
      install: [['pnpm', 'add', '--global', tarball]],
      start: ['sluice', 'start'],
    },
    {
      manager: 'pnpm',
      shown: 'pnpm dlx <tarball> start',
      install: [],
      start: ['pnpm', 'dlx', tarball, 'start'],
    },
    ...['node-modules', 'pnp'].map(
      (linker): Way => ({
        manager: 'yarn',
        shown: `yarn add (nodeLinker: ${linker})`,
        env: { YARN_NODE_LINKER: linker },
        install: [[...yarn, 'add', `sluice@file:${tarball}`]],
        start: [...yarn, 'run', 'sluice', 'start'],
      }),
    ),
    {
      manager: 'bun',
      shown: 'bun add',
      install: [['bun', 'add', tarball]],
      start: ['bunx', 'sluice', 'start'],
    },
    {
      manager: 'bun',
      shown: 'bun add --global',
      install: [['bun', 'add', '--global', tarball]],
      start: ['sluice', 'start'],
    },
    {
      manager: 'bun',
      shown: 'bunx sluice start',
      install: [],
      start: ['bunx', 'sluice', 'start'],
      fromRegistry: true,
    },
  ];
}
