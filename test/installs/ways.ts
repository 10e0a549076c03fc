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
  /** Takes the package from the registry, by its name. */
  fromRegistry?: boolean;
}

export function waysOf(tarball: string, { yarn }: Tools): Way[] {
  const file = `file:${tarball}`;
  const settle = [...yarn, 'config', 'set'];
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
    {
      manager: 'yarn',
      shown: 'yarn add (1)',
      install: [['yarn', 'add', file]],
      start: ['yarn', 'run', 'sluice', 'start'],
    },
    {
      manager: 'yarn',
      shown: 'yarn global add (1)',
      install: [['yarn', 'global', 'add', file]],
      start: ['sluice', 'start'],
    },
    {
      manager: 'yarn',
      shown: 'yarn add (4, node-modules)',
      install: [
        [...settle, 'nodeLinker', 'node-modules'],
        [...yarn, 'add', `sluice@${file}`],
      ],
      start: [...yarn, 'run', 'sluice', 'start'],
    },
    {
      manager: 'yarn',
      shown: "yarn add (4, Plug'n'Play)",
      install: [
        [...settle, 'nodeLinker', 'pnp'],
        [...yarn, 'add', `sluice@${file}`],
      ],
      start: [...yarn, 'run', 'sluice', 'start'],
    },
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
