/**
 * Keys and routes in memory. The cache is trusted only while the directory's version, asked for twice a second, stands
 * still: a revoked key is refused everywhere within a second, with no notification that could get lost. When Redis has
 * not confirmed the version lately, the next look-up asks it (and fails with it).
 */
import { hash } from 'node:crypto';
import type { Directory, RouteRecord, StoredKey, WorkspaceRecord } from '@sluice/shared/directory/directory';
import type { KeyDigests } from '@sluice/shared/directory/key-digests';

export const CONFIRM_EVERY_MS = 500;
const TRUSTED_MS = 1_500;
const MAX_ENTRIES = 20_000;

export class DirectoryCache {
  /** By the plain SHA-256 of the key, which is made in a fraction of the time that the stored digest takes. */
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

  async findKey(value: string): Promise<StoredKey | undefined> {
    await this.#trust();
    const cache = this.#keys;
    const name = hash('sha256', value);
    const known = cache.get(name);
    if (known) return known;
    const key = await this.directory.findKey(this.digests.all(value));
    // An unknown key is not remembered: anyone can make those up.
    if (key) {
      // It may be newer than what is in memory of its workspace, which may have been created again since.
      await this.confirm();
      if (cache === this.#keys) remember(cache, name, key);
    }
    return key;
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

  async #trust(): Promise<void> {
    if (performance.now() - this.#confirmedAt > TRUSTED_MS) await this.confirm();
  }
}

// The map is taken before the look-up: what was read before a change is never put into the cache that came after it.
function remember<Value>(cache: Map<string, Value>, name: string, value: Value): void {
  if (cache.size >= MAX_ENTRIES) cache.clear();
  cache.set(name, value);
}
