/** The Lua of the scripts: every file is checked here, and so is how scripts are put together. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expandLua, readLua } from '@sluice/shared/redis/lua';
import { loadScript } from '@sluice/shared/redis/script';
import test from 'ava';
import type { Redis } from 'ioredis';
import luaparse from 'luaparse';
import { REPOSITORY } from '../helpers/all-in-one.js';

/** What Redis offers to a script and the scripts use. */
const GLOBALS = [
  ...['redis', 'cjson', 'cmsgpack', 'KEYS', 'ARGV', 'string', 'math', 'next', 'table', 'tostring'],
  ...['ipairs', 'pairs', 'tonumber', 'unpack'],
];
const CONSTANT = /^[A-Z][A-Z\d_]+$/;

const files = readdirSync(join(REPOSITORY, 'packages'), { recursive: true, encoding: 'utf8' })
  .filter((file) => /^\w+\/src\/.*\.lua$/.test(file))
  .map((file) => join(REPOSITORY, 'packages', file));
const scripts = files.filter((file) => !file.includes('/lua/parts/'));

/** What is wrong with a script, in words. The loader says what is wrong with a constant. */
function mistakesIn(file: string): string[] {
  const { text, keys, args } = expandLua(pathToFileURL(file));
  const words = text.match(/\w+/g) ?? [];
  const unused = [...keys, ...args].filter(({ name }) => words.filter((word) => word === name).length === 1);
  return [
    ...globalsOf(text)
      .filter((name) => !GLOBALS.includes(name) && !CONSTANT.test(name))
      .map((name) => `${name} is not defined`),
    ...unused.map(({ name }) => `${name} is not used`),
  ];
}

function globalsOf(lua: string): string[] {
  try {
    const chunk = luaparse.parse(lua, { luaVersion: '5.1', scope: true });
    return (chunk as unknown as { globals: { name: string }[] }).globals.map(({ name }) => name);
  } catch (error) {
    throw new Error((error as SyntaxError).message);
  }
}

test('every script is Lua 5.1 and uses nothing but what it defines', (t) => {
  t.true(scripts.length > 0);
  for (const file of scripts) t.deepEqual(mistakesIn(file), [], file);
});

test('every script is loaded by a module beside it, and every part is part of a script', (t) => {
  for (const file of scripts) {
    const room = dirname(dirname(file));
    const modules = readdirSync(room).filter((name) => name.endsWith('.ts'));
    const name = `'${basename(file, '.lua')}'`;
    t.true(
      modules.some((module) => readFileSync(join(room, module), 'utf8').includes(name)),
      file,
    );
  }
  const included = files.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/-- INCLUDE: (.+)/g)].map(([, path = '']) =>
      join(file, '..', path),
    ),
  );
  t.deepEqual(files.filter((file) => !scripts.includes(file)).sort(), [...new Set(included)].sort());
});

const folder = mkdtempSync(join(tmpdir(), 'sluice-lua-'));
test.after.always(() => rmSync(folder, { recursive: true }));

function write(name: string, text: string): URL {
  const file = join(folder, 'src', 'room', 'lua', name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return pathToFileURL(file);
}

test('a script has its parts, its names and the values of its constants', (t) => {
  write(
    'parts/tail.lua',
    '-- A part.\nlocal function tail()\n  -- ARGV: log, more...\n  return log, ARGV[more], MOST\nend\n',
  );
  const file = write(
    'whole.lua',
    '#!lua flags=allow-oom\n-- Does it.\n-- KEYS: queue, settledKey?\n-- ARGV: jobId, name,\n--   data, ms\n' +
      "local MOST = 2 * 500\n-- INCLUDE: parts/tail.lua\nreturn {settledKey, jobId, 'MOST', KIND, tail()}\n",
  );
  const { text, keys, args } = readLua(file, { KIND: ':kind' });
  t.is(
    text,
    '#!lua flags=allow-oom\nlocal queue, settledKey = KEYS[1], KEYS[2]\nlocal jobId, name, data, ms = unpack(ARGV, 1, 4)\n' +
      'local function tail()\n  local log = ARGV[5]\n  local more = 6\n  return log, ARGV[more], (2 * 500)\nend\n' +
      "return {settledKey, jobId, 'MOST', ':kind', tail()}\n",
  );
  t.deepEqual(
    keys.map(({ name }) => name),
    ['queue', 'settledKey'],
  );
  t.deepEqual(
    args.map(({ name }) => name),
    ['jobId', 'name', 'data', 'ms', 'log', 'more'],
  );
});

test('a constant without a value or with two is an error, and so is a name that is none', (t) => {
  t.throws(() => readLua(write('none.lua', 'return MOST_JOBS\n'), {}), { message: /MOST_JOBS has no value/ });
  t.throws(() => readLua(write('two.lua', 'local MOST = 1\nlocal MOST = 2\n'), {}), {
    message: /MOST has two values/,
  });
  t.throws(() => readLua(write('name.lua', '-- KEYS: a b\n'), {}), { message: /a b is no name/ });
});

test('a script that is not Lua, or uses what nobody defines, or not what it names, is found', (t) => {
  t.throws(() => mistakesIn(write('syntax.lua', 'return = 1\n').pathname), {
    message: /unexpected symbol '='/,
  });
  t.deepEqual(mistakesIn(write('global.lua', 'local a = 1\nreturn redis.call(a, b)\n').pathname), [
    'b is not defined',
  ]);
  t.deepEqual(mistakesIn(write('unused.lua', '-- KEYS: key\n-- ARGV: id\nreturn key\n').pathname), [
    'id is not used',
  ]);
});

test('a call has to have every name of the script', async (t) => {
  write('call.lua', '-- KEYS: one, last?\n-- ARGV: id, ids...\nreturn 1\n');
  const module = pathToFileURL(join(folder, 'dist', 'room', 'module.js')).href;
  const call = loadScript<number, Record<string, string | undefined>, Record<string, number | number[]>>(
    module,
    'call',
  );
  const sent: string[] = [];
  const redis = {
    sendCommand: async (command: { toWritable(stream: object): string }) => sent.push(command.toWritable({})),
  } as unknown as Redis;
  const keys = { one: 'a', last: undefined };
  await call(redis, keys, { id: 1, ids: [2, 3] });
  await call(redis, { ...keys, last: 'd' }, { ids: [], id: 1 });
  t.deepEqual(
    sent.map((text) =>
      text
        .slice(text.indexOf('return 1'))
        .match(/(?<=\n)\w+(?=\r)/g)
        ?.join(' '),
    ),
    ['1 a 1 2 3', '2 a d 1'],
  );
  t.throws(() => call(redis, keys, { id: 1 }), { message: 'lua/call.lua gets no ids' });
  t.throws(() => call(redis, { one: 'a' }, { id: 1, ids: [] }), {
    message: 'lua/call.lua gets no last',
  });
});
