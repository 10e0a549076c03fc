import type { ChatRequest, Choice, Completion } from '@sluice/shared/chat';
import type { CheckAnswers } from '@sluice/shared/config/provider';
import { writeExactly } from '@sluice/shared/json/exact';
import { isObject, type JsonObject } from '../providers/json.js';
import type { Claim } from './schema-checker.js';

/** Cut or filtered answers need not fit: their finish_reason says so. */
const WHOLE: ReadonlySet<string> = new Set(['stop', 'tool_calls']);

/** The schemas that an answer has to fit: that of `response_format`, and those of the tools that it calls. */
export function claimsOf(request: ChatRequest, completion: Completion, when: CheckAnswers): Claim[] {
  if (when === 'never') return [];
  const schemas = schemasOf(request, when);
  if (schemas.answer === undefined && schemas.tools.size === 0) return [];
  return completion.choices
    .filter((choice) => WHOLE.has(choice.finish_reason))
    .flatMap((choice) => claimsOfChoice(choice, schemas));
}

interface Schemas {
  answer: string | undefined;
  /** Name → schema. */
  tools: ReadonlyMap<unknown, string>;
}

function schemasOf({ response_format: format, tools }: ChatRequest, when: CheckAnswers): Schemas {
  const isBinding = ({ strict }: JsonObject) => when === 'always' || strict === true;
  const answer = isObject(format) && format.type === 'json_schema' ? format.json_schema : undefined;
  const byName = new Map<unknown, string>();
  for (const tool of Array.isArray(tools) ? tools : []) {
    const definition: unknown = isObject(tool) ? tool.function : undefined;
    if (isObject(definition) && isObject(definition.parameters) && isBinding(definition))
      byName.set(definition.name, writeExactly(definition.parameters));
  }
  const hasSchema = isObject(answer) && isObject(answer.schema) && isBinding(answer);
  return { answer: hasSchema ? writeExactly(answer.schema as object) : undefined, tools: byName };
}

function claimsOfChoice({ message }: Choice, { answer, tools }: Schemas): Claim[] {
  const calls = message.tool_calls ?? [];
  if (calls.length > 0) {
    return calls.flatMap(({ function: called }) => {
      const schema = tools.get(called?.name);
      return schema === undefined ? [] : { schema, text: called.arguments || '{}' };
    });
  }
  const hasRefused = typeof message.refusal === 'string';
  if (answer === undefined || hasRefused || message.content === null) return [];
  return [{ schema: answer, text: message.content }];
}
