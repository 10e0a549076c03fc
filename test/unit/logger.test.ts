import { spawn, spawnSync } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { createLineLogger, createLogger } from '@sluice/shared/process/logger';
import test from 'ava';

const LOGGER = JSON.stringify(import.meta.resolve('@sluice/shared/process/logger'));
const program = (body: string) => `import { createLogger } from ${LOGGER}; ${body}`;
const ONE_LINE = program("createLogger('api', 'info').info({ requestId: 'abc', status: 200 }, 'request');");

test('lines are JSON where nobody looks on', (t) => {
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', ONE_LINE], {
    encoding: 'utf8',
  });
  t.like(JSON.parse(stdout), {
    level: 'info',
    role: 'api',
    requestId: 'req_abc',
    status: 200,
    msg: 'request',
  });
});

test('lines are text on a terminal', (t) => {
  const command = `${process.execPath} --input-type=module -e '${ONE_LINE.replaceAll("'", `'"'"'`)}'`;
  const { stdout } = spawnSync('script', ['-qec', command, '/dev/null'], { encoding: 'utf8' });
  t.regex(stdout, /INFO.*request.*"requestId".*"req_abc"/, 'and on one line');
  t.throws(() => JSON.parse(stdout.split('\n')[0] ?? ''));
});

test('lines that nobody reads do not fill the memory', async (t) => {
  const body = `
    const logger = createLogger('api', 'info');
    const text = 'x'.repeat(1000);
    for (let i = 0; i < 100_000; i++) {
      logger.info({ text }, 'request');
      if (i % 1000 === 0) await new Promise(setImmediate);
    }
    process.stderr.write(String(process.memoryUsage.rss() / 2 ** 20));
    process.kill(process.pid, 'SIGKILL');`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program(body)]);
  child.stdout.pause();
  const told = await text(child.stderr);
  // 100 MB were logged; held, they would make it 200.
  t.true(Number(told) > 0 && Number(told) < 150, `${told} MB`);
});

test('a line whose fields come in JSON is the line that the logger writes', (t) => {
  const lines: string[] = [];
  const logger = createLogger('api', 'info', { write: (line) => lines.push(line) });
  logger.info({ requestId: 'abc', status: 200, model: 'a "b"' }, 'request');
  createLineLogger(logger, 'request')(',"requestId":"req_abc","status":200,"model":"a \\"b\\""');
  const [first = '', second = ''] = lines.map((line) => line.replace(/"time":"[^"]+"/, ''));
  t.is(second, first);
  t.regex(lines[1] ?? '', /"time":"\d{4}-/);
});

test('such a line has a level, too', (t) => {
  const logger = createLogger('api', 'warn', { write: () => t.fail() });
  createLineLogger(logger, 'request')(',"status":200');
  t.pass();
});
