import { type AnswerContext, type Fields, isFields } from './dialect.js';
import { sampleOf } from './sample-schema.js';

const CHARS_PER_TOKEN = 4;

export function tokensOf(chars: number): number {
  return Math.max(1, Math.ceil(chars / CHARS_PER_TOKEN));
}

/** Characters of every string inside a value. */
export function countChars(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  let chars = 0;
  for (const item of Object.values(value)) chars += countChars(item);
  return chars;
}

/** Prompt text only, no part types, ids or images: a string and its one-part form cost the same. */
export function countText(content: unknown): number {
  if (!Array.isArray(content)) return countChars(content);
  let chars = 0;
  for (const part of content) {
    if (isFields(part)) chars += countChars(part.text) + countChars(part.input) + countText(part.content);
  }
  return chars;
}

export interface CutText {
  text: string;
  tokens: number;
  reason: 'end' | 'stop' | 'length';
  stop: string | null;
}

/** Ends the text at the first stop sequence, or where the token limit is reached. */
export function cutText(text: string, stops: readonly string[], maxTokens: number | undefined): CutText {
  let end = text.length;
  let stop: string | null = null;
  for (const candidate of stops) {
    const at = candidate === '' ? -1 : text.indexOf(candidate);
    if (at !== -1 && at < end) {
      end = at;
      stop = candidate;
    }
  }
  if (maxTokens !== undefined && end > maxTokens * CHARS_PER_TOKEN) {
    return {
      text: text.slice(0, maxTokens * CHARS_PER_TOKEN),
      tokens: maxTokens,
      reason: 'length',
      stop: null,
    };
  }
  return { text: text.slice(0, end), tokens: tokensOf(end), reason: stop === null ? 'end' : 'stop', stop };
}

/** The answer before it is cut: scripted, JSON for a schema, or an echo that ties it to its request. */
export function fullText(context: AnswerContext, json: { schema?: Fields } | undefined): string {
  if (context.overrides.text !== undefined) return context.overrides.text;
  if (json?.schema !== undefined) return JSON.stringify(sampleOf(json.schema));
  if (json !== undefined) return JSON.stringify({ echo: context.textHash });
  return context.echo ? `echo ${context.textHash}: ${context.userText.slice(0, 200)}` : 'ok';
}

export function mergeUsage(usage: Fields, override: Fields | undefined): Fields {
  if (override === undefined) return usage;
  const merged = { ...usage };
  for (const [field, value] of Object.entries(override)) {
    const old = merged[field];
    merged[field] = isFields(old) && isFields(value) ? { ...old, ...value } : value;
  }
  return merged;
}

/** Text of a message's last text part: several parts and several merged messages still give the same marker. */
export function lastText(content: unknown): string | undefined {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return undefined;
  for (let i = content.length - 1; i >= 0; i--) {
    const part: unknown = content[i];
    if (isFields(part) && part.type === 'text' && typeof part.text === 'string') return part.text;
  }
  return undefined;
}

/** Whether the user has asked for this tool by its name, and it has not been called yet. */
export function asksForTool(body: Fields, name: unknown): boolean {
  const last: unknown = Array.isArray(body.messages) ? body.messages.at(-1) : undefined;
  if (!isFields(last) || last.role !== 'user' || typeof name !== 'string') return false;
  return lastText(last.content)?.toLowerCase().includes(`call ${name.toLowerCase()}`) ?? false;
}

export function lastUserText(body: unknown): string {
  const messages = isFields(body) ? body.messages : undefined;
  if (!Array.isArray(messages)) return '';
  for (let i = messages.length - 1; i >= 0; i--) {
    const message: unknown = messages[i];
    if (!isFields(message) || message.role !== 'user') continue;
    const text = lastText(message.content);
    if (text !== undefined) return text;
  }
  return '';
}
