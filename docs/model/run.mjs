#!/usr/bin/env node
// Searches the models exhaustively, then without one guard at a time: those searches must find a fault, or the
// models would prove nothing. Needs `spin` and `gcc` (Debian: apt-get install spin gcc).
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const BOUNDS = process.argv.includes('--deep') ? ['-DCRASHES=2', '-DEXPIRIES=1', '-DLOSSES=1'] : [];
const runs = [
  { title: 'as built', model: 'protocol.pml', flags: BOUNDS, faulty: false },
  { title: 'without the settled key', model: 'protocol.pml', flags: ['-DNO_SETTLED_KEY'], faulty: true },
  {
    title: 'without the check for stalled jobs',
    model: 'protocol.pml',
    flags: ['-DNO_STALLED_CHECK'],
    faulty: true,
  },
  { title: 'without the safety net', model: 'protocol.pml', flags: ['-DNO_SAFETY_NET'], faulty: true },
  {
    title: 'without freeing the key of a withdrawn job',
    model: 'protocol.pml',
    flags: ['-DNO_KEY_FREED'],
    faulty: true,
  },
  { title: 'idempotency as built', model: 'idempotency.pml', flags: [], faulty: false },
  { title: 'without the outcome key', model: 'idempotency.pml', flags: ['-DNO_OUTCOME'], faulty: true },
  {
    title: 'leading without a record',
    model: 'idempotency.pml',
    flags: ['-DLEAD_WITHOUT_RECORD'],
    faulty: true,
  },
  { title: 'requests in the background as built', model: 'background.pml', flags: [], faulty: false },
  ...[
    ['a 202 for whatever has begun', 'KNOWN_WHEN_BEGUN'],
    ['without taking a key over', 'NO_TAKE_OVER'],
    ['without the mark of a request that lost its key', 'NO_MARK'],
    ['without the mark of a forgotten request', 'NO_MARK_WHEN_FORGOTTEN'],
    ['forgetting what was settled', 'FORGET_WITHOUT_ANSWER'],
    ['without forgetting', 'NO_FORGET'],
    ['taking a job back in silence', 'SILENT_WITHDRAWAL'],
  ].map(([title, flag]) => ({ title, model: 'background.pml', flags: [`-D${flag}`], faulty: true })),
  { title: 'taking jobs as built', model: 'take.pml', flags: [], faulty: false },
  ...[
    ['without a token for each take', 'NO_TOKEN'],
    ['with one token for several takes', 'SHARED_TOKEN'],
    ['holding jobs only for what was settled', 'HOLD_WHEN_SETTLED'],
    ['counting a start when the job is taken', 'COUNT_AT_TAKE'],
    ['beginning without a look at the lock', 'BEGIN_WITHOUT_LOCK'],
  ].map(([title, flag]) => ({ title, model: 'take.pml', flags: [`-D${flag}`], faulty: true })),
  { title: 'budgets as built', model: 'money.pml', flags: [], faulty: false },
  ...[
    ['reserving in one budget after the other', 'ONE_BY_ONE'],
    ['without telling those who wait', 'NO_WAKE'],
    ['without what is reserved', 'SPENT_ONLY'],
    ['giving back what has lapsed', 'GIVE_BACK_TWICE'],
    ['keeping what was reserved for the dead', 'NO_LAPSE'],
    ['queueing what has lapsed', 'QUEUE_ANYWAY'],
  ].map(([title, flag]) => ({ title, model: 'money.pml', flags: [`-D${flag}`], faulty: true })),
  { title: 'limits of shards as built', model: 'leases.pml', flags: [], faulty: false },
  { title: 'limits of three shards', model: 'leases.pml', flags: ['-DTHREE'], faulty: false },
  ...[
    ['giving a part away before it is handed back', 'NO_CONFIRM'],
    ['taking late grants for new ones', 'NO_VERSION'],
    ['going on when the lease has run out', 'NO_LEASE'],
    ['renewing a lease by late grants', 'RENEW_LATE'],
    ['with equal parts', 'EQUAL_PARTS'],
    ['leaving a silent shard its part', 'NO_RECLAIM'],
    ['without handing anything back', 'LOWER_NEVER'],
  ].map(([title, flag]) => ({ title, model: 'leases.pml', flags: [`-D${flag}`], faulty: true })),
];

const missing = ['spin', 'gcc'].filter((program) => spawnSync(program, ['--version']).error);
if (missing.length > 0) {
  console.error(`model: ${missing.join(' and ')} not found; on Debian: apt-get install ${missing.join(' ')}`);
  process.exit(1);
}

let failed = false;
for (const { title, model, flags, faulty } of runs) {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-model-'));
  try {
    process.stderr.write(`${title}: searching …\n`);
    copyFileSync(new URL(model, import.meta.url), join(folder, model));
    const run = (program, ...args) =>
      execFileSync(program, args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
    run('spin', '-a', ...flags, model);
    run('gcc', '-O2', '-w', '-DSAFETY', '-DCOLLAPSE', '-o', 'pan', 'pan.c');
    const report = spawnSync('./pan', ['-m500000'], { cwd: folder, encoding: 'utf8', maxBuffer: 1e8 }).stdout;
    const errors = Number(/errors: (\d+)/.exec(report)?.[1] ?? Number.NaN);
    const states = /(\S+) states, stored/.exec(report)?.[1];
    const asExpected = faulty
      ? errors > 0
      : errors === 0 && !/max search depth too small|out of memory/.test(report);
    failed ||= !asExpected;
    console.log(
      `${asExpected ? 'ok  ' : 'FAIL'} ${title}: ${errors} faults in ${states} states${faulty ? ' (a fault is expected)' : ''}`,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
process.exit(failed ? 1 : 0);
