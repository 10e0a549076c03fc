/**
 * The providers that were added in the console or with `sluice providers set`. Settings and keys are sealed apart: an api
 * process opens the settings only. All are bound to the provider's name, and each key to the id that the settings name.
 * So nobody who can write to Redis can invent a provider, or send a key to another address.
 */
import type { Redis } from 'ioredis';
import { readAddedProvider } from '../config/added-provider.js';
import { ONLY_KEY, type ProviderConfig } from '../config/provider.js';
import type { LiveConfig, TakenUp } from '../process/live-config.js';
import type { ControlNames } from '../redis/key-names.js';
import { loadScript } from '../redis/script.js';

export const MOST_ADDED_PROVIDERS = 100;

/** `Payloads` is one. */
interface Sealer {
  keyIds: { writes: string | null };
  isSealed(text: string): boolean;
  seal(text: string, context: string): string;
  open(text: string, context: string): string;
}

/** The record in Redis. A provider has `key`, or `keys` by their names, or neither. */
interface Sealed {
  settings: string;
  key?: string | undefined;
  keys?: [name: string, sealed: string][] | undefined;
}

/** The text in `Sealed.settings`. */
interface Opened {
  settings: Readonly<Record<string, unknown>>;
  keyId?: string | undefined;
  keyIds?: [name: string, id: string][] | undefined;
}

export interface StoredProvider {
  /** Undefined when it cannot be read. */
  provider: ProviderConfig | undefined;
  /** The text in Redis. */
  record: string;
}

const changeScript = loadScript<
  'done' | 'changed' | 'full',
  { providersKey: string },
  { name: string; expected: string; text: string; most: number }
>(import.meta.url, 'change-added-provider');

export class AddedProviders {
  /** The records as they were last taken up. */
  #seen: string | undefined;

  constructor(
    private readonly redis: Redis,
    private readonly names: ControlNames,
    private readonly sealer: Sealer,
  ) {}

  /** False: keys would be stored in clear, because the process has no payload key. */
  get canSeal(): boolean {
    return this.sealer.keyIds.writes !== null;
  }

  async find(name: string): Promise<StoredProvider | undefined> {
    const record = await this.redis.hget(this.names.addedProviders, name);
    return record === null ? undefined : { provider: this.#open(name, record, false)?.provider, record };
  }

  /** `secrets` has the new keys by their names. The others stay as they are stored. */
  put(
    name: string,
    before: StoredProvider | undefined,
    { added }: ProviderConfig,
    secrets: ReadonlyMap<string, string>,
  ) {
    const { settings, keyIds } = added ?? { settings: {}, keyIds: new Map<string, string>() };
    const stored = before ? this.#sealedById(before) : new Map<string, string>();
    const keys = [...keyIds].map(([keyName, id]): [string, string] => {
      const secret = secrets.get(keyName);
      const sealed = secret === undefined ? stored.get(id) : this.sealer.seal(secret, keyContext(name, id));
      if (sealed === undefined) throw new Error(`no key ${id} of provider ${name} is stored`);
      return [keyName, sealed];
    });
    const isSingle = keyIds.has(ONLY_KEY);
    const opened: Opened = isSingle
      ? { settings, keyId: keyIds.get(ONLY_KEY) }
      : { settings, ...(keyIds.size > 0 ? { keyIds: [...keyIds] } : {}) };
    const sealed: Sealed = {
      settings: this.sealer.seal(JSON.stringify(opened), settingsContext(name)),
      ...(isSingle ? { key: keys[0]?.[1] } : keys.length > 0 ? { keys } : {}),
    };
    return this.#change(name, before, JSON.stringify(sealed));
  }

  remove(name: string, before: StoredProvider) {
    return this.#change(name, before, '');
  }

  /** Puts into force what is stored now. Only workers open keys. */
  async takeUp(live: LiveConfig, withKeys: boolean): Promise<void> {
    const records = Object.entries(await this.redis.hgetall(this.names.addedProviders)).sort();
    const text = JSON.stringify(records);
    if (text === this.#seen) return;
    const opened = records.map(([name, record]) => [name, this.#open(name, record, withKeys)] as const);
    live.setAdded(
      new Map(opened.flatMap(([name, taken]) => (taken ? [[name, taken]] : []))),
      opened.filter(([, taken]) => !taken).map(([name]) => name),
    );
    this.#seen = text;
  }

  #change(name: string, before: StoredProvider | undefined, text: string) {
    return changeScript(
      this.redis,
      { providersKey: this.names.addedProviders },
      { name, expected: before?.record ?? '', text, most: MOST_ADDED_PROVIDERS },
    );
  }

  #sealedById({ provider, record }: StoredProvider): Map<string, string> {
    const sealed = sealedKeys(JSON.parse(record) as Sealed);
    const ids = [...(provider?.added?.keyIds ?? [])];
    return new Map(ids.map(([keyName, id]) => [id, sealed.get(keyName) ?? '']));
  }

  /** Undefined for a record that was stored with another payload key, or that the gateway has not written. */
  #open(name: string, record: string, withKeys: boolean): TakenUp | undefined {
    try {
      const stored = JSON.parse(record) as Sealed;
      const sealed = sealedKeys(stored);
      if (![stored.settings, ...sealed.values()].every((text) => this.sealer.isSealed(text)))
        return undefined;
      const opened = JSON.parse(this.sealer.open(stored.settings, settingsContext(name))) as Opened;
      const keyIds = new Map(opened.keyId === undefined ? opened.keyIds : [[ONLY_KEY, opened.keyId]]);
      const { provider } = readAddedProvider(name, opened.settings, keyIds);
      if (!provider) return undefined;
      const keys = withKeys
        ? [...keyIds].map(([keyName, id]): [string, string] => {
            return [keyName, this.sealer.open(sealed.get(keyName) ?? '', keyContext(name, id))];
          })
        : [];
      return { provider, keys: new Map(keys) };
    } catch {
      return undefined;
    }
  }
}

function sealedKeys({ key, keys }: Sealed): Map<string, string> {
  return new Map(key === undefined ? keys : [[ONLY_KEY, key]]);
}

function settingsContext(name: string): string {
  return `added provider\n${name}`;
}

function keyContext(name: string, keyId: string): string {
  return `key of added provider\n${name}\n${keyId}`;
}
