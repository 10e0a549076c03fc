/**
 * The model registry as Redis keeps it: a document (shipped with the gateway, or an operator's), the operator's own
 * entries over it, and a revision that every change raises and every process watches.
 */
import type { Redis } from 'ioredis';
import type { ControlNames } from '../redis/key-names.js';
import { loadScript } from '../redis/script.js';
import {
  type ModelOverride,
  parseModelOverride,
  parseRegistryDocument,
  type RegistryDocument,
} from './document.js';
import { type Overrides, overrideKey } from './overrides.js';

export interface RegistryOrigin {
  /** A newer version of the gateway replaces a shipped registry, but never one that an operator has brought. */
  origin: 'shipped' | 'operator';
  /** The source of the document, for people: `shipped`, `upload` or an address without its query. */
  source: string;
  refreshedAt: number;
}

export interface StoredRegistry extends RegistryOrigin {
  revision: number;
  document: RegistryDocument;
  overrides: Overrides;
}

/** How the latest refresh by schedule or by hand went. */
export interface RefreshAttempt {
  at: number;
  /** What the operator has to know. '' when all went well. */
  problem: string;
  /** When the schedule tries again; 0: as usual. */
  nextAt: number;
}

const replaceScript = loadScript<
  0 | 1,
  { registryKey: string; revisionKey: string },
  { revision: number | '*'; document: string; origin: string; source: string; refreshedAt: number }
>(import.meta.url, 'replace-registry');

const overrideScript = loadScript<
  0 | 1,
  { overridesKey: string; revisionKey: string },
  { model: string; override: string }
>(import.meta.url, 'override-model');

export class RegistryStore {
  constructor(
    private readonly redis: Redis,
    private readonly names: ControlNames,
  ) {}

  /** 0: there is no registry yet, or Redis has lost it. */
  async revision(): Promise<number> {
    return Number(await this.redis.get(this.names.registryRevision));
  }

  /** Throws InvalidRegistry when this version of the gateway cannot read it. */
  async read(): Promise<StoredRegistry | undefined> {
    const { registry, registryOverrides, registryRevision } = this.names;
    // The revision is read first. When the rest is newer, the next look finds a newer revision, too.
    const [revision, fields, overrides] = await Promise.all([
      this.redis.get(registryRevision),
      this.redis.hgetall(registry),
      this.redis.hgetall(registryOverrides),
    ]);
    if (!fields.document) return undefined;
    return {
      revision: Number(revision),
      document: parseRegistryDocument(JSON.parse(fields.document)),
      origin: fields.origin === 'operator' ? 'operator' : 'shipped',
      source: fields.source ?? '',
      refreshedAt: Number(fields.refreshedAt),
      overrides: new Map(
        Object.entries(overrides).map(([key, text]) => [key, parseModelOverride(JSON.parse(text))]),
      ),
    };
  }

  /** False when the registry has changed since `expectedRevision`. */
  async replace(
    document: RegistryDocument,
    { origin, source, refreshedAt }: RegistryOrigin,
    expectedRevision: number | '*',
  ): Promise<boolean> {
    const { registry, registryRevision } = this.names;
    const keys = { registryKey: registry, revisionKey: registryRevision };
    const stored = { document: JSON.stringify(document), origin, source, refreshedAt };
    return (await replaceScript(this.redis, keys, { revision: expectedRevision, ...stored })) === 1;
  }

  async override(provider: string, id: string, override: ModelOverride): Promise<void> {
    await this.#override(provider, id, JSON.stringify(override));
  }

  /** False when there was no override. */
  async removeOverride(provider: string, id: string): Promise<boolean> {
    return (await this.#override(provider, id, '')) === 1;
  }

  #override(provider: string, id: string, override: string): Promise<0 | 1> {
    const { registryOverrides, registryRevision } = this.names;
    const keys = { overridesKey: registryOverrides, revisionKey: registryRevision };
    return overrideScript(this.redis, keys, { model: overrideKey(provider, id), override });
  }

  async writeAttempt({ at, problem, nextAt }: RefreshAttempt): Promise<void> {
    await this.redis.hset(this.names.registry, {
      attemptAt: at,
      attemptProblem: problem,
      attemptNext: nextAt,
    });
  }

  async readAttempt(): Promise<RefreshAttempt | undefined> {
    const fields = await this.redis.hmget(this.names.registry, 'attemptAt', 'attemptProblem', 'attemptNext');
    const [at, problem, nextAt] = fields;
    return at ? { at: Number(at), problem: problem ?? '', nextAt: Number(nextAt) } : undefined;
  }
}
