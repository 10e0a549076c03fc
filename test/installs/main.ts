/**
 * `npm run installs`: packs the package, publishes it to a registry of its own by the command of the release workflow,
 * installs it in every way, and asks each installation for a first answer. Exits with 1 when something does not hold.
 */
import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { chat, keyOf, REPOSITORY, start } from '../helpers/all-in-one.js';
import { figuresSaver } from '../helpers/save-figures.js';
import { publish, startRegistry } from './registry.js';
import { bringTools, NODE_VERSIONS } from './tools.js';
import { type Way, waysOf } from './ways.js';

const HELP = `npm run installs -- [options]

  --node 22       only with this Node (${NODE_VERSIONS.join(', ')}); may be repeated
  --only pnpm     only with this manager (npm, pnpm, yarn, bun); may be repeated
  --pin name=1.2  this version of a dependency, for a registry that lacks some parts of the newest one: yarn asks for those of
                  every platform; may be repeated
  --save docs     write the figures to docs/reliability.md, if all held
  --help          this text

Brings the Nodes, the managers and a registry into build/installs, from npm's registry. It takes about ten minutes.
`;

const runFile = promisify(execFile);
const { values } = parseArgs({
  options: {
    node: { type: 'string', multiple: true, default: NODE_VERSIONS },
    only: { type: 'string', multiple: true },
    pin: { type: 'string', multiple: true, default: [] },
    save: { type: 'string' },
    help: { type: 'boolean' },
  },
});
if (values.help) process.stdout.write(HELP);
else await tryAll();

async function tryAll(): Promise<void> {
  const save = figuresSaver('installs', values.save);
  execFileSync(process.execPath, ['release/dist/main.js', '--pack'], { cwd: REPOSITORY, stdio: 'inherit' });
  const { version } = JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8'));
  const tarball = join(REPOSITORY, `build/sluice-${version}.tgz`);
  const folder = mkdtempSync(join(tmpdir(), 'sluice-installs-'));
  const registry = await startRegistry(folder, '24');
  const seen = new Map<string, string[]>();
  let failures = 0;
  try {
    publish(registry, version);
    for (const node of values.node) {
      const tools = await bringTools(node);
      for (const way of waysOf(tarball, tools).filter(
        ({ manager }) => values.only?.includes(manager) ?? true,
      )) {
        const place = join(folder, 'installation');
        mkdirSync(place);
        const env = { ...environmentOf(place, join(folder, 'caches'), tools.path), ...way.env };
        if (way.fromRegistry) env.npm_config_registry = registry.url;
        let outcome: string;
        try {
          outcome = await firstAnswer(way, place, env);
        } catch (error) {
          failures += 1;
          outcome = 'FAILED';
          process.stderr.write(`${describe(error)}\n`);
        }
        process.stdout.write(`Node ${node}, ${way.shown}: ${outcome}\n`);
        seen.set(way.shown, [...(seen.get(way.shown) ?? []), outcome]);
        rmSync(place, { recursive: true, force: true, maxRetries: 5 });
      }
    }
  } finally {
    registry.stop();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
  const lines = [...seen].map(
    ([shown, outcomes]) => `- \`${shown}\`: ${outcomes.join(', ').replaceAll('200 after ', '')}`,
  );
  if (failures === 0)
    save?.([`The first answer, on Node ${values.node.join(', ')}, came after:`, '', ...lines].join('\n'));
  process.stdout.write(failures === 0 ? '\nAll held.\n' : `\n${failures} failed.\n`);
  process.exitCode = failures === 0 ? 0 : 1;
}

/** Nothing of this user's own installations is found or changed. What was downloaded is kept for the next way. */
function environmentOf(place: string, caches: string, path: string): Record<string, string> {
  const { HOME = '', PATH = '', ...others } = process.env;
  const ofNpm = Object.entries(others).filter(([name]) => !/^npm_|^INIT_CWD$|^NODE$/.test(name));
  return {
    ...(Object.fromEntries(ofNpm) as Record<string, string>),
    HOME: place,
    TMPDIR: place,
    PATH: [join(place, 'bin'), join(place, 'pnpm'), join(place, 'pnpm/bin'), path, PATH].join(delimiter),
    npm_config_userconfig: process.env.NPM_CONFIG_USERCONFIG ?? join(HOME, '.npmrc'),
    npm_config_prefix: place,
    npm_config_cache: join(caches, 'npm'),
    PNPM_HOME: join(place, 'pnpm'),
    XDG_DATA_HOME: caches,
    XDG_CACHE_HOME: caches,
    YARN_GLOBAL_FOLDER: join(caches, 'yarn'),
    YARN_ENABLE_TELEMETRY: '0',
    YARN_ENABLE_IMMUTABLE_INSTALLS: 'false',
    BUN_INSTALL: place,
    BUN_INSTALL_CACHE_DIR: join(caches, 'bun'),
  };
}

/** Says how long it took, from nothing installed. */
async function firstAnswer(way: Way, place: string, env: Record<string, string>): Promise<string> {
  // What an earlier way has left there is not installed again.
  rmSync(join(env.npm_config_cache ?? '', '_npx'), { recursive: true, force: true });
  const cwd = join(place, 'work');
  mkdirSync(cwd);
  const resolutions = Object.fromEntries(values.pin.map((pin) => pin.split('=', 2)));
  writeFileSync(join(cwd, 'package.json'), `${JSON.stringify({ private: true, resolutions })}\n`);
  const began = Date.now();
  for (const [program = '', ...args] of way.install) await runFile(program, args, { cwd, env });
  const cleaners: (() => Promise<void> | void)[] = [];
  try {
    const gateway = await start(
      { teardown: (clean) => void cleaners.unshift(clean) },
      { command: way.start, cwd, env, folder: join(place, 'data') },
    );
    // As Ctrl-C does it: some managers do not pass a signal on to what they run.
    cleaners.unshift(async () => {
      process.kill(-gateway.pid, 'SIGINT');
      await gateway.ended;
    });
    const answer = await chat(gateway.port, keyOf(gateway.output()));
    const seconds = Math.round((Date.now() - began) / 1_000);
    if (answer.status !== 200) throw new Error(`answered ${answer.status}: ${await answer.text()}`);
    const [, link = ''] = /^Console: (\S+)$/m.exec(gateway.output()) ?? [];
    // The api finds the console's modules, and those that it shares with them, by other ways than its own.
    for (const path of ['/', '/console/main.js', '/console/lib/sluice-shared-reasons.js']) {
      const { status } = await fetch(new URL(path, link));
      if (status !== 200) throw new Error(`the console answered ${status} for ${path}`);
    }
    return `${answer.status} after ${seconds} s`;
  } finally {
    for (const clean of cleaners) await clean();
  }
}

function describe(error: unknown): string {
  const { message, stdout = '', stderr = '' } = error as Error & { stdout?: string; stderr?: string };
  return [message, stdout, stderr].join('\n').trim();
}
