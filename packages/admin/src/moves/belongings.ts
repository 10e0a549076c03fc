/**
 * What a shard has of a workspace, and has to have in another one when the workspace moves. Log and ledger stay where they were
 * written, because readers ask all shards. Requests that are under way are not moved: there are none when this is read.
 */
import type { FedLine } from '@sluice/api/batches/line-store';
import { LISTED_STATUSES } from '@sluice/shared/contract/completion';
import type { WorkspaceRecord } from '@sluice/shared/directory/directory';
import { idempotencyDigest } from '@sluice/shared/queue/idempotency';
import { FILE_PURPOSES, type ShardNames } from '@sluice/shared/redis/key-names';
import type { ShardKeys } from '@sluice/shared/redis/shard';
import type { Redis } from 'ioredis';
import type { FencedShard, Kind } from './fenced.js';

/** A caller who was told just before the move where his answer is still finds it there. */
const ANSWERS_STAY_MS = 600_000;
const SCAN_COUNT = 500;
/** So many keys are read and written at a time. Callers wait, but an answer may be large. */
const AT_ONCE = 100;

interface Belonging {
  kind: Kind;
  key(names: ShardNames): string;
}

interface Belongings {
  /** Lists that name the others come last, so that a step that was interrupted can be repeated. */
  keys: Belonging[];
  /** The digests of answers that are kept, and of requests in the background. */
  answers: string[];
  batches: string[];
  /** The objects of its files, and those that are not files yet, with the moments when they are removed. */
  objects: [score: string, object: string][];
}

/** Digest of an answer → its request. */
export type CopiedAnswers = ReadonlyMap<string, string>;

/** Copies the answers that are kept, while callers are still served: an answer does not change. */
export async function copyAnswersAhead(
  workspace: WorkspaceRecord,
  from: ShardKeys,
  to: FencedShard,
): Promise<CopiedAnswers> {
  const { id } = workspace;
  const copied = new Map<string, string>();
  const { answers } = await readBelongings(workspace, from);
  await eachOf(answers, async (digest) => {
    const request = await copyAnswer(id, digest, from, to);
    if (request !== undefined) copied.set(digest, request);
  });
  return copied;
}

/** `ahead`: the answers that are there already. */
export async function copyBelongings(
  workspace: WorkspaceRecord,
  from: ShardKeys,
  to: FencedShard,
  ahead: CopiedAnswers = new Map(),
): Promise<void> {
  const { id } = workspace;
  const { keys, answers, batches, objects } = await readBelongings(workspace, from);
  await eachOf(answers, async (digest) => {
    const copied = ahead.get(digest);
    if (
      copied === undefined ||
      (await from.redis.hget(from.names.idempotency(id, digest), 'request')) !== copied
    )
      await copyAnswer(id, digest, from, to);
  });
  for (const batch of batches) await copyLines(batch, from, to);
  await eachOf(keys, ({ kind, key }) => copyKey(from.redis, kind, key(from.names), to, key(to.shard.names)));
  // The batches are there before the objects that they read are listed.
  const active = await Promise.all(batches.map((each) => from.redis.zscore(from.names.activeBatches, each)));
  const rows = batches.flatMap((batch, i): [string, string][] => {
    const score = active[i];
    return score === null || score === undefined ? [] : [[score, batch]];
  });
  await to.list(to.shard.names.activeBatches, rows);
  await to.list(to.shard.names.fileObjects, objects);
}

/** Removes what `copyBelongings` has copied. It may be repeated. */
export async function dropBelongings(workspace: WorkspaceRecord, from: FencedShard): Promise<void> {
  const { names } = from.shard;
  const { id } = workspace;
  const { keys, answers, batches, objects } = await readBelongings(workspace, from.shard);
  const counters = await from.shard.redis.zrange(names.money(id, 'values'), '0', '-1');
  // First of all, because an object that no batch reads is removed when its time is over.
  await from.unlist(
    names.fileObjects,
    objects.map(([, object]) => object),
  );
  await from.unlist(names.activeBatches, batches);
  await from.drop(
    answers.map((digest) => names.idempotency(id, digest)),
    ANSWERS_STAY_MS,
  );
  await from.drop(batches.map((batch) => names.batchLines(batch)));
  await from.drop(['places', 'month', ...counters].map((lane) => names.money(id, `lane:${lane}`)));
  await from.drop([
    names.reservations(id),
    names.reserved(id),
    names.requests(id, 'in_progress'),
    names.requests(id, 'bytes'),
  ]);
  await from.drop(keys.map(({ key }) => key(names)));
}

