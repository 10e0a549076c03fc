import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  boolean,
  cellName,
  choice,
  describeEnv,
  EnvError,
  type EnvSpec,
  integer,
  port,
  readEnv,
  secret,
  text,
  url,
} from '@sluice/shared/process/env';
import test from 'ava';
import fc from 'fast-check';

const dir = mkdtempSync(join(tmpdir(), 'sluice-env-'));
test.after.always(() => rmSync(dir, { recursive: true }));

function writeTemp(name: string, content: string): string {
  const path = join(dir, name);
  writeFileSync(path, content);
  return path;
}

const SPEC = {
  PORT: port({ default: 8080, description: 'where callers connect' }),
  HOST: text({ default: '127.0.0.1', description: 'the address to listen on' }),
  REDIS_URL: url({ protocols: ['redis', 'rediss'], description: 'the Redis to use' }),
  WORKERS: integer({ min: 1, max: 64, default: 1, description: 'number of workers' }),
  PRETTY: boolean({ default: false, description: 'logs for people' }),
  ADMIN_TOKEN: secret({ required: true, minLength: 8, description: 'opens the admin listener' }),
  LOG_LEVEL: choice(['debug', 'info'], { default: 'info', description: 'how much to log' }),
};
const TOKEN = 'token-SECRET';
const NOBODY = 65_534;

function mistakesOf(env: Record<string, string>, spec: EnvSpec = SPEC): string[] {
  const error = (() => {
    try {
      return void readEnv(env, spec);
    } catch (thrown) {
      return thrown;
    }
  })();
  if (error !== undefined && !(error instanceof EnvError)) throw error;
  return error?.mistakes.map(({ path, message }) => `${path}: ${message}`) ?? [];
}

test('unset variables have their defaults, and an empty or blank one counts as unset', (t) => {
  const defaults = {
    PORT: 8080,
    HOST: '127.0.0.1',
    REDIS_URL: undefined,
    WORKERS: 1,
    PRETTY: false,
    ADMIN_TOKEN: TOKEN,
    LOG_LEVEL: 'info' as const,
  };
  t.deepEqual(readEnv({ ADMIN_TOKEN: TOKEN }, SPEC), defaults);
  t.deepEqual(
    readEnv({ ADMIN_TOKEN: TOKEN, PORT: '', HOST: ' ', REDIS_URL: '', PORT_FILE: '' }, SPEC),
    defaults,
  );
});

test('set variables are read by type', (t) => {
  const env = {
    PORT: '0',
    HOST: '::1',
    REDIS_URL: 'rediss://user:pass@host:6380/1',
    WORKERS: ' 64 ',
    PRETTY: 'TRUE',
    ADMIN_TOKEN: TOKEN,
    LOG_LEVEL: 'debug',
  };
  const values = readEnv(env, SPEC);
  // The types are part of the behaviour: a field with a default or required is never undefined.
  const typed: {
    port: number;
    redis: string | undefined;
    token: string;
    level: 'debug' | 'info';
    pretty: boolean;
  } = {
    port: values.PORT,
    redis: values.REDIS_URL,
    token: values.ADMIN_TOKEN,
    level: values.LOG_LEVEL,
    pretty: values.PRETTY,
  };
  t.deepEqual(typed, {
    port: 0,
    redis: 'rediss://user:pass@host:6380/1',
    token: TOKEN,
    level: 'debug',
    pretty: true,
  });
  t.is(values.WORKERS, 64);
});

test('all mistakes are reported at once, in the order of the spec, without a value', (t) => {
  const env = {
    PORT: '65536',
    REDIS_URL: 'http://SECRET',
    WORKERS: '1.5',
    PRETTY: 'yes',
    ADMIN_TOKEN: 'SECRET',
    LOG_LEVEL: 'SECRET',
  };
  const error = t.throws(() => readEnv(env, SPEC), { instanceOf: EnvError });
  t.is(
    error.message,
    `environment: 6 mistakes
  PORT: must be a whole number from 0 to 65535
  REDIS_URL: must be an address that starts with redis:// or rediss://
  WORKERS: must be a whole number from 1 to 64
  PRETTY: must be true, false, 1 or 0
  ADMIN_TOKEN: must be a secret of at least 8 characters
  LOG_LEVEL: must be one of debug, info`,
  );
});

