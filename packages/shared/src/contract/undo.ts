/**
 * What a change of the audit trail changed, and the request that puts it back. The request is an ordinary one, so that it is
 * checked, allowed and recorded like any other change.
 */
import type { AuditPage, AuditRecord } from './access.js';
import { type Budget, budgetWords } from './budget.js';
import type { List } from './common.js';
import { limitsInput } from './limits.js';
import { classes } from './priority.js';
import type { ProviderInfo } from './provider-info.js';
import { routeSettings } from './route.js';
import { isMap } from './structs.js';
import { type Workspace, workspaceChange } from './workspace.js';

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

export interface NoUndo {
  reason: string;
}

type Fields = Readonly<Record<string, unknown>>;

/** A path that ends in it was too long to be recorded whole. */
export const CUT = '…';
const UNCHANGED = { reason: 'Nothing was changed.' };
const NO_KEY = { reason: 'A key that was revoked or replaced cannot be brought back. Issue a new one.' };

/** The request that puts things back, as far as the entry tells, or why there is none. `undoNow` looks before it is sent. */
export function undoOf({ action, path, status, before, after }: AuditRecord): Undo | NoUndo {
  if (status >= 400) return UNCHANGED;
  if (path.endsWith(CUT)) return { reason: 'The path was too long to be recorded whole.' };
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
      return { reason: 'A deleted workspace cannot be brought back, and its id is taken. Make another one.' };
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
      // A value that was a key already is answered by 200.
      if (status !== 201) return UNCHANGED;
      const id = isMap(after) ? after.id : undefined;
      if (typeof id === 'string')
        return { method: 'DELETE', path: `/keys/${encodeURIComponent(id)}`, words: 'revokes the key' };
      break;
    }
    case 'DELETE /keys/{id}':
    case 'POST /keys/{id}/rotate':
      return NO_KEY;
    case 'PUT /providers/{provider}':
      if (!old) return { method: 'DELETE', path, words: 'removes the provider again' };
      return putProvider(path, old, 'sets the provider up as it was. Its stored keys stay');
    case 'DELETE /providers/{provider}':
      if (!old) break;
      if (old.key !== 'none') return { reason: 'Its key was forgotten with it. Add it again, with its key.' };
      return putProvider(path, old, 'adds the provider again');
  }
  return { reason: 'This kind of change cannot be taken back here.' };
}

/** It may be one that waits under a name of gateway.yaml. */
function putProvider(path: string, old: Fields, words: string): Undo {
  return { method: 'PUT', path: `${path}?take_over=true`, body: settingsOf(old), words };
}

/** Puts back only what the change has changed. */
function patch(path: string, old: Fields, after: unknown, fields: object, words: string): Undo | NoUndo {
  const names = Object.keys(fields).filter((name) => !isSame(old[name], fieldOf(after, name)));
  if (names.length === 0) return UNCHANGED;
  const body = Object.fromEntries(names.map((name) => [name, old[name] ?? null]));
  return { method: 'PATCH', path, body, words: `${words} ${names.join(', ')}` };
}

type Ask = <T>(path: string) => Promise<T>;

/** The request that puts things back as they are now. Refused where somebody has changed the same since. */
export async function undoNow(record: AuditRecord, ask: Ask): Promise<Undo | NoUndo> {
  const { action, path, cursor } = record;
  const undo = undoOf(record);
  // A new key has nothing that could be lost but itself.
  if ('reason' in undo || action === 'POST /workspaces/{id}/keys') return undo;
  const doneAt = async (place: string) => {
    const { data } = await ask<AuditPage>(`/audit?limit=200&path=${encodeURIComponent(place)}`);
    return data.filter(({ status }) => status < 400);
  };
  if (action === 'PATCH /keys/{id}' && (await doneAt(`${path}/rotate`)).length > 0) return NO_KEY;
  const [newest] = await doneAt(path);
  const present = await presentOf(record, newest, ask);
  return undoAgainst(record, present, newest?.cursor === cursor ? null : newest?.who);
}