async function readBelongings(workspace: WorkspaceRecord, { redis, names }: ShardKeys): Promise<Belongings> {
  const { id } = workspace;
  const [kept, requests, batches, counters, objects] = await Promise.all([
    redis.zrange(names.keptAnswers(id), '0', '-1'),
    redis.zrange(names.requests(id, 'all'), '0', '-1'),
    redis.zrange(names.batches(id), '0', '-1'),
    redis.zrange(names.money(id, 'values'), '0', '-1'),
    objectsOf(redis, names, id),
  ]);
  const records = new Set([
    ...kept.map((answer) => answer.split(':')[0] ?? ''),
    ...requests.map((request) => idempotencyDigest(`background\n${request}`, workspace)),
  ]);
  const digests = [...records];
  const pointers = await Promise.all(
    digests.map((digest) => redis.hget(names.idempotency(id, digest), 'key')),
  );
  const answers = [...digests, ...pointers.flatMap((digest) => digest ?? [])];
  const own = (kind: Kind, key: Belonging['key']): Belonging => ({ kind, key });
  const keys = [
    ...counters.map((name) => own('hash', ({ money }) => money(id, `counter:${name}`))),
    ...batches.flatMap((batch) => [
      own('hash', (of) => of.batch(batch)),
      own('stream', (of) => of.batchResults(batch)),
      own('list', (of) => of.batchParts(batch)),
    ]),
    own('hash', (of) => of.spent(id)),
    own('hash', (of) => of.workspaceTokens(id)),
    own('list', (of) => of.requestTimes(id)),
    own('hash', (of) => of.money(id, 'usual')),
    own('hash', (of) => of.money(id, 'most')),
    own('hash', (of) => of.prefixes(id)),
    own('sorted', (of) => `${of.prefixes(id)}:order`),
    own('string', (of) => of.keptAnswerBytes(id)),
    own('hash', (of) => of.files(id)),
    own('string', (of) => of.fileBytes(id)),
    own('string', (of) => of.fileOrderBytes(id)),
    ...[undefined, ...FILE_PURPOSES].map((purpose) => own('sorted', (of) => of.fileOrder(id, purpose))),
    own('hash', (of) => of.webhooks(id)),
    own('hash', (of) => of.webhookDeliveries(id)),
    own('sorted', (of) => of.webhookOrder(id)),
    own('sorted', (of) => of.keptAnswers(id)),
    ...['all', ...LISTED_STATUSES]
      // Nothing is under way. What was begun and never queued is not taken along.
      .filter((status) => status !== 'in_progress')
      .map((status) => own('sorted', (of) => of.requests(id, status))),
    own('sorted', (of) => of.batches(id)),
    own('sorted', (of) => of.money(id, 'values')),
  ];
  return { keys, answers, batches, objects };
}

async function eachOf<Item>(items: readonly Item[], work: (item: Item) => Promise<unknown>): Promise<void> {
  for (let i = 0; i < items.length; i += AT_ONCE) await Promise.all(items.slice(i, i + AT_ONCE).map(work));
}

/** Their names begin with the workspace. */
async function objectsOf(redis: Redis, names: ShardNames, id: string): Promise<[string, string][]> {
  const found = new Map<string, string>();
  let cursor = '0';
  do {
    const [next, fields] = await redis.zscan(
      names.fileObjects,
      cursor,
      'MATCH',
      `${id}/*`,
      'COUNT',
      SCAN_COUNT,
    );
    for (let i = 0; i + 1 < fields.length; i += 2) found.set(fields[i] ?? '', fields[i + 1] ?? '');
    cursor = next;
  } while (cursor !== '0');
  return [...found].map(([object, score]) => [score, object]);
}

/**
 * A request that nobody has answered is not taken along: it was never queued, and its process begins it again. Returns the
 * request that was answered.
 */
async function copyAnswer(
  id: string,
  digest: string,
  from: ShardKeys,
  to: FencedShard,
): Promise<string | undefined> {
  const key = from.names.idempotency(id, digest);
  const [fields, ttl] = await Promise.all([from.redis.hgetall(key), from.redis.pttl(key)]);
  const { jobs: _, ...kept } = fields;
  // The record of an Idempotency-Key of a request in the background points to that of the request.
  const pointed = fields.record === undefined ? undefined : from.names.idempotency(id, fields.record);
  const isOver =
    pointed === undefined ? fields.head !== undefined : (await from.redis.hexists(pointed, 'head')) === 1;
  await to.put(to.shard.names.idempotency(id, digest), 'hash', ttl, isOver ? Object.entries(kept) : []);
  return isOver ? fields.request : undefined;
}

/** A line whose request was never queued is sent by the next run, as one that waits for another try. */
async function copyLines(batch: string, from: ShardKeys, to: FencedShard): Promise<void> {
  const { redis, names } = from;
  const key = names.batchLines(batch);
  const [lines, results, ttl] = await Promise.all([
    redis.hgetall(key),
    redis.xrange(names.batchResults(batch), '-', '+'),
    redis.pttl(key),
  ]);
  const ended = new Set(results.map(([, fields]) => fields[fields.indexOf('id') + 1]));
  const rows: [string, string][] = [];
  for (const [requestId, text] of Object.entries(lines)) {
    const fed = JSON.parse(text) as FedLine;
    const isKnown =
      fed.at !== undefined || ended.has(requestId) || (await redis.exists(names.settled(requestId))) === 1;
    rows.push([requestId, isKnown ? text : JSON.stringify({ ...fed, providers: [], until: fed.until ?? 0 })]);
  }
  await to.put(to.shard.names.batchLines(batch), 'hash', ttl, rows);
}

async function copyKey(redis: Redis, kind: Kind, key: string, to: FencedShard, toKey: string): Promise<void> {
  const [rows, ttl] = await Promise.all([readRows(redis, kind, key), redis.pttl(key)]);
  await to.put(toKey, kind, ttl, rows);
}

async function readRows(redis: Redis, kind: Kind, key: string): Promise<readonly (readonly string[])[]> {
  switch (kind) {
    case 'string': {
      const value = await redis.get(key);
      return value === null ? [] : [[value]];
    }
    case 'hash':
      return Object.entries(await redis.hgetall(key));
    case 'list':
      return (await redis.lrange(key, 0, -1)).map((value) => [value]);
    case 'sorted': {
      const found = await redis.zrange(key, '0', '-1', 'WITHSCORES');
      return found.flatMap((member, i) => (i % 2 === 0 ? [[found[i + 1] ?? '0', member]] : []));
    }
    case 'stream':
      return (await redis.xrange(key, '-', '+')).map(([id, fields]) => [
        id,
        String(fields.length),
        ...fields,
      ]);
  }
}
