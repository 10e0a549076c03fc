/** Makes, replaces and withdraws keys. A key's value is in what `issue` and `rotate` return, and nowhere else. */

import { lastFour, makeGatewayKey } from '../contract/gateway-key.js';
import { ceilingOf, type KeyPriority, rankOf } from '../contract/priority.js';
import { GatewayError } from '../errors.js';
import type { Clock } from '../redis/clock.js';
import { makeRequestId } from '../request-id.js';
import type { Directory, KeyRecord, StoredKey } from './directory.js';
import type { KeyDigests } from './key-digests.js';

export interface NewKey {
  key: KeyRecord;
  digest: string;
  /** Undefined when the operator's own value was stored already. */
  value: string | undefined;
}

export interface KeySettings extends KeyPriority {
  name: string;
  /** Redis time, in ms. */
  expires?: number | undefined;
  /** The person or token that issues the key. */
  createdBy?: string | undefined;
  /** An operator's own value. Without it the gateway makes one. */
  value?: string | undefined;
}

/** What the gateway knows of a value that an operator wants to use as a key. */
export type KeyState =
  | { state: 'unused' }
  | { state: 'issued'; stored: StoredKey }
  | { state: 'revoked'; revoked: number };

export class KeyIssuer {
  constructor(
    private readonly directory: Directory,
    private readonly clock: Clock,
    private readonly digests: KeyDigests,
  ) {}

  async find(value: string): Promise<KeyState> {
    const digests = this.digests.all(value);
    const stored = await this.directory.findKey(digests);
    if (stored) return { state: 'issued', stored };
    // This question comes second, so that it finds a key that is revoked between the two.
    const revoked = await this.directory.findRevocation(digests);
    return revoked === undefined ? { state: 'unused' } : { state: 'revoked', revoked };
  }

  /** Issuing the same value for the same workspace again changes nothing. A revoked value is refused. */
  async issue(workspace: string, settings: KeySettings): Promise<NewKey> {
    const { value = makeGatewayKey() } = settings;
    const digest = this.digests.of(value);
    const key = this.#make(workspace, value, settings);
    const found = await this.find(value);
    if (found.state === 'revoked') throw new GatewayError('conflict', revokedText(found.revoked));
    let known = found.state === 'issued' ? found.stored : undefined;
    if (!known) {
      const result = await this.directory.createKey(digest, key);
      if (result === 'done') return { key, digest, value };
      if (result === 'no_workspace') throw noWorkspace();
      known = await this.directory.findKey([digest]);
    }
    if (known?.key.workspace !== workspace)
      throw new GatewayError('conflict', 'Another workspace has a key of this value.');
    // The key was stored before the secret of the digests was set or changed.
    if (known.digest !== digest && !(await this.directory.moveKey(known, digest))) throw changedMeanwhile();
    return { key: known.key, digest, value: undefined };
  }

  /**
   * Makes a new key of the same name. The old key stays valid for `graceMs`, unless it expires sooner. The new key expires
   * when the old one would have, unless `expires` says otherwise. Null: the new key never expires.
   */
  async rotate(
    id: string,
    {
      graceMs,
      expires: wanted,
      createdBy,
    }: { graceMs: number; expires?: number | null | undefined; createdBy?: string | undefined },
  ): Promise<NewKey & { value: string; replaced: StoredKey }> {
    const { digest: oldDigest, key: old } = await this.#find(id);
    const now = this.clock.now();
    if (old.expires !== undefined && old.expires <= now)
      throw new GatewayError('conflict', 'The key has expired; issue a new one.');
    const value = makeGatewayKey();
    const digest = this.digests.of(value);
    const end = old.expiredBefore === undefined ? (old.expires ?? null) : old.expiredBefore;
    const newEnd = (wanted === undefined ? end : wanted) ?? undefined;
    const key = this.#make(old.workspace, value, { ...old, expires: newEnd, createdBy });
    const expires = Math.min(old.expires ?? Number.POSITIVE_INFINITY, now + graceMs);
    const replaced = { digest: oldDigest, key: { ...old, expires, expiredBefore: end } };
    const done = await this.directory.replaceKeys([
      { digest: oldDigest, from: old, to: replaced.key },
      { digest, from: null, to: key },
    ]);
    if (!done) throw changedMeanwhile();
    return { key, digest, value, replaced };
  }

  /** When `expires` is null, the key never expires. */
  async change(
    id: string,
    {
      name,
      expires,
      priority,
      maxPriority,
    }: Partial<KeyPriority> & { name?: string; expires?: number | null },
  ): Promise<StoredKey> {
    const { digest, key: from } = await this.#find(id);
    const { expires: before, expiredBefore, ...rest } = from;
    if (expires !== undefined && expiredBefore !== undefined && (before ?? 0) <= this.clock.now())
      throw new GatewayError('conflict', 'The key was replaced and has ended. Issue a new one.');
    const until = expires === undefined ? before : (expires ?? undefined);
    const to: KeyRecord = {
      ...rest,
      name: name ?? from.name,
      ...(until === undefined ? {} : { expires: until }),
      // An expiry that is set by hand replaces the one from before the rotation.
      ...(expires !== undefined || expiredBefore === undefined ? {} : { expiredBefore }),
      ...stated({ priority: priority ?? from.priority, maxPriority: maxPriority ?? from.maxPriority }),
    };
    if (!(await this.directory.replaceKeys([{ digest, from, to }]))) throw changedMeanwhile();
    return { digest, key: to };
  }

  async revoke(id: string): Promise<void> {
    await this.directory.revokeKey((await this.#find(id)).digest, this.clock.now());
  }

  async #find(id: string) {
    const found = await this.directory.findKeyById(id);
    if (!found) throw new GatewayError('not_found', 'There is no key with this id.');
    return found;
  }

  #make(workspace: string, value: string, { name, expires, createdBy, ...classes }: KeySettings): KeyRecord {
    return {
      id: `key_${makeRequestId()}`,
      workspace,
      name,
      lastFour: lastFour(value),
      created: this.clock.now(),
      ...(createdBy === undefined ? {} : { createdBy }),
      ...(expires === undefined ? {} : { expires }),
      ...stated(classes),
    };
  }
}

export function revokedText(moment: number): string {
  return `A key of this value was revoked on ${new Date(moment).toISOString()}; use a new value.`;
}

/** Leaves out the fields that are undefined. */
function stated({ priority, maxPriority }: KeyPriority): KeyPriority {
  if (priority && rankOf(priority) < rankOf(ceilingOf({ priority, maxPriority })))
    throw new GatewayError('invalid_request', 'The priority of a key cannot be above its max_priority.');
  return {
    ...(priority === undefined ? {} : { priority }),
    ...(maxPriority === undefined ? {} : { maxPriority }),
  };
}

export function noWorkspace(): GatewayError {
  return new GatewayError('not_found', 'There is no workspace with this id.');
}

function changedMeanwhile(): GatewayError {
  return new GatewayError('conflict', 'The key was changed by somebody else meanwhile; look at it again.');
}