/** `present`: the state of now. Undefined: it is not there. `last`: who made the last change there, if it is another one. */
export function undoAgainst(record: AuditRecord, present: unknown, last?: string | null): Undo | NoUndo {
  const undo = undoOf(record);
  if ('reason' in undo) return undo;
  const { action, before, after } = record;
  const by = last ? ` (the last change was by ${last})` : '';
  if (after !== null && present === undefined)
    return action === 'PATCH /keys/{id}' ? NO_KEY : { reason: `Somebody has removed this since${by}.` };
  if (after === null)
    return present === undefined ? undo : { reason: `Somebody has made this anew since${by}.` };
  const clashes: string[] = [];
  const body = { ...(isMap(undo.body) ? undo.body : {}) };
  if (undo.method === 'PATCH')
    for (const name of Object.keys(body))
      body[name] = setBack(
        [before, after, present].map((state) => fieldOf(state, name)) as States,
        name,
        clashes,
      );
  else {
    // The whole thing is replaced or removed.
    const [left, now] = action.includes('/routes/')
      ? [only(after, routeSettings), only(present, routeSettings)]
      : [settingsOf(after), settingsOf(present)];
    clashes.push(...Object.keys({ ...left, ...now }).filter((name) => !isSame(left[name], now[name])));
  }
  if (clashes.length > 0)
    return {
      reason: `Somebody has changed this since${by}: ${clashes.join('; ')}. Restore that change first, or set by hand what you want.`,
    };
  return undo.method === 'PATCH' ? { ...undo, body } : undo;
}

/** A state before the change, after it, and now. */
type States = [old: unknown, after: unknown, now: unknown];

/** The state of now without the change. What the change did not touch stays; what is not as it left it is a clash. */
function setBack(states: States, at: string, clashes: string[]): unknown {
  const [old, after, now] = states;
  if (isSame(old, after)) return now ?? null;
  if (at === 'limits' || at === 'budgets') {
    const parts = states.map(at === 'limits' ? mapOf : budgetsByName);
    const names = Object.keys(Object.assign({}, ...parts.toReversed()));
    const back = names.map((name): [string, unknown] => [
      name,
      setBack(parts.map((part) => part[name]) as States, name, clashes),
    ]);
    if (at === 'limits') return Object.fromEntries(back);
    const budgets = back.map(([, budget]) => budget).filter((budget) => budget !== null);
    return budgets.length === 0 ? null : budgets;
  }
  if (!isSame(after, now)) clashes.push(at);
  return old ?? null;
}

/** A budget is known by what it is for. */
function budgetsByName(state: unknown): Fields {
  const budgets = Array.isArray(state) ? (state as Budget[]) : [];
  return Object.fromEntries(budgets.map((budget) => [`the budget for ${budgetWords(budget)}`, budget]));
}

/** What the entry changed, as it is now. */
async function presentOf(
  { action, workspace, before, after }: AuditRecord,
  newest: AuditRecord | undefined,
  ask: Ask,
): Promise<unknown> {
  const list = async <T>(place: string) => (await ask<List<T>>(place)).data;
  const place = `/workspaces/${encodeURIComponent(workspace ?? '')}`;
  const id = fieldOf(after, 'id') ?? fieldOf(before, 'id');
  if (action.includes('/routes/'))
    return (await list<{ id: string }>(`${place}/routes`)).find((route) => route.id === id);
  if (action.endsWith(' /keys/{id}'))
    return (await list<{ id: string }>(`${place}/keys`)).find((key) => key.id === id);
  if (action.includes('/providers/')) {
    const name = fieldOf(after, 'name') ?? fieldOf(before, 'name');
    const found = (await list<ProviderInfo>('/providers')).find((provider) => provider.name === name);
    // The api does not show one that waits for gateway.yaml.
    return found?.settings ?? (found?.file?.taken_over ? newest?.after : undefined);
  }
  const found = (await list<Workspace>('/workspaces')).find((each) => each.id === workspace);
  return action.endsWith('/limits') ? found?.limits : found;
}

/** What a request may set of a state that is shown. */
function only(state: unknown, fields: object): Fields {
  return Object.fromEntries(Object.entries(mapOf(state)).filter(([name]) => name in fields));
}

/** The same of a provider. */
function settingsOf(state: unknown): Fields {
  const { name: _, address: __, key: ___, new_keys: ____, ...settings } = mapOf(state);
  return settings;
}

function mapOf(state: unknown): Fields {
  return isMap(state) ? state : {};
}

function fieldOf(state: unknown, name: string): unknown {
  return mapOf(state)[name];
}

/** In whatever order the fields are. A field that is null is as one that is not there. */
function isSame(a: unknown, b: unknown): boolean {
  const [one, other] = [a, b].map((state) =>
    JSON.stringify(state ?? null, (_, value: unknown) =>
      isMap(value)
        ? Object.fromEntries(
            Object.entries(value)
              .filter(([, each]) => each !== null)
              .sort(([x], [y]) => (x < y ? -1 : 1)),
          )
        : value,
    ),
  );
  return one === other;
}
