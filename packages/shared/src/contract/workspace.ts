import { id, label, MODEL, moment, momentOrNull } from './common.js';
import { limits, limitsInput } from './limits.js';
import * as s from './structs.js';

const MODEL_PATTERN: s.TextRule = {
  pattern: MODEL.pattern,
  allowed: 'a route or model id of 1 to 256 characters without spaces; * stands for any characters',
};

/** Null: all models are allowed. */
const models = s
  .orNull(s.list(s.textOf(MODEL_PATTERN), { min: 1, max: 256 }))
  .about('Routes and model ids that callers may name; * stands for any characters. Null: all.');

const workspaceFields = {
  id: s.text(),
  object: s.literal('workspace'),
  name: s.text(),
  created_at: moment,
  models,
  limits,
  shard: s.optional(s.whole()).about('Where it lives. Absent: in the first or only one.'),
};
export const workspace = s.component('Workspace', workspaceFields);
export type Workspace = s.Infer<typeof workspace>;

export const workspaceState = s.component('WorkspaceState', {
  ...workspaceFields,
  refusing_since: momentOrNull.about('Since when its budget refuses every request.'),
});
export type WorkspaceState = s.Infer<typeof workspaceState>;

/** What may be changed, in the admin api and in gateway.yaml. */
export const workspaceChanges = {
  name: s.optional(label),
  models: s.optional(models),
  limits: s.optional(limitsInput),
};
export const workspaceChange = s.component('WorkspaceChange', workspaceChanges);
export const workspaceInput = s.component('WorkspaceInput', { id, ...workspaceChanges });

export const deletedWorkspace = s.fields({
  id: s.text(),
  object: s.literal('workspace'),
  deleted: s.literal(true),
  /** Present when the workspace's history was erased too. From `id_free_at` on, a new workspace may have the id. */
  erased: s.optional(s.fields({ log_entries: s.whole(), ledger_rows: s.whole(), id_free_at: moment })),
});
export type DeletedWorkspace = s.Infer<typeof deletedWorkspace>;

export const erasedUser = s.fields({
  object: s.literal('erasure'),
  workspace: s.text(),
  /** In Redis. */
  log_entries: s.whole(),
  /** `scheduled`: a worker deletes the rows within seconds, and none is written any more. */
  archive: s.choice('scheduled', 'none'),
});
export type ErasedUser = s.Infer<typeof erasedUser>;
