/**
 * Keys and routes in memory. The cache asks for the directory's version twice a second, or once while the process is idle, and
 * is valid while the version stays the same. So a revoked key is refused everywhere within a second, without a notification that could get lost. When Redis
 * has not confirmed the version lately, the next look-up asks Redis, and fails if Redis is away.
 */
import { hash } from 'node:crypto';
import type {
  Directory,
  RevokedKey,
  RouteRecord,
  StoredKey,
  WorkspaceRecord,
} from '@sluice/shared/directory/directory';
import type { KeyDigests } from '@sluice/shared/directory/key-digests';

export const CONFIRM_EVERY_MS = 500;
export const CONFIRM_WHILE_IDLE_MS = 2_000;
export const TRUSTED_MS = 1_500;
const MAX_ENTRIES = 20_000;

export class DirectoryCache {
  /** Plain SHA-256 of a key → the key. A plain digest takes a fraction of the time of the stored one. */
  #keys = new Map<string, StoredKey>();
  #routes = new Map<string, RouteRecord | null>();
  #workspaces = new Map<string, WorkspaceRecord | null>();
  #version: string | undefined;
  #confirmedAt = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly directory: Directory,
    private readonly digests: KeyDigests,
  ) {}

  async confirm(): Promise<void> {
    const asked = performance.now();
    const version = await this.directory.version();
    this.#confirmedAt = asked;
    if (version === this.#version) return;
    this.#version = version;
    this.#keys = new Map();
    this.#routes = new Map();
    this.#workspaces = new Map();
  }

  /** As Redis said it last. */
  get version(): string | undefined {
    return this.#version;
  }

  /** The cache, while it is valid. After a change it is another one. */
  get trusted(): object | undefined {
    return this.#isTrusted() ? this.#keys : undefined;
  }

  /** What is in memory and valid. Nearly every request finds it here, and need not wait. */
  knownKey(value: string): StoredKey | undefined {
    return this.#isTrusted() ? this.#keys.get(hash('sha256', value)) : undefined;
  }

  /** Null: there is none. Undefined: it is not known without asking Redis. */
  knownRoute(workspace: string, alias: string): RouteRecord | null | undefined {
    return this.#isTrusted() ? this.#routes.get(`${workspace}\n${alias}`) : undefined;
  }

  knownWorkspace(id: string): WorkspaceRecord | null | undefined {
    return this.#isTrusted() ? this.#workspaces.get(id) : undefined;
  }

  async findKey(value: string): Promise<StoredKey | undefined> {
    await this.#trust();
    const cache = this.#keys;
    const name = hash('sha256', value);
    const known = cache.get(name);
    if (known) return known;
    const key = await this.directory.findKey(this.digests.all(value));
    // An unknown key is not remembered, because anyone can make up keys.
    if (key) {
      // The key may be newer than the cached workspace, which may have been created again since.
      await this.confirm();
      if (cache === this.#keys) remember(cache, name, key);
    }
    return key;
  }

  /** Asks Redis each time, because anyone can make up keys. */
  findRevoked(value: string): Promise<RevokedKey | undefined> {
    return this.directory.findRevoked(this.digests.all(value));
  }

  async findRoute(workspace: string, alias: string): Promise<RouteRecord | undefined> {
    await this.#trust();
    const cache = this.#routes;
    const name = `${workspace}\n${alias}`;
    const known = cache.get(name);
    if (known !== undefined) return known ?? undefined;
    const route = await this.directory.findRoute(workspace, alias);
    remember(cache, name, route ?? null);
    return route;
  }

  async findWorkspace(id: string): Promise<WorkspaceRecord | undefined> {
    await this.#trust();
    const cache = this.#workspaces;
    const known = cache.get(id);
    if (known !== undefined) return known ?? undefined;
    const workspace = await this.directory.findWorkspace(id);
    remember(cache, id, workspace ?? null);
    return workspace;
  }

  #isTrusted(): boolean {
    return performance.now() - this.#confirmedAt <= TRUSTED_MS;
  }

  async #trust(): Promise<void> {
    if (!this.#isTrusted()) await this.confirm();
  }
}

// The caller takes the map before its look-up, so that a value from before a change never enters the newer cache.
function remember<Value>(cache: Map<string, Value>, name: string, value: Value): void {
  if (cache.size >= MAX_ENTRIES) cache.clear();
  cache.set(name, value);
}
