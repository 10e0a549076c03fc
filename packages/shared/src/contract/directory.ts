/** All workspaces with their routes and keys. */
import { key } from './key.js';
import { placedRoute } from './route.js';
import * as s from './structs.js';
import { workspace } from './workspace.js';

export const directory = s.component('Directory', {
  object: s.literal('directory'),
  providers: s.list(s.text()).about('The providers that routes may name.'),
  workspaces: s.list(workspace),
  routes: s.list(placedRoute),
  keys: s.list(key),
});
export type DirectoryOverview = s.Infer<typeof directory>;
