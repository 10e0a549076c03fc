/** Requests under faults: what callers got, the log in PostgreSQL, the ledger and the export are the same, row by row. */
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { openDatabase, schemaOf } from '@sluice/shared/archive/database';
import { readArchiveState } from '@sluice/shared/archive/state';
import { monthOf } from '@sluice/shared/calendar';
import { formatUsd } from '@sluice/shared/registry/price';
import type { Gateway } from '../helpers/gateway.js';
import { until } from '../helpers/until.js';
import type { Shown } from './shown.js';
import { callUntil, type Stage, startStage } from './stage.js';

const CALLERS = 32;
const PROGRESS_EVERY = 5_000;
const POSTGRES_AWAY_MS = 5_000;
const KINDS_OF_FAULTS = 3;
const DRAIN_MS = 600_000;
const SCHEMA = schemaOf('test');

export interface FaultsOptions {
  requests: number;
  mostMinutes: number;
  /** The pause between one fault and the next. */
  faultSeconds: number;
}

export async function showFaults(
  folder: string,
  { requests, mostMinutes, faultSeconds }: FaultsOptions,
  say: (line: string) => void,
): Promise<Shown> {
  const stage = await startStage(folder, {
    archive: { max_redis_bytes: 4_000_000 },
    requestLog: { max_entries: 10_000 },
  });
  const { gateway } = stage;
  const served = new Map<string, string | null>();
  let answers = 0;
  let count = 0;
  // A short show has each fault once, too.
  const end = performance.now() + mostMinutes * 60_000;
  const isOver = () => (answers >= requests || performance.now() > end) && count >= KINDS_OF_FAULTS;
  const faults = breakThings(stage, faultSeconds * 1_000, isOver, () => {
    count++;
    if (count % 20 === 0) say(`${count} faults`);
  });
  await callUntil(gateway, CALLERS, isOver, ({ id, status, cost }) => {
    answers++;
    if (answers % PROGRESS_EVERY === 0) say(`${answers} of ${requests} answers`);
    if (status === 200) served.set(id, cost);
  });
  await faults;
  say(`${answers} answers, ${served.size} of them served, under ${count} faults`);

  const database = openDatabase(stage.postgres().ownerUrl, { connections: 1, statementMs: DRAIN_MS });
  await until(
    'everything in PostgreSQL',
    async () => {
      const state = await readArchiveState(gateway.redis, gateway.names);
      return state.oldestMs === undefined && state.spilled === 0;
    },
    DRAIN_MS,
  );
  const { rows } = await database.query<{ id: string; cost: string; status: number }>(
    `SELECT id, cost, status FROM ${SCHEMA}.requests`,
  );
  const archived = new Map(rows.map((row) => [row.id, row]));
  const missing = [...served].filter(([id]) => archived.get(id)?.status !== 200).length;
  const otherCost = [...served].filter(
    ([id, cost]) => formatUsd(BigInt(archived.get(id)?.cost ?? -1)) !== cost,
  ).length;
  const { exported, lines } = await readExport(gateway);
  const notExported = rows.filter(({ id }) => !exported.has(id)).length;
  const sums = await database.query<{ spend: string; cost: string }>(
    `SELECT (SELECT coalesce(sum(cost), 0) FROM ${SCHEMA}.spend) AS spend, (SELECT coalesce(sum(cost), 0) FROM ${SCHEMA}.requests) AS cost`,
  );
  const ledger = await gateway.redis.hget(gateway.names.spent('demo'), monthOf(Date.now()));
  const { spend, cost } = sums.rows[0] ?? {};
  await database.end();
  await stage.stop();
  const twice = rows.length - archived.size;
  const exportedTwice = lines - exported.size;
  return {
    rows: [
      ['Answers to callers', answers.toLocaleString('en')],
      ['Served', served.size.toLocaleString('en')],
      ['Faults: kill -9 of a worker, of PostgreSQL, of Redis', String(count)],
      ['Rows in PostgreSQL', rows.length.toLocaleString('en')],
      ['Served and missing there, twice there', `${missing}, ${twice}`],
      ['With another cost than the caller was told', String(otherCost)],
      ['Lines of the export', lines.toLocaleString('en')],
      ['Missing in the export, twice in it', `${notExported}, ${exportedTwice}`],
      ['Picodollars of ledger, spend and rows', `${ledger}, ${spend}, ${cost}`],
    ],
    failures: [
      ...(missing + twice + otherCost === 0 ? [] : ['PostgreSQL does not have what callers were answered']),
      ...(notExported + exportedTwice === 0 && lines === rows.length
        ? []
        : ['the export is not what PostgreSQL has']),
      ...(ledger === spend && spend === cost ? [] : ['the sums differ']),
    ],
  };
}

/** Line by line, because a million lines are more than a string may have. */
async function readExport({
  adminUrl,
  adminToken,
}: Gateway): Promise<{ exported: Set<string>; lines: number }> {
  const response = await fetch(`${adminUrl}/requests/export`, {
    headers: { authorization: `Bearer ${adminToken}` },
  });
  const exported = new Set<string>();
  let lines = 0;
  if (response.status !== 200 || !response.body) throw new Error(`the export answered ${response.status}`);
  for await (const line of createInterface({ input: Readable.fromWeb(response.body) })) {
    exported.add((JSON.parse(line) as { id: string }).id.replace('req_', ''));
    lines++;
  }
  return { exported, lines };
}

/** One fault after another: a worker, PostgreSQL, Redis. */
async function breakThings(
  stage: Stage,
  pauseMs: number,
  isOver: () => boolean,
  onFault: () => void,
): Promise<void> {
  const { gateway } = stage;
  const port = Number(new URL(gateway.redisServer.url).port);
  const faults = [
    async () => {
      await gateway.workers
        .find(({ child }) => child.exitCode === null && child.signalCode === null)
        ?.end('SIGKILL');
      await gateway.addWorker();
    },
    async () => {
      await stage.killPostgres();
      await new Promise((resolve) => setTimeout(resolve, POSTGRES_AWAY_MS));
      await stage.restartPostgres();
    },
    async () => {
      await gateway.redisServer.stop('SIGKILL');
      await gateway.restartRedis(port);
    },
  ];
  for (let i = 0; !isOver(); i++) {
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    if (isOver()) break;
    await faults[i % KINDS_OF_FAULTS]?.();
    onFault();
  }
}
