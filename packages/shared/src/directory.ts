/**
 * Workspaces, their keys and their routes, as Redis keeps them. Every change raises the directory's version, which
 * the api processes watch: that is how a revoked key or a changed route reaches all of them.
 */
import type { ChainableCommander, Redis } from 'ioredis';
import type { LimitsConfig } from './config.js';
import type { ChainEntry, OnCrash } from './job.js';
import type { KeyNames } from './key-names.js';

export interface WorkspaceRecord {
  id: string;
  name: string;
  created: number;
  limits: LimitsConfig;
}

export interface KeyRecord {
  id: string;
  workspace: string;
  name: string;
  /** The first characters, for people to recognise it by. */
  prefix: string;
  created: number;
  expires?: number;
}

export interface RouteRecord {
  chain: ChainEntry[];
  onCrash: OnCrash;
  created: number;
}

export class Directory {
  constructor(
    private readonly redis: Redis,
    private readonly names: KeyNames,
  ) {}

  async version(): Promise<string> {
    return (await this.redis.get(this.names.directoryVersion)) ?? '';
  }

  async findKey(digest: string): Promise<KeyRecord | undefined> {
    return parse<KeyRecord>(await this.redis.hget(this.names.keys, digest));
  }

  async listKeys(workspace: string): Promise<KeyRecord[]> {
    const stored = await this.redis.hvals(this.names.keys);
    return stored.map((text) => JSON.parse(text) as KeyRecord).filter((key) => key.workspace === workspace);
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

  async listWorkspaces(): Promise<WorkspaceRecord[]> {
    const stored = await this.redis.hvals(this.names.workspaces);
    return stored.map((text) => JSON.parse(text) as WorkspaceRecord).sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  putWorkspace(workspace: WorkspaceRecord): Promise<void> {
    return this.#change((multi) =>
      multi.hset(this.names.workspaces, workspace.id, JSON.stringify(workspace)),
    );
  }

  putKey(digest: string, key: KeyRecord): Promise<void> {
    return this.#change((multi) => multi.hset(this.names.keys, digest, JSON.stringify(key)));
  }

  putRoute(workspace: string, alias: string, route: RouteRecord): Promise<void> {
    return this.#change((multi) => multi.hset(this.names.routes(workspace), alias, JSON.stringify(route)));
  }

  async #change(edit: (multi: ChainableCommander) => ChainableCommander): Promise<void> {
    const results = await edit(this.redis.multi()).incr(this.names.directoryVersion).exec();
    const failure = results?.find(([error]) => error)?.[0];
    if (failure) throw failure;
  }
}

function parse<Record>(text: string | null): Record | undefined {
  return text === null ? undefined : (JSON.parse(text) as Record);
}
