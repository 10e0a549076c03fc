import type { ChatRequest } from '@sluice/shared/chat';
import { isObject, type JsonObject } from '../json.js';
import { refuse } from '../refuse.js';

/** `tools` and `tool_choice`, which are flat at Responses. */
export function toTools({ tools, tool_choice: choice = null }: ChatRequest): JsonObject {
  const list: unknown = tools ?? [];
  if (!Array.isArray(list)) refuse('tools', 'tools is an array.');
  return {
    ...(list.length === 0 ? {} : { tools: list.map(toTool) }),
    ...(choice === null ? {} : { tool_choice: toChoice(choice) }),
  };
}

function toTool(tool: unknown, i: number): JsonObject {
  const path = `tools[${i}]`;
  const definition = isObject(tool) && tool.type === 'function' ? tool.function : undefined;
  if (!isObject(definition)) refuse(path, 'By Responses the gateway takes tools of type function only.');
  const { name, description, parameters, strict } = definition;
  if (typeof name !== 'string') refuse(`${path}.function.name`, 'A function needs a name.');
  return {
    type: 'function',
    name,
    ...(typeof description === 'string' ? { description } : {}),
    parameters: parameters ?? { type: 'object', properties: {} },
    // Without a word it is strict at Responses, and not so in a chat. Then answers would change.
    strict: strict ?? false,
  };
}

const CHOICES: readonly unknown[] = ['auto', 'required', 'none'];

function toChoice(choice: unknown): unknown {
  if (CHOICES.includes(choice)) return choice;
  const named = isObject(choice) ? toNamed(choice) : undefined;
  if (named) return named;
  if (isObject(choice) && choice.type === 'allowed_tools' && isObject(choice.allowed_tools)) {
    const { mode, tools } = choice.allowed_tools;
    const allowed = Array.isArray(tools) ? tools.map((tool) => isObject(tool) && toNamed(tool)) : [];
    if (allowed.length > 0 && allowed.every(Boolean)) return { type: 'allowed_tools', mode, tools: allowed };
  }
  return refuse('tool_choice', 'Responses takes auto, required, none, a named function or allowed_tools.');
}

function toNamed({ type, function: named }: JsonObject): JsonObject | undefined {
  if (type !== 'function' || !isObject(named) || typeof named.name !== 'string') return undefined;
  return { type: 'function', name: named.name };
}
