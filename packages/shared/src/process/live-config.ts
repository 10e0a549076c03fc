/**
 * The configuration that is in force in this process: gateway.yaml, and the providers that were added beside it. The file is
 * read again when somebody asks for it (SIGHUP, `sluice apply`) and when the file, or a file with a secret, has changed. Only
 * the providers change while a process runs. The rest of the file takes effect at the next start. A file with mistakes changes
 * nothing.
 */
import { statSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { keyNameOf, poolKeysOf, providerLine } from '../config/config.js';
import type { Env } from '../config/env-lookup.js';
import type { GatewayConfig } from '../config/gateway-config.js';
import type { ProviderConfig } from '../config/provider.js';
import type { Logger } from './logger.js';

export interface Loaded {
  config: GatewayConfig;
  /** Provider → its key. The map is empty in an api process, which has no provider keys. */
  keys: ReadonlyMap<string, string>;
  /** Where secrets and credentials are read from. */
  env: Env;
}

/** A provider that was added or removed, or whose settings or key have changed. */
export interface ProviderChange {
  name: string;
  /** Undefined: the provider was removed. */
  provider: ProviderConfig | undefined;
  key: string | undefined;
  /** Its several keys, by their names. */
  pool: ReadonlyMap<string, string>;
}

/** A provider beside those of the file. */
export interface TakenUp {
  provider: ProviderConfig;
  /** By their names. Empty in an api process, and where no key is needed. */
  keys: ReadonlyMap<string, string>;
}

export type ReloadResult = 'changed' | 'unchanged' | 'failed';

export interface LiveConfigOptions {
  /** Throws for a file with mistakes. */
  load(): Loaded;
  /** The file that is watched. */
  file: string;
  logger: Logger;
}

export class LiveConfig {
  /** The map of providers is changed in place, so that everybody who holds it sees the newest. */
  readonly config: GatewayConfig;
  /** What the file says. */
  #file: Loaded;
  #added: ReadonlyMap<string, TakenUp> = new Map();
  #unreadable: readonly string[] = [];
  /** The file and the added providers together. */
  #loaded: Loaded;
  #seen: string;
  /** A change that was seen once. The file is read when it has not changed since, because it may be half written. */
  #unread: string | undefined;
  #problem: string | undefined;
  readonly #listeners: ((changes: readonly ProviderChange[]) => void)[] = [];
  readonly results: Record<ReloadResult, number> = { changed: 0, unchanged: 0, failed: 0 };

  /** Throws like `load`, because at the start there is no older configuration. */
  constructor(private readonly options: LiveConfigOptions) {
    this.#seen = this.#stamp();
    this.#file = options.load();
    this.#loaded = this.#file;
    this.config = { ...this.#loaded.config, providers: new Map(this.#loaded.config.providers) };
  }

  get keys(): ReadonlyMap<string, string> {
    return this.#loaded.keys;
  }

  get env(): Env {
    return this.#loaded.env;
  }

  /** Problems that an operator should solve. */
  get warnings(): string[] {
    const clashing = [...this.#added.keys()].filter((name) => this.#file.config.providers.has(name));
    return [
      ...(this.#problem === undefined ? [] : [this.#problem]),
      ...clashing.map(
        (name) =>
          `Provider ${name} was added, and gateway.yaml names it, too: the one of the file is in force. Take it out of the file to use the other, or remove the other with sluice providers remove ${name}.`,
      ),
      ...this.#unreadable.map(
        (name) =>
          `The added provider ${name} cannot be read: PAYLOAD_KEY lacks the key that it was stored with.`,
      ),
    ];
  }

  /** Where the file names the provider, and whether an added one waits to take its place. Undefined: it is not of the file. */
  findInFile(name: string): { file: string; line: number | null; takenOver: boolean } | undefined {
    if (!this.#file.config.providers.has(name)) return undefined;
    const line = providerLine(this.#file.config, name) ?? null;
    return { file: this.options.file, line, takenOver: this.#added.has(name) };
  }

  /** The providers beside the file. A name that the file has, too, means the file's. */
  setAdded(added: ReadonlyMap<string, TakenUp>, unreadable: readonly string[]): void {
    this.#added = added;
    this.#unreadable = unreadable;
    this.#use(this.#file, 'providers were added, changed or removed');
  }

  /** Called after the map of providers has changed. */
  onChange(listener: (changes: readonly ProviderChange[]) => void): void {
    this.#listeners.push(listener);
  }

  /** Reads gateway.yaml again when it, or a file with a secret, has changed. */
  async look(): Promise<void> {
    const stamp = this.#stamp();
    if (stamp === this.#seen) this.#unread = undefined;
    else if (stamp === this.#unread) this.reload('the file has changed');
    else this.#unread = stamp;
  }

  reload(why: string): ReloadResult {
    const { logger } = this.options;
    this.#seen = this.#stamp();
    this.#unread = undefined;
    let loaded: Loaded;
    try {
      loaded = this.options.load();
    } catch (error) {
      this.#problem = 'gateway.yaml has mistakes: the configuration before it is still in force';
      logger.error({ why, error: errorText(error) }, 'the new configuration is not used');
      return this.#count('failed');
    }
    this.#problem = undefined;
    if (!isDeepStrictEqual(atStart(loaded.config), atStart(this.config)))
      logger.warn({ why }, 'settings beside the providers have changed: they take effect at the next start');
    return this.#count(this.#use(loaded, why) ? 'changed' : 'unchanged');
  }

  /** Returns whether a provider has changed. */
  #use(file: Loaded, why: string): boolean {
    const { logger } = this.options;
    const loaded = this.#withAdded(file);
    const changes = this.#changesTo(loaded);
    this.#file = file;
    this.#loaded = loaded;
    if (changes.length === 0) return false;
    for (const { name, provider } of changes)
      if (provider) this.config.providers.set(name, provider);
      else this.config.providers.delete(name);
    for (const listener of this.#listeners) listener(changes);
    const named = (isThere: boolean) =>
      changes.filter(({ provider }) => (provider !== undefined) === isThere).map(({ name }) => name);
    logger.info({ why, providers: named(true), removed: named(false) }, 'the providers have changed');
    return true;
  }

  #withAdded(file: Loaded): Loaded {
    const providers = new Map(file.config.providers);
    const keys = new Map(file.keys);
    for (const [name, { provider, keys: own }] of this.#added) {
      if (providers.has(name)) continue;
      providers.set(name, provider);
      for (const [keyName, key] of own) keys.set(keyNameOf(name, keyName), key);
    }
    return { ...file, config: { ...file.config, providers }, keys };
  }

  #changesTo({ config, keys }: Loaded): ProviderChange[] {
    const names = new Set([...this.config.providers.keys(), ...config.providers.keys()]);
    return [...names].flatMap((name): ProviderChange[] => {
      const provider = config.providers.get(name);
      const key = keys.get(name);
      const pool = poolKeysOf(provider, keys);
      const before = this.#loaded.keys;
      const isSame =
        isDeepStrictEqual(provider, this.config.providers.get(name)) &&
        key === before.get(name) &&
        isDeepStrictEqual(pool, poolKeysOf(provider, before));
      return isSame ? [] : [{ name, provider, key, pool }];
    });
  }

  #count(result: ReloadResult): ReloadResult {
    this.results[result]++;
    return result;
  }

  /** The state of the file and of all files that variables name. Symbolic links are followed. */
  #stamp(): string {
    const { env } = process;
    const secrets = Object.keys(env).filter((name) => name.endsWith('_FILE'));
    return [this.options.file, ...secrets.map((name) => env[name] ?? '')].map(stampOf).join(' ');
  }
}

function stampOf(path: string): string {
  try {
    const { mtimeMs, size, ino } = statSync(path);
    return `${mtimeMs}:${size}:${ino}`;
  } catch {
    return 'none';
  }
}

/** The sections that are read only when a process starts. */
function atStart({ providers: _, workspaces: __, ...rest }: GatewayConfig): object {
  return rest;
}

function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
