/**
 * The model registry that this process works with. Each ModelRegistry is immutable. When the revision in Redis has
 * changed, a new one replaces the old. When Redis has an unusable registry, the last good one stays.
 */

import type { Logger } from '../process/logger.js';
import { isRedisFull } from '../redis/away.js';
import type { Clock } from '../redis/clock.js';
import { ModelRegistry } from './model-registry.js';
import { applyOverrides } from './overrides.js';
import type { RegistryStore, StoredRegistry } from './store.js';

export class LiveRegistry {
  #current: ModelRegistry;
  #stored: StoredRegistry | undefined;
  #seenRevision = -1;

  constructor(
    private readonly store: RegistryStore,
    private readonly shipped: ModelRegistry,
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {
    this.#current = shipped;
  }

  get current(): ModelRegistry {
    return this.#current;
  }

  /** The registry that was last read from Redis. */
  get stored(): StoredRegistry | undefined {
    return this.#stored;
  }

  /** A full Redis keeps the registry that it has, and so does this process, until there is room for the shipped one. */
  async start(): Promise<void> {
    await this.refresh().catch((error) => {
      if (!isRedisFull(error)) throw error;
    });
  }

  /** To be called every second or two. Writes the shipped registry to Redis if Redis has none or an older one. */
  async refresh(): Promise<void> {
    const revision = await this.store.revision();
    if (revision === 0) return this.#ship(0);
    if (revision !== this.#seenRevision) await this.#load(revision);
    const stored = this.#stored;
    const isOutdated =
      stored?.origin === 'shipped' && compareVersions(stored.document.version, this.shipped.version) < 0;
    if (isOutdated) await this.#ship(stored.revision);
  }

  async #ship(revision: number): Promise<void> {
    const origin = { origin: 'shipped', source: 'shipped', refreshedAt: this.clock.now() } as const;
    await this.store.replace(this.shipped.toJSON(), origin, revision);
    await this.#load(await this.store.revision());
  }

  async #load(revision: number): Promise<void> {
    try {
      const stored = await this.store.read();
      if (!stored) return;
      const version = `${stored.document.version}+${stored.revision}`;
      this.#current = new ModelRegistry(applyOverrides(stored.document, stored.overrides, version));
      this.#stored = stored;
      this.#seenRevision = stored.revision;
      this.logger.info({ registry: version, models: this.#current.models.length }, 'model registry in use');
    } catch (error) {
      if (!(error instanceof Error) || (error.name !== 'InvalidRegistry' && !(error instanceof SyntaxError)))
        throw error;
      this.#seenRevision = revision;
      this.logger.error({ revision, error: error.message }, 'the model registry in Redis cannot be used');
    }
  }
}

/** `2026-11-14.10` is later than `2026-11-14.9`. Versions are mostly equal, and Node takes 3 MB to compare others. */
export function compareVersions(a: string, b: string): number {
  return a === b ? 0 : a.localeCompare(b, 'en', { numeric: true });
}
