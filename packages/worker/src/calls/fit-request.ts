/**
 * Fits a request to what a model takes: first by the entry's own `drop` and `rename`, then by the facts of the model. What is
 * lost on the way is told: in `adapted`, which the caller reads in a header, or as the field that the entry cannot take.
 */
import { createHash } from 'node:crypto';
import type { ChatMessage, ChatRequest } from '@sluice/shared/chat';
import type { ChainEntry } from '@sluice/shared/queue/job';
import type { ModelFact } from '@sluice/shared/registry/model-facts';
import { heldMessages, holdMessages } from './held-messages.js';

export interface FittedRequest {
  request: ChatRequest;
  /** What was changed, in words: `renamed max_tokens to max_completion_tokens`. */
  adapted: string[];
  /** The first field that the model does not take. It is still in the request. */
  refused?: RefusedField;
}

export interface RefusedField {
  field: string;
  words: string;
}

/** Undefined when the model takes the request as it is, which is nearly always. */
export function fitRequest(
  request: ChatRequest,
  entry: ChainEntry,
  facts: readonly ModelFact[],
): FittedRequest | undefined {
  const { drop, rename } = entry;
  if (facts.length === 0 && !drop && !rename) return undefined;
  const fitted: FittedRequest = { request, adapted: [] };
  for (const field of drop ?? []) if (isSet(request, field)) dropField(fitted, field);
  for (const [field, to] of Object.entries(rename ?? {})) {
    if (isSet(fitted.request, field)) renameField(fitted, field, to);
  }
  for (const fact of facts) {
    if (!concerns(fact, fitted.request)) continue;
    if (!fact.adapt || !adapt(fitted, fact)) {
      fitted.refused ??= { field: fact.field, words: fact.words };
    }
  }
  return fitted.adapted.length === 0 && !fitted.refused ? undefined : fitted;
}

function concerns({ field, refuses, mark }: ModelFact, request: ChatRequest): boolean {
  if (mark !== undefined && heldMessages(request)?.json.includes(mark) === false) return false;
  return field === 'messages'
    ? (refuses?.(undefined, request) ?? true)
    : isSet(request, field) && (refuses?.(request[field], request) ?? true);
}

/** False when the field cannot be adapted. */
function adapt(fitted: FittedRequest, { field, adapt: how }: ModelFact): boolean {
  if (how === 'drop') dropField(fitted, field);
  else if (how === 'digest') digestField(fitted, field);
  else if (how && 'rename' in how) return renameField(fitted, field, how.rename);
  else if (how) changeRole(fitted, how.role, how.becomes);
  return true;
}

/** `null` counts as absent. */
function isSet(request: ChatRequest, field: string): boolean {
  return Object.hasOwn(request, field) && request[field] !== null;
}

function dropField(fitted: FittedRequest, field: string): void {
  change(fitted, `dropped ${field}`, (fields) => delete fields[field]);
}

/** A caller may send the field under both names. Only equal values are one. */
function renameField(fitted: FittedRequest, field: string, to: string): boolean {
  const { request } = fitted;
  if (isSet(request, to) && request[to] !== request[field]) return false;
  change(fitted, `renamed ${field} to ${to}`, (fields) => {
    fields[to] = fields[field];
    delete fields[field];
  });
  return true;
}

/** The same person always has the same digest. */
function digestField(fitted: FittedRequest, field: string): void {
  change(fitted, `replaced ${field} by its digest`, (fields) => {
    fields[field] = createHash('sha256').update(String(fields[field])).digest('hex');
  });
}

function changeRole(fitted: FittedRequest, role: string, becomes: string): void {
  const messages = fitted.request.messages.map((message) =>
    message.role === role ? ({ ...message, role: becomes } as ChatMessage) : message,
  );
  fitted.request = { ...fitted.request, messages };
  fitted.adapted.push(`sent role ${role} as ${becomes}`);
}

/** Changes a copy of the request. Messages that are held as bytes stay so. */
function change(fitted: FittedRequest, words: string, edit: (fields: ChatRequest) => void): void {
  const held = heldMessages(fitted.request);
  const fields = { ...(held?.outline ?? fitted.request) };
  edit(fields);
  fitted.request = held ? holdMessages(fields, held.json) : fields;
  fitted.adapted.push(words);
}
