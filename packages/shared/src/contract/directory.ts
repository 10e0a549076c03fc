/** All workspaces with their routes and keys. */
import { key } from './key.js';
import { placedRoute } from './route.js';
import * as s from './structs.js';
import { workspace } from './workspace.js';

export const directory = s.named(
  'Directory',
  s.fields({
    object: s.literal('directory'),
    providers: s.described(s.list(s.text()), 'The providers that routes may name.'),
    workspaces: s.list(workspace),
    routes: s.list(placedRoute),
    keys: s.list(key),
  }),
);
export type DirectoryOverview = s.Infer<typeof directory>;
