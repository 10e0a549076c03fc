/**
 * The providers that were added in the console or with `sluice providers set`. Settings and key are sealed apart: an api
 * process opens the settings only. Both are bound to the provider's name, and the key to the id that the settings name.
 * So nobody who can write to Redis can invent a provider, or send a key to another address.
 */
import type { Redis } from 'ioredis';
import { readAddedProvider } from '../config/added-provider.js';
import { ConfigReader } from '../config/reader.js';
import type { ProviderConfig } from '../config/types.js';
import type { LiveConfig, TakenUp } from '../process/live-config.js';
import type { KeyNames } from '../redis/key-names.js';
import { createScript } from '../redis/script.js';

export const MOST_ADDED_PROVIDERS = 100;

/** `Payloads` is one. */
interface Sealer {
  keyIds: { writes: string | null };
  isSealed(text: string): boolean;
  seal(text: string, context: string): string;
  open(text: string, context: string): string;
}

interface Sealed {
  settings: string;
  key?: string | undefined;
}

export interface StoredProvider {
  /** Undefined when it cannot be read. */
  provider: ProviderConfig | undefined;
  /** The text in Redis. */
  record: string;
}

/** Writes one record, or removes it if there is no new text. Nothing is written when somebody else was faster. */
const changeScript = createScript<'done' | 'changed' | 'full'>(
  'sluiceChangeAddedProvider',
  `
local name, expected, text, most = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
if (redis.call('HGET', KEYS[1], name) or '') ~= expected then return 'changed' end
if text == '' then
  redis.call('HDEL', KEYS[1], name)
elseif expected == '' and redis.call('HLEN', KEYS[1]) >= most then
  return 'full'
else
  redis.call('HSET', KEYS[1], name, text)
end
return 'done'
`,
);

export class AddedProviders {
  /** The records as they were last taken up. */
  #seen: string | undefined;

  constructor(
    private readonly redis: Redis,
    private readonly names: KeyNames,
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

  /** Without `key` the stored one stays, if the provider still names it. */
  put(name: string, before: StoredProvider | undefined, { added }: ProviderConfig, key: string | undefined) {
    const { settings, keyId } = added ?? { settings: {} };
    const kept =
      keyId !== undefined && before?.provider?.added?.keyId === keyId
        ? (JSON.parse(before.record) as Sealed).key
        : undefined;
    const sealed: Sealed = {
      settings: this.sealer.seal(JSON.stringify({ settings, keyId }), settingsContext(name)),
      key: key === undefined ? kept : this.sealer.seal(key, keyContext(name, keyId)),
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
      [this.names.addedProviders],
      [name, before?.record ?? '', text, MOST_ADDED_PROVIDERS],
    );
  }

  /** Undefined for a record that was stored with another payload key, or that the gateway has not written. */
  #open(name: string, record: string, withKey: boolean): TakenUp | undefined {
    try {
      const { settings: sealed, key } = JSON.parse(record) as Sealed;
      if (![sealed, key ?? sealed].every((text) => this.sealer.isSealed(text))) return undefined;
      const { settings, keyId } = JSON.parse(this.sealer.open(sealed, settingsContext(name)));
      const reader = new ConfigReader([], undefined);
      const provider = readAddedProvider(reader, name, settings, keyId);
      if (!provider || reader.mistakes.length > 0) return undefined;
      const opens = withKey && key !== undefined;
      return { provider, key: opens ? this.sealer.open(key, keyContext(name, keyId)) : undefined };
    } catch {
      return undefined;
    }
  }
}

function settingsContext(name: string): string {
  return `added provider\n${name}`;
}

function keyContext(name: string, keyId: string | undefined): string {
  return `key of added provider\n${name}\n${keyId}`;
}
