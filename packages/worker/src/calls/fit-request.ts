/**
 * Fits a request to what a model takes: first by the entry's own `drop` and `rename`, then by the facts of the model. What is
 * lost on the way is told: in `adapted`, which the caller reads in a header, or as the field that the entry cannot take.
 */
import { createHash } from 'node:crypto';
import type { ChatMessage, ChatRequest } from '@sluice/shared/chat';
import type { ChainEntry } from '@sluice/shared/queue/job';
import { MISTRAL_CALL_ID, type ModelFact } from '@sluice/shared/registry/model-facts';
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
  for (const field of drop ?? []) {
    dropNull(fitted, field);
    if (isSet(fitted.request, field)) dropField(fitted, field);
  }
  for (const [field, to] of Object.entries(rename ?? {})) {
    dropNull(fitted, field);
    if (isSet(fitted.request, field) && !renameField(fitted, field, to))
      fitted.refused ??= { field, words: `is called ${to} there` };
  }
  for (const fact of facts) {
    dropNull(fitted, fact.field);
    if (!concerns(fact, fitted.request)) continue;
    if (!fact.adapt || !adapt(fitted, fact)) {
      fitted.refused ??= { field: fact.field, words: fact.words };
    }
  }
  return fitted.request === request && !fitted.refused ? undefined : fitted;
}

function concerns({ field, refuses, mark }: ModelFact, request: ChatRequest): boolean {
  const json = mark === undefined ? undefined : heldMessages(request)?.json;
  // A letter may be escaped.
  if (mark !== undefined && json && !json.includes(mark) && !json.includes('\\u00')) return false;
  return field === 'messages'
    ? (refuses?.(undefined, request) ?? true)
    : isSet(request, field) && (refuses?.(request[field], request) ?? true);
}

/** False when the field cannot be adapted. */
function adapt(fitted: FittedRequest, { field, adapt: how }: ModelFact): boolean {
  if (how === 'drop') dropField(fitted, field);
  else if (how === 'digest') digestField(fitted, field);
  else if (how === 'call_ids') replaceCallIds(fitted);
  else if (how && 'rename' in how) return renameField(fitted, field, how.rename);
  else if (how) changeRole(fitted, how.role, how.becomes);
  return true;
}

/** `null` counts as absent. */
function isSet(request: ChatRequest, field: string): boolean {
  return Object.hasOwn(request, field) && request[field] !== null;
}

/** A strict server refuses the name of a field that it does not know, also with null. Nothing is lost without it. */
function dropNull(fitted: FittedRequest, field: string): void {
  // Messages that are held as bytes are not read for this.
  if (field === 'messages' || fitted.request[field] !== null) return;
  change(fitted, undefined, (fields) => delete fields[field]);
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
  changeMessages(fitted, `sent role ${role} as ${becomes}`, (message) =>
    message.role === role ? ({ ...message, role: becomes } as ChatMessage) : message,
  );
}

/** The caller never sees the other ids, because an answer has new calls only, with ids that the model made. */
function replaceCallIds(fitted: FittedRequest): void {
  changeMessages(fitted, 'replaced ids of tool calls', (message) => {
    if (message.role === 'tool') return { ...message, tool_call_id: toCallId(message.tool_call_id) };
    if (message.role !== 'assistant' || !message.tool_calls) return message;
    return {
      ...message,
      tool_calls: message.tool_calls.map((call) => ({ ...call, id: toCallId(call.id) })),
    };
  });
}

function toCallId(id: string): string {
  if (MISTRAL_CALL_ID.test(id)) return id;
  return createHash('sha256').update(id).digest('base64').replace(/\W/g, '').slice(0, 9);
}

function changeMessages(
  fitted: FittedRequest,
  words: string,
  edit: (message: ChatMessage) => ChatMessage,
): void {
  fitted.request = { ...fitted.request, messages: fitted.request.messages.map(edit) };
  fitted.adapted.push(words);
}

/** The request at another tier than the caller's. */
export function withTier(request: ChatRequest, tier: string): ChatRequest {
  const fitted: FittedRequest = { request, adapted: [] };
  change(fitted, undefined, (fields) => {
    fields.service_tier = tier;
  });
  return fitted.request;
}

/** Changes a copy of the request. Messages that are held as bytes stay so. */
function change(fitted: FittedRequest, words: string | undefined, edit: (fields: ChatRequest) => void): void {
  const held = heldMessages(fitted.request);
  const fields = { ...(held?.outline ?? fitted.request) };
  edit(fields);
  fitted.request = held ? holdMessages(fields, held.json) : fields;
  if (words !== undefined) fitted.adapted.push(words);
}
