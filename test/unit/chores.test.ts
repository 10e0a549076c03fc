import { Chores } from '@sluice/shared/process/chores';
import { createLogger } from '@sluice/shared/process/logger';
import test from 'ava';
import { until } from '../helpers/until.js';

function collect() {
  const lines: string[] = [];
  const logger = createLogger('test', 'info', { write: (line) => lines.push(line) });
  return { lines, chores: new Chores(logger) };
}

test('a chore that fails or hangs stops no other', async (t) => {
  const { chores } = collect();
  t.teardown(() => chores.stop());
  let done = 0;
  chores.every(1, 'fails', () => Promise.reject(new Error('refused')));
  chores.every(1, 'hangs', () => new Promise(() => {}));
  chores.every(1, 'works', async () => done++);
  await until('the third one again and again', () => done > 5);
  t.deepEqual(chores.failing, ['fails']);
});

test('the log says once that a chore fails, and once that it works again', async (t) => {
  const { chores, lines } = collect();
  t.teardown(() => chores.stop());
  let runs = 0;
  chores.every(1, 'unsteady', async () => {
    runs++;
    if (runs <= 10) throw new Error('refused');
  });
  await until('many runs', () => runs > 20);
  t.deepEqual(chores.failing, []);
  t.deepEqual(
    lines.map((line) => JSON.parse(line)).map(({ level, chore, msg }) => [level, chore, msg]),
    [
      ['warn', 'unsteady', 'this fails'],
      ['info', 'unsteady', 'this works again'],
    ],
  );
});

test('one failure between two good runs is no trouble', async (t) => {
  const { chores, lines } = collect();
  t.teardown(() => chores.stop());
  let runs = 0;
  chores.every(1, 'unsteady', async () => {
    if (runs++ % 2 === 0) throw new Error('refused');
  });
  await until('many runs', () => runs > 10);
  t.deepEqual(lines, []);
});

test('a chore that is not essential is logged, and does not keep the process from being ready', async (t) => {
  const { chores, lines } = collect();
  t.teardown(() => chores.stop());
  chores.every(1, 'refresh', () => Promise.reject(new Error('refused')), false);
  await until('the line', () => lines.length > 0);
  t.deepEqual(chores.failing, []);
});

test('a chore that cannot write to its disk says so as long as that lasts', async (t) => {
  const { chores } = collect();
  t.teardown(() => chores.stop());
  let isFull = true;
  let runs = 0;
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
  chores.every(1, 'archive', async () => {
    runs++;
    if (isFull) throw full;
  });
  chores.every(1, 'other', () => Promise.reject(new Error('refused')));
  await until('some runs', () => runs > 3);
  t.deepEqual(chores.diskProblems, ['archive: the disk cannot be written (ENOSPC)']);
  isFull = false;
  await until('no problem', () => chores.diskProblems.length === 0);
  t.pass();
});