test('a required variable that is not set is a mistake that says what it is for', (t) => {
  t.deepEqual(mistakesOf({}), [
    'ADMIN_TOKEN: is not set; must be a secret of at least 8 characters (opens the admin listener)',
  ]);
});

test('whole numbers are plain decimal ones', (t) => {
  for (const PORT of ['0x10', '1e3', '-1', '80.0', '8 0', '99999999999999999999', 'port']) {
    t.is(mistakesOf({ PORT, ADMIN_TOKEN: TOKEN }).length, 1, PORT);
  }
});

test('a value may come from a file, trimmed', (t) => {
  const PORT_FILE = writeTemp('port', '9090\n');
  const ADMIN_TOKEN_FILE = writeTemp('token', ` ${TOKEN}\r\n`);
  const values = readEnv({ PORT_FILE, ADMIN_TOKEN_FILE }, SPEC);
  t.is(values.PORT, 9090);
  t.is(values.ADMIN_TOKEN, TOKEN);
});

test('a variable set twice, an unreadable file and an empty file are mistakes', (t) => {
  const env = {
    PORT: '80',
    PORT_FILE: writeTemp('twice', '81'),
    HOST_FILE: join(dir, 'nowhere-SECRET'),
    ADMIN_TOKEN_FILE: writeTemp('empty', '\n'),
  };
  t.deepEqual(mistakesOf(env), [
    'PORT: PORT and PORT_FILE are both set; set one of them',
    'HOST: the file that HOST_FILE names cannot be read (ENOENT)',
    'ADMIN_TOKEN: the file that ADMIN_TOKEN_FILE names is empty',
  ]);
});

test('a file that belongs to somebody else is a mistake that says what to do', (t) => {
  const HOST_FILE = writeTemp('not-ours', 'SECRET');
  chmodSync(HOST_FILE, 0);
  chmodSync(dir, 0o755);
  const isRoot = process.geteuid?.() === 0;
  // Root may read every file.
  if (isRoot) process.seteuid?.(NOBODY);
  const user = process.geteuid?.();
  const mistakes = mistakesOf({ ADMIN_TOKEN: TOKEN, HOST_FILE });
  if (isRoot) process.seteuid?.(0);
  t.deepEqual(mistakes, [
    `HOST: the file that HOST_FILE names cannot be read (EACCES): it belongs to user ${isRoot ? 0 : user} with mode 0000, ` +
      `and this process runs as user ${user}. Run "chown ${user}" and "chmod 0400" on it where it is mounted from`,
  ]);
});

test('the spec documents itself', (t) => {
  const rows = describeEnv(SPEC);
  t.deepEqual(
    rows.map((row) => row.name),
    Object.keys(SPEC),
  );
  t.deepEqual(rows[0], {
    name: 'PORT',
    description: 'where callers connect',
    allowed: 'a whole number from 0 to 65535',
    default: '8080',
    required: false,
  });
  t.like(rows[5], { name: 'ADMIN_TOKEN', default: undefined, required: true });
});

test('any environment is either read or an EnvError', (t) => {
  const names = Object.keys(SPEC).filter((name) => name !== 'HOST');
  const env = fc.dictionary(fc.constantFrom(...names, ...names.map((name) => `${name}_FILE`)), fc.string());
  t.notThrows(() => fc.assert(fc.property(env, (env) => void mistakesOf(env))));
});

test('the name of a cell has nothing that means something in a Redis key or in the pattern of a user', (t) => {
  const spec = { SLUICE_CELL: cellName({ default: 'sluice', description: 'the cell' }) };
  for (const name of ['sluice', 'eu-1', 'a_b.c', 'x'.repeat(64)])
    t.is(readEnv({ SLUICE_CELL: name }, spec).SLUICE_CELL, name);
  for (const name of ['a}b', '{a', 'a*', 'a b', 'a:b', 'x'.repeat(65)])
    t.throws(() => readEnv({ SLUICE_CELL: name }, spec), { instanceOf: EnvError, message: /SLUICE_CELL/ });
});
