import type { ChatRequest } from '@sluice/shared/chat';
import { isObject, type JsonObject } from '../json.js';
import { refuse } from '../refuse.js';
import type { Grammar } from './grammar.js';

/** `tools` and `tool_choice`, or nothing when the caller sent no tools. */
export function toTools(request: ChatRequest, grammar: Grammar): JsonObject {
  const tools = request.tools ?? [];
  if (!Array.isArray(tools)) refuse('tools', 'tools is an array.');
  const choice = toToolChoice(request.tool_choice ?? null);
  if (tools.length === 0) {
    if (choice?.type === 'any' || choice?.type === 'tool') refuse('tool_choice', 'tool_choice needs tools.');
    return {};
  }
  const serial = request.parallel_tool_calls === false && choice?.type !== 'none';
  const toolChoice = serial ? { type: 'auto', ...choice, disable_parallel_tool_use: true } : choice;
  return {
    tools: tools.map((tool, index) => toTool(tool, index, grammar)),
    ...(toolChoice === undefined ? {} : { tool_choice: toolChoice }),
  };
}

function toTool(tool: unknown, index: number, grammar: Grammar): JsonObject {
  const path = `tools[${index}]`;
  const definition = isObject(tool) && tool.type === 'function' ? tool.function : undefined;
  if (!isObject(definition)) refuse(path, 'Anthropic takes tools of type function only.');
  if (typeof definition.name !== 'string') refuse(`${path}.function.name`, 'A function needs a name.');
  const parameters = definition.parameters ?? { properties: {} };
  if (!isObject(parameters)) refuse(`${path}.function.parameters`, 'The parameters are a JSON schema.');
  // The schema goes whole ($defs, anyOf and all); Anthropic insists on a type at its top.
  const schema = { type: 'object', ...parameters };
  const strict = definition.strict === true ? grammar.addTool(schema) : undefined;
  const mark = (isObject(tool) ? tool.cache_control : null) ?? definition.cache_control ?? null;
  return {
    name: definition.name,
    ...(typeof definition.description === 'string' ? { description: definition.description } : {}),
    ...(strict ? { input_schema: strict, strict: true } : { input_schema: schema }),
    ...(isObject(mark) ? { cache_control: mark } : {}),
  };
}

const CHOICES: Readonly<Record<string, string>> = { auto: 'auto', required: 'any', none: 'none' };

function toToolChoice(choice: unknown): JsonObject | undefined {
  if (choice === null) return undefined;
  if (typeof choice === 'string' && Object.hasOwn(CHOICES, choice)) return { type: CHOICES[choice] };
  if (isObject(choice) && choice.type === 'function' && isObject(choice.function)) {
    if (typeof choice.function.name === 'string') return { type: 'tool', name: choice.function.name };
  }
  return refuse('tool_choice', 'Anthropic takes auto, required, none or one named function.');
}
