/** Makes, replaces and withdraws keys. A key's value is in what `issue` and `rotate` return, and nowhere else. */

import { lastFour, makeGatewayKey } from '../config/gateway-key.js';
import { GatewayError } from '../errors.js';
import type { Clock } from '../redis/clock.js';
import { makeRequestId } from '../request-id.js';
import type { Directory, KeyRecord, StoredKey } from './directory.js';
import type { KeyDigests } from './key-digests.js';

export interface NewKey {
  key: KeyRecord;
  digest: string;
  /** Undefined when the operator's own value was there already. */
  value: string | undefined;
}

export interface KeyWish {
  name: string;
  /** Redis time, in ms. */
  expires?: number | undefined;
  /** An operator's own value; without it one is made. */
  value?: string | undefined;
}

export class KeyIssuer {
  constructor(
    private readonly directory: Directory,
    private readonly clock: Clock,
    private readonly digests: KeyDigests,
  ) {}

  /** The same value for the same workspace again changes nothing. */
  async issue(workspace: string, { name, expires, value = makeGatewayKey() }: KeyWish): Promise<NewKey> {
    const digest = this.digests.of(value);
    const key = this.#make(workspace, name, value, expires);
    let known = await this.directory.findKey(this.digests.all(value));
    if (!known) {
      const result = await this.directory.createKey(digest, key);
      if (result === 'done') return { key, digest, value };
      if (result === 'no_workspace') throw noWorkspace();
      known = await this.directory.findKey([digest]);
    }
    if (known?.key.workspace !== workspace)
      throw new GatewayError('conflict', 'Another workspace has a key of this value.');
    // It was stored before the secret of the digests was set or changed.
    if (known.digest !== digest && !(await this.directory.moveKey(known, digest))) throw changedMeanwhile();
    return { key: known.key, digest, value: undefined };
  }

  /** A new key of the same name; the old one lives on for `graceMs`, unless it ends sooner by itself. */
  async rotate(
    id: string,
    { graceMs, expires: end }: { graceMs: number; expires?: number | undefined },
  ): Promise<NewKey & { value: string; replaced: StoredKey }> {
    const { digest: oldDigest, key: old } = await this.#find(id);
    const now = this.clock.now();
    if (old.expires !== undefined && old.expires <= now)
      throw new GatewayError('conflict', 'The key has expired; issue a new one.');
    const value = makeGatewayKey();
    const digest = this.digests.of(value);
    const key = this.#make(old.workspace, old.name, value, end);
    const expires = Math.min(old.expires ?? Number.POSITIVE_INFINITY, now + graceMs);
    const replaced = { digest: oldDigest, key: { ...old, expires } };
    const done = await this.directory.replaceKeys([
      { digest: oldDigest, from: old, to: replaced.key },
      { digest, from: null, to: key },
    ]);
    if (!done) throw changedMeanwhile();
    return { key, digest, value, replaced };
  }

  /** `expires` null: never. */
  async change(
    id: string,
    { name, expires }: { name?: string; expires?: number | null },
  ): Promise<StoredKey> {
    const { digest, key: from } = await this.#find(id);
    const { expires: before, ...rest } = from;
    const until = expires === undefined ? before : (expires ?? undefined);
    const to: KeyRecord = {
      ...rest,
      name: name ?? from.name,
      ...(until === undefined ? {} : { expires: until }),
    };
    if (!(await this.directory.replaceKeys([{ digest, from, to }]))) throw changedMeanwhile();
    return { digest, key: to };
  }

  async revoke(id: string): Promise<void> {
    await this.directory.deleteKey((await this.#find(id)).digest);
  }

  async #find(id: string) {
    const found = await this.directory.findKeyById(id);
    if (!found) throw new GatewayError('not_found', 'There is no key of this id.');
    return found;
  }

  #make(workspace: string, name: string, value: string, expires?: number): KeyRecord {
    return {
      id: `key_${makeRequestId()}`,
      workspace,
      name,
      lastFour: lastFour(value),
      created: this.clock.now(),
      ...(expires === undefined ? {} : { expires }),
    };
  }
}

export function noWorkspace(): GatewayError {
  return new GatewayError('not_found', 'There is no workspace of this id.');
}

function changedMeanwhile(): GatewayError {
  return new GatewayError('conflict', 'The key was changed by somebody else meanwhile; look at it again.');
}
