/**
 * Workspaces, their keys and their routes, as Redis keeps them. Every change raises the directory's version, which
 * the api processes watch: that is how a revoked key or a changed route reaches all of them.
 *
 * Invariant: a key or route belongs to a workspace that exists. Both are written only beside their workspace, and go
 * with it.
 */
import type { Redis } from 'ioredis';
import type { GatewayConfig } from '../config/gateway-config.js';
import type { LimitsConfig } from '../contract/limits.js';
import type { KeyPriority } from '../contract/priority.js';
import type { OnCrash, RouteEntry } from '../contract/route.js';
import type { ControlNames } from '../redis/key-names.js';
import { loadScript } from '../redis/script.js';
import { FIRST_SHARD, type ShardKeys, shardFor } from '../redis/shard.js';
import { type Erased, eraseHistory, eraseState, eraseTurnedAway, forgetRevokedKeys } from './erase.js';

export interface WorkspaceRecord {
  id: string;
  name: string;
  created: number;
  /** What callers of the workspace may name as `model`. Absent: everything. */
  models?: string[] | undefined;
  limits: LimitsConfig;
  /** The shard that has its requests. Absent: the first. */
  shard?: number;
  /** It moves to another shard (docs/adr/0046), or has just moved. */
  move?: WorkspaceMove;
}

export interface WorkspaceMove {
  from: number;
  to: number;
  /** `copying`: callers wait until its keys are in the other shard. `cleaning`: it lives there, and they leave the first. */
  step: 'copying' | 'cleaning';
  /** When it began, in the cell's time. */
  since: number;
  /** The number of the attempt. A later attempt takes over from an earlier one, whose process may have died. */
  attempt: number;
}

/** Callers of such a workspace wait. */
export function isLeaving({ move }: Pick<WorkspaceRecord, 'move'>): boolean {
  return move?.step === 'copying';
}

export interface KeyRecord extends KeyPriority {
  id: string;
  workspace: string;
  name: string;
  /** The last four characters of the key, by which people recognise it. */
  lastFour: string;
  created: number;
  /** The person or token that issued or rotated the key. Absent for a key from before this was recorded. */
  createdBy?: string;
  expires?: number;
  /** Only for a rotated key: when it would have expired without the rotation, null for never. */
  expiredBefore?: number | null;
}

export interface RouteRecord {
  chain: RouteEntry[];
  onCrash: OnCrash;
  /** Batches of this route are handed to the provider's own batch API where that is possible. */
  providerBatches?: boolean;
  /** Requests whose prompts begin with the same tokens, so many of them, are kept together. */
  warmPrefixTokens?: number;
  created: number;
}

export interface StoredKey {
  digest: string;
  key: KeyRecord;
}

/** A workspace that was deleted. Its id stays taken, because its log and its spend name it. */
export interface DeletedRecord {
  /** When it was deleted, and when the last request that was under way then has ended. */
  deleted: number;
  requestsEnd: number;
  /** The history is erased, so the id is free when those requests have ended. */
  isErased: boolean;
}

/** A request ends soon after its deadline at the latest. It has a deadline when its body has come. */
const LAST_MS = 60_000;

export function deletedAt(
  now: number,
  { receiveTimeoutMs, deadlineMs }: GatewayConfig['request'],
): DeletedRecord {
  return { deleted: now, requestsEnd: now + receiveTimeoutMs + deadlineMs + LAST_MS, isErased: false };
}

/**
 * A change of one field of a hash. It is made only if the field holds `expected`. Null: the field must be absent. `+`: the
 * key is a stream, and gets the value unless its last entry has it.
 */
interface Edit {
  key: string;
  field: string;
  expected?: string | null;
  /** Null deletes the field. */
  value: string | null;
}

const SCAN_COUNT = 500;
/** How many of the latest revoked keys are remembered. Each takes about 100 bytes. */
const MAX_REVOKED = 100_000;

type Changed = 'done' | 'no_workspace' | 'changed';

export type RevokedKey = Pick<KeyRecord, 'id' | 'workspace'>;

const revokeKeyScript = loadScript<
  number,
  { versionKey: string; keysKey: string; keyUseKey: string; revokedKey: string; revokedIdsKey: string },
  { digest: string; now: number; most: number }
>(import.meta.url, 'revoke-key');

const changeDirectoryScript = loadScript<
  Changed,
  { versionKey: string; workspacesKey: string; editKeys: readonly string[] },
  { workspace: string; edits: readonly string[] }
>(import.meta.url, 'change-directory');

