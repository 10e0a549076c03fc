/**
 * The model registry as Redis keeps it: a document (shipped with the gateway, or an operator's), the operator's own
 * entries over it, and a revision that every change raises and every process watches.
 */
import type { Redis } from 'ioredis';
import type { KeyNames } from '../redis/key-names.js';
import { createScript } from '../redis/script.js';
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

const replaceScript = createScript<0 | 1>(
  'sluiceReplaceRegistry',
  `
if ARGV[1] ~= '*' and (redis.call('GET', KEYS[2]) or '0') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'document', ARGV[2], 'origin', ARGV[3], 'source', ARGV[4], 'refreshedAt', ARGV[5])
redis.call('INCR', KEYS[2])
return 1
`,
);

const overrideScript = createScript<0 | 1>(
  'sluiceOverrideModel',
  `
if ARGV[2] == '' then
  if redis.call('HDEL', KEYS[1], ARGV[1]) == 0 then return 0 end
else
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
end
redis.call('INCR', KEYS[2])
return 1
`,
);

export class RegistryStore {
  constructor(
    private readonly redis: Redis,
    private readonly names: KeyNames,
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
    const args = [expectedRevision, JSON.stringify(document), origin, source, refreshedAt];
    return (await replaceScript(this.redis, [registry, registryRevision], args)) === 1;
  }

  async override(provider: string, id: string, override: ModelOverride): Promise<void> {
    const { registryOverrides, registryRevision } = this.names;
    const args = [overrideKey(provider, id), JSON.stringify(override)];
    await overrideScript(this.redis, [registryOverrides, registryRevision], args);
  }

  /** False when there was no override. */
  async removeOverride(provider: string, id: string): Promise<boolean> {
    const { registryOverrides, registryRevision } = this.names;
    const args = [overrideKey(provider, id), ''];
    return (await overrideScript(this.redis, [registryOverrides, registryRevision], args)) === 1;
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
