/** The parts of a cell, and moving a workspace from one to another. */
import { wholeOrNull } from './common.js';
import * as s from './structs.js';

/** Callers give up after five minutes, unless the operator has set another time. */
export const MOST_WAIT_SECONDS = 240;

export const shard = s.component('Shard', {
  object: s.literal('shard'),
  shard: s.whole(),
  up: s.flag.about('Whether its Redis answers. Without it the figures beside are null.'),
  open: s.flag.about('Whether it gets new workspaces.'),
  workspaces: s.whole().about('How many live there.'),
  moving: s.whole().about('How many of them are moving to another shard.'),
  waiting: wholeOrNull.about('Requests that wait for their turn.'),
  active: wholeOrNull.about('Requests that run.'),
  memory_used_bytes: wholeOrNull.about('Of its Redis, which may have other shards, too.'),
});
export type Shard = s.Infer<typeof shard>;

export const shardChange = s.component('ShardChange', {
  open: s.flag.about('Whether it gets new workspaces.'),
});

export const moveInput = s.component('WorkspaceMoveInput', {
  shard: s.whole({ min: 0, max: 63 }).about('Where it is to live.'),
  wait_seconds: s
    .optional(s.whole({ min: 1, max: MOST_WAIT_SECONDS }))
    .about('For how long its running requests may keep its callers waiting. 20 by default.'),
});

export const workspaceMove = s.component('WorkspaceMove', {
  object: s.literal('workspace_move'),
  workspace: s.text(),
  from: s.whole(),
  to: s.whole(),
  held_ms: s.whole().about('For how long its callers waited.'),
});
export type WorkspaceMove = s.Infer<typeof workspaceMove>;