export class Directory {
  constructor(
    private readonly redis: Redis,
    private readonly names: ControlNames,
    /** All shards of the cell, in their order. */
    private readonly shards: readonly ShardKeys[],
    /** How many of them every process knows. A new workspace gets one of these. */
    private readonly known = () => shards.length,
  ) {}

  async version(): Promise<string> {
    return (await this.redis.get(this.names.directoryVersion)) ?? '';
  }

  /** One key may be stored under any of these digests. Returns the first that exists. */
  async findKey(digests: readonly string[]): Promise<StoredKey | undefined> {
    const texts = await this.redis.hmget(this.names.keys, ...digests);
    const i = texts.findIndex((text) => text !== null);
    const key = parse<KeyRecord>(texts[i] ?? null);
    return key && { digest: digests[i] ?? '', key };
  }

  async findKeyById(id: string): Promise<StoredKey | undefined> {
    return (await this.#storedKeys(id)).find(({ key }) => key.id === id);
  }

  /** Oldest first. */
  async listStoredKeys(workspace: string): Promise<StoredKey[]> {
    return oldestFirst(await this.#storedKeys(workspace)).filter(({ key }) => key.workspace === workspace);
  }

  /** The keys of all workspaces, oldest first. */
  async listAllStoredKeys(): Promise<StoredKey[]> {
    return oldestFirst(await this.#storedKeys());
  }

  async findRoute(workspace: string, alias: string): Promise<RouteRecord | undefined> {
    return parse<RouteRecord>(await this.redis.hget(this.names.routes(workspace), alias));
  }

  async listRoutes(workspace: string): Promise<Map<string, RouteRecord>> {
    const stored = await this.redis.hgetall(this.names.routes(workspace));
    const aliases = Object.keys(stored).sort();
    return new Map(aliases.map((alias) => [alias, JSON.parse(stored[alias] ?? '') as RouteRecord]));
  }

  async findWorkspace(id: string): Promise<WorkspaceRecord | undefined> {
    return parse<WorkspaceRecord>(await this.redis.hget(this.names.workspaces, id));
  }

  /** Sorted by id. */
  async listWorkspaces(): Promise<WorkspaceRecord[]> {
    const stored = await this.redis.hvals(this.names.workspaces);
    const workspaces = stored.map((text) => JSON.parse(text) as WorkspaceRecord);
    return workspaces.sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** False when a workspace of this id exists, or the id is still that of a deleted one. */
  async createWorkspace(workspace: WorkspaceRecord): Promise<boolean> {
    if (await this.redis.hexists(this.names.workspaces, workspace.id)) return false;
    const placed = await this.#place(workspace);
    // Requests of a deleted workspace of this id may have been booked after the deletion.
    const { redis, names } = this.#shardOf(placed);
    await eraseState(redis, names, workspace.id);
    await this.redis.del(this.names.budgets(workspace.id));
    const free = { ...this.#deletedEdit(workspace.id, null), expected: null };
    const edit = { ...this.#workspaceEdit(workspace.id, placed), expected: null };
    return (await this.#change('', [free, edit, this.#budgetNote(placed)])) === 'done';
  }

  async findDeleted(id: string): Promise<DeletedRecord | undefined> {
    return parse<DeletedRecord>(await this.redis.hget(this.names.deletedWorkspaces, id));
  }

  /** Erases what the last requests of an erased workspace have logged, and makes its id free. */
  async freeId(id: string, now: number): Promise<void> {
    await this.#eraseHistory(id, now);
    await this.#change('', [this.#deletedEdit(id, null)]);
  }

  /** Those that get no new workspaces. */
  async closedShards(): Promise<ReadonlySet<number>> {
    return new Set((await this.redis.smembers(this.names.closedShards)).map(Number));
  }

  async openShard(shard: number, isOpen: boolean): Promise<void> {
    if (isOpen) await this.redis.srem(this.names.closedShards, shard);
    else await this.redis.sadd(this.names.closedShards, shard);
  }

  /** Undefined when no workspace has this id. Two simultaneous changes are both made. */
  async changeWorkspace(
    id: string,
    change: (workspace: WorkspaceRecord) => WorkspaceRecord,
  ): Promise<WorkspaceRecord | undefined> {
    for (;;) {
      const expected = await this.redis.hget(this.names.workspaces, id);
      if (expected === null) return undefined;
      const changed = change(JSON.parse(expected) as WorkspaceRecord);
      const edit = { ...this.#workspaceEdit(id, changed), expected };
      if ((await this.#change('', [edit, this.#budgetNote(changed)])) === 'done') return changed;
    }
  }

  /** Deletes a workspace with its keys, routes and answers. Log and ledger stay. False when no workspace has this id. */
  async deleteWorkspace(id: string, record: DeletedRecord): Promise<boolean> {
    const edits = [this.#workspaceEdit(id, null), this.#deletedEdit(id, record)];
    const existed = (await this.#change(id, edits)) === 'done';
    // From here on nobody can add a key or a route to the workspace, so this finds all of them.
    const keys = (await this.listStoredKeys(id)).map(({ digest }) => digest);
    const aliases = Object.keys(await this.redis.hgetall(this.names.routes(id)));
    const belongings = [
      ...keys.map((digest) => this.#keyEdit(digest, null)),
      ...keys.map((digest) => ({ key: this.names.keyUse, field: digest, value: null })),
      ...aliases.map((alias) => this.#routeEdit(id, alias, null)),
    ];
    if (belongings.length > 0) await this.#change('', belongings);
    await forgetRevokedKeys(this.redis, this.names, id);
    for (const { redis, names } of this.shards) await eraseState(redis, names, id);
    await this.redis.del(this.names.budgets(id));
    return existed;
  }

  /** Erases the history of a deleted workspace: its entries in the log and its rows in the ledger. */
  async eraseHistory(id: string, now: number): Promise<Erased> {
    const erased = await this.#eraseHistory(id, now);
    const record = await this.findDeleted(id);
    if (record) await this.#change('', [this.#deletedEdit(id, { ...record, isErased: true })]);
    return erased;
  }

  /** Returns `changed` when a key of this value exists. */
  createKey(digest: string, key: KeyRecord): Promise<Changed> {
    return this.#change(key.workspace, [{ ...this.#keyEdit(digest, key), expected: null }]);
  }

  /** Stores a key under another digest, unless it was changed meanwhile. */
  async moveKey({ digest, key }: StoredKey, to: string): Promise<boolean> {
    const edits = [
      { ...this.#keyEdit(digest, null), expected: JSON.stringify(key) },
      { ...this.#keyEdit(to, key), expected: null },
      { key: this.names.keyUse, field: digest, value: null },
    ];
    return (await this.#change(key.workspace, edits)) === 'done';
  }

  /** False when there is no such workspace. */
  async putKey(digest: string, key: KeyRecord): Promise<boolean> {
    return (await this.#change(key.workspace, [this.#keyEdit(digest, key)])) === 'done';
  }

  /** Replaces all keys or none. It replaces none when one of them has changed meanwhile. */
  async replaceKeys(changes: { digest: string; from: KeyRecord | null; to: KeyRecord }[]): Promise<boolean> {
    const edits = changes.map(({ digest, from, to }) => ({
      ...this.#keyEdit(digest, to),
      expected: from && JSON.stringify(from),
    }));
    return (await this.#change(changes[0]?.to.workspace ?? '', edits)) === 'done';
  }

  /** Removes the key. Its value cannot be issued again. */
  async revokeKey(digest: string, now: number): Promise<void> {
    const { directoryVersion, keys, keyUse, revokedKeys, revokedKeyIds } = this.names;
    await revokeKeyScript(
      this.redis,
      {
        versionKey: directoryVersion,
        keysKey: keys,
        keyUseKey: keyUse,
        revokedKey: revokedKeys,
        revokedIdsKey: revokedKeyIds,
      },
      { digest, now, most: MAX_REVOKED },
    );
  }

  /** When the key of one of these digests was revoked, in ms. */
  async findRevocation(digests: readonly string[]): Promise<number | undefined> {
    const times = await this.redis.zmscore(this.names.revokedKeys, ...digests);
    const found = times.find((time) => time !== null);
    return found === undefined || found === null ? undefined : Number(found);
  }

  /** The revoked key of one of these digests. */
  async findRevoked(digests: readonly string[]): Promise<RevokedKey | undefined> {
    const texts = await this.redis.hmget(this.names.revokedKeyIds, ...digests);
    const [id, workspace] = texts.find((text) => text !== null)?.split(' ') ?? [];
    return id === undefined || workspace === undefined ? undefined : { id, workspace };
  }

  /** `only.before`: what it has to be replaced. Undefined in it: there must be no such route. */
  putRoute(
    workspace: string,
    alias: string,
    route: RouteRecord,
    only?: { before: RouteRecord | undefined },
  ): Promise<Changed> {
    const edit = this.#routeEdit(workspace, alias, route);
    const expected = only ? { expected: only.before ? JSON.stringify(only.before) : null } : {};
    return this.#change(workspace, [{ ...edit, ...expected }]);
  }

  async deleteRoute(workspace: string, alias: string): Promise<boolean> {
    const expected = await this.redis.hget(this.names.routes(workspace), alias);
    if (expected === null) return false;
    await this.#change('', [this.#routeEdit(workspace, alias, null)]);
    return true;
  }

  /**
   * All keys, or those whose record has this text somewhere as a value. There may be many keys, and Redis serves nobody
   * else while it reads. So they are read in parts. A key that exists throughout is found, perhaps twice.
   */
  async #storedKeys(value?: string): Promise<StoredKey[]> {
    const part = value === undefined ? '' : JSON.stringify(value);
    const found = new Map<string, KeyRecord>();
    let cursor = '0';
    do {
      const [next, fields] = await this.redis.hscan(this.names.keys, cursor, 'COUNT', SCAN_COUNT);
      for (let i = 0; i < fields.length; i += 2) {
        const [digest = '', text = ''] = fields.slice(i, i + 2);
        if (text.includes(part)) found.set(digest, JSON.parse(text) as KeyRecord);
      }
      cursor = next;
    } while (cursor !== '0');
    return [...found].map(([digest, key]) => ({ digest, key }));
  }

  /** A workspace that has moved has history in several shards. */
  async #eraseHistory(id: string, now: number): Promise<Erased> {
    await eraseTurnedAway(this.redis, this.names, id, now);
    const sum = { logEntries: 0, ledgerRows: 0 };
    for (const { redis, names } of this.shards) {
      const { logEntries, ledgerRows } = await eraseHistory(redis, names, id, now);
      sum.logEntries += logEntries;
      sum.ledgerRows += ledgerRows;
    }
    return sum;
  }

  /** In a cell of one shard no record says so. */
  async #place(workspace: WorkspaceRecord): Promise<WorkspaceRecord> {
    const known = Math.min(this.known(), this.shards.length);
    if (known <= 1) return workspace;
    const closed = await this.closedShards();
    const open = this.shards.map(({ id }) => id).filter((id) => id < known && !closed.has(id));
    // Somebody who has closed all of them gets workspaces all the same.
    return { ...workspace, shard: open[shardFor(workspace.id, open.length || 1)] ?? FIRST_SHARD };
  }

  #shardOf({ shard = FIRST_SHARD }: WorkspaceRecord): ShardKeys {
    const found = this.shards[shard];
    if (!found) throw new Error(`this process knows no shard ${shard}`);
    return found;
  }

  #workspaceEdit(id: string, workspace: WorkspaceRecord | null): Edit {
    return { key: this.names.workspaces, field: id, value: workspace && JSON.stringify(workspace) };
  }

  #deletedEdit(id: string, record: DeletedRecord | null): Edit {
    return { key: this.names.deletedWorkspaces, field: id, value: record && JSON.stringify(record) };
  }

  /** Keeps the budgets of past months. It is part of the change, so that none is forgotten. */
  #budgetNote({ id, limits }: WorkspaceRecord): Edit {
    const usd = limits.budgetUsdPerMonth;
    return {
      key: this.names.budgets(id),
      field: 'usd',
      expected: '+',
      value: usd === undefined ? 'none' : String(usd),
    };
  }

  #keyEdit(digest: string, key: KeyRecord | null): Edit {
    return { key: this.names.keys, field: digest, value: key && JSON.stringify(key) };
  }

  #routeEdit(workspace: string, alias: string, route: RouteRecord | null): Edit {
    return { key: this.names.routes(workspace), field: alias, value: route && JSON.stringify(route) };
  }

  /** Changes nothing when `workspace` does not exist. '' needs no workspace. */
  #change(workspace: string, edits: Edit[]): Promise<Changed> {
    const { directoryVersion, workspaces } = this.names;
    return changeDirectoryScript(
      this.redis,
      { versionKey: directoryVersion, workspacesKey: workspaces, editKeys: edits.map(({ key }) => key) },
      {
        workspace,
        edits: edits.flatMap(({ field, expected, value }) => [
          field,
          expected === undefined ? '*' : (expected ?? ''),
          value ?? '',
        ]),
      },
    );
  }
}

function oldestFirst(stored: StoredKey[]): StoredKey[] {
  return stored.sort((a, b) => a.key.created - b.key.created || (a.key.id < b.key.id ? -1 : 1));
}

function parse<Record>(text: string | null): Record | undefined {
  return text === null ? undefined : (JSON.parse(text) as Record);
}
