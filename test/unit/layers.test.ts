/**
 * layers.json says which packages a package imports, and the order of its rooms, the folders of its `src`. A room imports only
 * from the rooms before it in its line, and files beside the rooms unless the package is `closed`. The folders of a room among
 * `strangers` do not import each other.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';

interface Layers {
  packages: string[];
  rooms: string[];
  closed?: boolean;
  strangers?: string[];
}

const repository = fileURLToPath(new URL('../../../', import.meta.url));
const LAYERS: Record<string, Layers> = JSON.parse(readFileSync(join(repository, 'layers.json'), 'utf8'));
const IMPORT = /(?:\bfrom|\bimport\(?)\s*'(\.[^']*|@sluice\/[^']*)'|-- INCLUDE: (.+)/g;
/** Lua includes a file of another package by its path. */
const OTHER_PACKAGE = /^(?:\.\.\/)+(\w+)\/src\//;

const foldersOf = (path: string) => path.split('/').slice(0, -1);

/** Why a file of a package may not import this, or undefined. */
function refusalOf(name: string, file: string, imported: string): string | undefined {
  const { packages, rooms, closed, strangers } = LAYERS[name] ?? { packages: [], rooms: [] };
  if (imported.startsWith('@')) {
    const wanted = imported.slice('@sluice/'.length);
    const isAllowed = packages.some((each) => wanted === each || wanted.startsWith(`${each}/`));
    return isAllowed ? undefined : `packages/${name} imports ${packages.join(', ') || 'no package'}`;
  }
  const [room, part] = foldersOf(file);
  const target = foldersOf(join(file, '..', imported));
  const [targetRoom, targetPart] = target;
  if (room === undefined) return undefined;
  if (room === targetRoom) {
    const isStranger = strangers?.includes(room) && part && targetPart && part !== targetPart;
    return isStranger ? `the folders of ${room} do not import each other` : undefined;
  }
  if (targetRoom === undefined) return closed ? `${room} imports no file beside the rooms` : undefined;
  const line = rooms.map((each) => each.split(' ')).find((each) => each.includes(room)) ?? [];
  const before = line.slice(0, line.indexOf(room));
  return before.includes(targetRoom) || rooms.length === 0
    ? undefined
    : `${room} imports ${before.join(', ')}`;
}

function violationsIn(name: string): string[] {
  const source = join(repository, 'packages', name, 'src');
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /\.(?:tsx?|lua)$/.test(file),
  );
  return files.flatMap((file) =>
    [...readFileSync(join(source, file), 'utf8').matchAll(IMPORT)].flatMap(([, module, included = '']) => {
      const imported = module ?? included.replace(OTHER_PACKAGE, '@sluice/$1/');
      const refusal = refusalOf(name, file, imported);
      return refusal === undefined ? [] : `packages/${name}/src/${file} imports ${imported}, but ${refusal}`;
    }),
  );
}

test('layers.json knows every package and every room', (t) => {
  t.deepEqual(Object.keys(LAYERS).sort(), readdirSync(join(repository, 'packages')).sort());
  for (const [name, { rooms }] of Object.entries(LAYERS).filter(([, layers]) => layers.rooms.length > 0)) {
    const folders = readdirSync(join(repository, 'packages', name, 'src'), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name);
    t.deepEqual(rooms.join(' ').split(' ').sort(), folders.sort(), name);
  }
});

test('every import goes down the layers', (t) => {
  for (const name of Object.keys(LAYERS)) t.deepEqual(violationsIn(name), [], name);
});

test('an import that goes up, aside or to another package is found', (t) => {
  const wrong = [
    ['shared', 'redis/redis.ts', '../queue/job.js'],
    ['shared', 'errors.ts', '@sluice/api/app'],
    ['api', 'chat/route.ts', '../webhooks/webhooks.js'],
    ['api', 'api.ts', '@sluice/admin/admin'],
    ['api', 'openapi/public-api.ts', '../chat/route.js'],
    ['cli', 'import/litellm.ts', '../admin/client.js'],
    ['admin', 'access/guard.ts', '../routes/keys.js'],
    ['worker', 'jobs/settlement-maker.ts', '../archive/archiver.js'],
    ['worker', 'archive/archiver.ts', '../calls/call-provider.js'],
    ['worker', 'jobs/settlement-maker.ts', '../env.js'],
    ['worker', 'providers/openai/index.ts', '../anthropic/index.js'],
    ['console', 'app.tsx', '@sluice/shared/errors'],
    ['simulator', 'openai.ts', '@sluice/shared/errors'],
  ] as const;
  for (const [name, file, imported] of wrong)
    t.truthy(refusalOf(name, file, imported), `${file} ${imported}`);
  const right = [
    ['shared', 'queue/job.ts', '../redis/redis.js'],
    ['worker', 'providers/openai/index.ts', '../types.js'],
    ['cli', 'commands/keys.ts', '../cli.js'],
  ] as const;
  for (const [name, file, imported] of right) t.is(refusalOf(name, file, imported), undefined, file);
});
