/**
 * What a change of the audit trail changed, and the request that puts it back. The request is an ordinary one, so that it is
 * checked, allowed and recorded like any other change.
 */
import type { AuditRecord } from './access.js';
import { limitsInput } from './limits.js';
import { classes } from './priority.js';
import { routeSettings } from './route.js';
import { isMap } from './structs.js';
import { workspaceChange, workspaceInput } from './workspace.js';

/** One field that differs. Undefined: the field is not there. */
export interface Difference {
  field: string;
  before: string | undefined;
  after: string | undefined;
}

/** These change with every change, or say what the path says. */
const UNTOLD = new Set(['object', 'version', 'last_used_at', 'created_at']);

/** The fields in which two states differ, as `chain[0].model`. */
export function differencesOf(before: unknown, after: unknown): Difference[] {
  const [old, now] = [flat(before), flat(after)];
  return [...new Set([...old.keys(), ...now.keys()])]
    .map((field) => ({ field, before: old.get(field), after: now.get(field) }))
    .filter((each) => each.before !== each.after);
}

function flat(state: unknown, at = '', found = new Map<string, string>()): Map<string, string> {
  if (Array.isArray(state) && state.some((each) => typeof each === 'object'))
    state.forEach((each, i) => {
      flat(each, `${at}[${i}]`, found);
    });
  else if (isMap(state))
    for (const [name, value] of Object.entries(state)) {
      if (!UNTOLD.has(name)) flat(value, at === '' ? name : `${at}.${name}`, found);
    }
  else if (Array.isArray(state)) {
    // A list of nothing says nothing.
    if (state.length > 0) found.set(at, state.join(', '));
  } else if (state !== null && state !== undefined) found.set(at, String(state));
  return found;
}

export interface Undo {
  method: 'PUT' | 'PATCH' | 'POST' | 'DELETE';
  path: string;
  body?: unknown;
  /** What it does, as the rest of the sentence "This …". */
  words: string;
}

/** The request that puts things back, or why there is none. */
export function undoOf({ action, path, status, before, after }: AuditRecord): Undo | { reason: string } {
  if (status >= 400) return { reason: 'Nothing was changed.' };
  if ([before, after].some((state) => isMap(state) && 'shortened' in state))
    return { reason: 'The state was too long to be recorded whole.' };
  const old = isMap(before) ? before : undefined;
  switch (action) {
    case 'PUT /workspaces/{id}/routes/{alias}':
    case 'DELETE /workspaces/{id}/routes/{alias}':
      if (!old) return { method: 'DELETE', path, words: 'removes the route again' };
      return {
        method: 'PUT',
        path,
        body: only(old, routeSettings),
        words: 'puts the route back as it was before this change',
      };
    case 'PUT /workspaces/{id}/limits':
    case 'PATCH /workspaces/{id}/limits':
      if (old) return patch(path, old, after, limitsInput.schema, 'sets back these limits:');
      break;
    case 'PATCH /workspaces/{id}':
      if (old) return patch(path, old, after, workspaceChange.schema, 'gives the workspace back its');
      break;
    case 'DELETE /workspaces/{id}':
      if (old)
        return {
          method: 'POST',
          path: '/workspaces',
          body: only(old, workspaceInput.schema),
          words: 'makes the workspace anew with its models and limits. Its keys and routes stay deleted',
        };
      break;
    case 'PATCH /keys/{id}':
      if (old)
        return patch(
          path,
          old,
          after,
          { name: true, expires_at: true, ...classes },
          'gives the key back its',
        );
      break;
    case 'POST /workspaces/{id}/keys': {
      const id = isMap(after) ? after.id : undefined;
      if (typeof id === 'string')
        return { method: 'DELETE', path: `/keys/${encodeURIComponent(id)}`, words: 'revokes the key' };
      break;
    }
    case 'DELETE /keys/{id}':
    case 'POST /keys/{id}/rotate':
      return { reason: 'A key that was revoked or replaced cannot be brought back. Issue a new one.' };
    case 'PUT /providers/{provider}': {
      if (!old) return { method: 'DELETE', path, words: 'removes the provider again' };
      const { name: _, address: __, key: ___, ...settings } = old;
      return {
        method: 'PUT',
        path,
        body: settings,
        words: 'sets the provider up as it was. Its stored keys stay',
      };
    }
    case 'DELETE /providers/{provider}': {
      if (!old) break;
      const { name: _, address: __, key, ...settings } = old;
      if (key !== 'none') return { reason: 'Its key was forgotten with it. Add it again, with its key.' };
      return { method: 'PUT', path, body: settings, words: 'adds the provider again' };
    }
  }
  return { reason: 'This kind of change cannot be taken back here.' };
}

/** Puts back only what the change has changed: what somebody else has changed beside it since stays. */
function patch(
  path: string,
  old: Readonly<Record<string, unknown>>,
  after: unknown,
  fields: object,
  words: string,
): Undo | { reason: string } {
  const now = isMap(after) ? after : {};
  const names = Object.keys(fields).filter(
    (name) => JSON.stringify(old[name] ?? null) !== JSON.stringify(now[name] ?? null),
  );
  if (names.length === 0) return { reason: 'Nothing was changed.' };
  const body = Object.fromEntries(names.map((name) => [name, old[name] ?? null]));
  return { method: 'PATCH', path, body, words: `${words} ${names.join(', ')}` };
}

/** What a request may set of a state that is shown. */
function only(state: Readonly<Record<string, unknown>>, fields: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(state).filter(([name]) => name in fields));
}
