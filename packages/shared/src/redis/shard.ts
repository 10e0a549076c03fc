/**
 * A part of a cell that has the requests of some workspaces: their queues, limits, log and spend. All its keys have one hash
 * tag, so that one script may touch several of them, and on a Cluster it is one slot. The record of a workspace says which
 * shard it is in. Shard 0 has the tag of the cell, as the keys that all shards share. So a cell of one shard has one tag.
 */
import slotOf from 'cluster-key-slot';
import type { Redis } from 'ioredis';
import { isRedisAway } from './away.js';
import type { RedisClock } from './clock.js';
import { type ShardNames, shardNames } from './key-names.js';

export const MOST_SHARDS = 64;

/** What a part needs that only reads or writes keys of a shard. */
export interface ShardKeys {
  readonly id: number;
  readonly redis: Redis;
  readonly names: ShardNames;
}

export interface Shard extends ShardKeys {
  /** The Redis of another shard may have another time. What crosses a queue is in the time of its shard. */
  readonly clock: RedisClock;
}

/**
 * The hash tag of a shard's keys. No name of a cell has a slash. Each master of a Cluster has a range of the slots, and tags that
 * differ by a number alone lie in heaps. So the second number is the first with which the tag lies in the shard's part of the
 * slots. Whatever the cell's name is, eight shards are then as far from each other as they can be, and so are sixteen.
 */
export function shardTag(cell: string, id: number): string {
  if (id === 0) return cell;
  const part = (partOfSlots(cell) + mirrored(id)) % PARTS;
  for (let i = 0; ; i++) {
    const tag = `${cell}/${id}.${i}`;
    if (partOfSlots(tag) === part) return tag;
  }
}

/** The slots in parts of one size. It never changes: tags depend on it. */
const PARTS = 64;
const PART_BITS = 6;
const SLOT_BITS = 14;

/** 0, 32, 16, 48, 8, …: each number lies in the middle of the widest gap that those before it have left. */
function mirrored(id: number): number {
  let result = 0;
  for (let bit = 0; bit < PART_BITS; bit++) if (id & (1 << bit)) result |= PARTS >> (bit + 1);
  return result;
}

/** In which part of the slots keys with this tag are. */
function partOfSlots(tag: string): number {
  return slotOf(tag) >> (SLOT_BITS - PART_BITS);
}

/** `shards`: how many the cell has, for those who begin something for a workspace that may have moved. */
export function namesOfShard(cell: string, id: number, shards = 1): ShardNames {
  const tag = shardTag(cell, id);
  const names = shardNames(tag);
  return shards > 1 ? { ...names, fence: (workspace) => `{${tag}}:moved:${workspace}` } : names;
}

/** The shard of a workspace that has none in its record. */
export const FIRST_SHARD = 0;

/** The shard that a new workspace gets (FNV-1a). */
export function shardFor(workspace: string, shards: number): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < workspace.length; i++) value = Math.imul(value ^ workspace.charCodeAt(i), 0x01000193);
  return (value >>> 0) % shards;
}

export interface Asked<Answer> {
  answers: Answer[];
  /** The shards that are away. What they have is not in the answers. */
  late: number[];
}

/** Asks all shards. Throws when none answers, or when the answer is an error of another kind. */
export async function askShards<Of extends ShardKeys, Answer>(
  shards: readonly Of[],
  ask: (shard: Of) => Promise<Answer>,
): Promise<Asked<Answer>> {
  const [only] = shards;
  if (only && shards.length === 1) return { answers: [await ask(only)], late: [] };
  const asked = await Promise.allSettled(shards.map(ask));
  const answers: Answer[] = [];
  const late: number[] = [];
  for (const [i, each] of asked.entries()) {
    if (each.status === 'fulfilled') answers.push(each.value);
    else if (answers.length === 0 && i === asked.length - 1) throw each.reason;
    else if (!isRedisAway(each.reason)) throw each.reason;
    else late.push(shards[i]?.id ?? i);
  }
  return { answers, late };
}
