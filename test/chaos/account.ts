/**
 * The joined account of a run: what callers were told × what upstream saw × the request log × the ledger. Upstream's own
 * call log is the judge, and every answer carries the digest of the text that only its own request had.
 */
import type { LogEntry } from '@sluice/shared/queue/request-log';
import type { Gateway } from '../helpers/gateway.js';
import { textHashOf } from '../helpers/upstream-calls.js';

/** One request of one caller, and what became of it. */
export interface Exchange {
  text: string;
  /** Statuses that keep the promise; without a listed status (or without any) the request counts as lost. */
  expect: readonly number[];
  /** 0: no answer at all. */
  status: number;
  code: string | null;
  requestId: string | undefined;
  content: string | undefined;
  headers: Headers | undefined;
  replayed: boolean;
  /** The caller hung up on purpose. */
  hungUp: boolean;
  startedAt: number;
  ms: number;
}

export interface Account {
  requests: number;
  /** Answered 200. */
  served: number;
  lost: Exchange[];
  wrong: Exchange[];
  /** Requests with more or fewer than one log entry, and rows that ledger and log disagree about. */
  misbilled: string[];
  /** Provider calls beyond one for each text. */
  extraCalls: number;
}

export interface AccountOptions {
  /** Redis lost data on purpose: a row may be missing, but never there twice. */
  dataLost?: boolean;
}

export async function takeAccount(
  gateway: Gateway,
  exchanges: readonly Exchange[],
  { dataLost = false }: AccountOptions = {},
): Promise<Account> {
  const log = await gateway.log();
  const rows = new Map<string, number>();
  for (const { id } of log) rows.set(id, (rows.get(id) ?? 0) + 1);

  const misbilled = [...rows].filter(([, count]) => count > 1).map(([id, count]) => `${count} rows of ${id}`);
  for (const { status, requestId, replayed } of exchanges) {
    if (status === 200 && !replayed && !dataLost && !rows.has(requestId ?? ''))
      misbilled.push(`no row of ${requestId}`);
  }
  misbilled.push(...(await compareLedger(gateway, log)));

  const answered = exchanges.filter(({ hungUp }) => !hungUp);
  return {
    requests: exchanges.length,
    served: answered.filter(({ status }) => status === 200).length,
    lost: answered.filter(({ status, expect }) => !expect.includes(status)),
    wrong: answered.filter(({ status, text, content }) => status === 200 && content !== echoOf(text)),
    misbilled,
    extraCalls: countExtraCalls(gateway, exchanges),
  };
}

/** What the simulator answers to a text. */
export function echoOf(text: string): string {
  return `echo ${textHashOf(text)}: ${text.slice(0, 200)}`;
}

async function compareLedger(gateway: Gateway, log: readonly LogEntry[]): Promise<string[]> {
  const served = log.flatMap((entry) => entry.served ?? []);
  let requests = 0;
  let cost = 0;
  for (const { redis, names } of gateway.shards) {
    for (const key of await redis.keys(names.ledger('*'))) {
      for (const [field, value] of Object.entries(await redis.hgetall(key))) {
        if (field.endsWith(':requests')) requests += Number(value);
        if (field.endsWith(':cost')) cost += Number(value);
      }
    }
  }
  const faults: string[] = [];
  if (requests !== served.length) faults.push(`ledger has ${requests} requests, log ${served.length}`);
  const logged = served.reduce((sum, call) => sum + call.cost, 0);
  if (cost !== logged) faults.push(`ledger has ${cost} picodollars, log ${logged}`);
  return faults;
}

function countExtraCalls(gateway: Gateway, exchanges: readonly Exchange[]): number {
  const texts = new Set(exchanges.map(({ text }) => textHashOf(text)));
  const calls = new Map<string, number>();
  for (const { textHash } of gateway.simulator.calls) {
    if (texts.has(textHash)) calls.set(textHash, (calls.get(textHash) ?? 0) + 1);
  }
  return [...calls.values()].reduce((sum, count) => sum + count - 1, 0);
}
