import { type Fields, isFields } from './dialect.js';
import {
  badPattern,
  checkArray,
  checkString,
  invalidType,
  invalidValue,
  missing,
  refuse,
} from './openai-refusals.js';

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

export function checkTools(body: Fields): void {
  const names = checkToolList(body.tools ?? undefined);
  if (names === undefined) {
    for (const field of ['tool_choice', 'parallel_tool_calls']) {
      if (body[field] === undefined || body[field] === null) continue;
      if (field === 'tool_choice' && body[field] === 'none') continue;
      throw refuse(
        `Invalid value for '${field}': '${field}' is only allowed when 'tools' are specified.`,
        field,
      );
    }
    return;
  }
  checkToolChoice(body.tool_choice ?? undefined, names);
}

function checkToolList(tools: unknown): Set<string> | undefined {
  if (tools === undefined) return undefined;
  checkArray(tools, 'tools', 'an array of objects', 128);
  const names = new Set<string>();
  for (const [i, tool] of tools.entries()) {
    const at = `tools[${i}]`;
    if (!isFields(tool)) throw invalidType(at, 'an object', tool);
    if (tool.type === undefined) throw missing(`${at}.type`);
    if (tool.type === 'custom') continue;
    if (tool.type !== 'function') throw invalidValue(`${at}.type`, tool.type, ['function', 'custom']);
    if (!isFields(tool.function)) throw missing(`${at}.function`);
    names.add(checkFunction(tool.function, `${at}.function`));
  }
  return names;
}

function checkFunction(definition: Fields, at: string): string {
  const { name, parameters } = definition;
  checkString(name, `${at}.name`);
  if (!NAME.test(name)) throw badPattern(`${at}.name`, NAME);
  for (const field of Object.keys(definition)) {
    if (['name', 'description', 'parameters', 'strict'].includes(field)) continue;
    throw refuse(`Unknown parameter: '${at}.${field}'.`, `${at}.${field}`, 'unknown_parameter');
  }
  if (parameters === undefined || parameters === null) return name;
  if (!isFields(parameters)) throw invalidType(`${at}.parameters`, 'an object', parameters);
  if (Object.keys(parameters).length > 0 && parameters.type !== 'object') {
    const message = `Invalid schema for function '${name}': schema must be a JSON Schema of 'type: "object"', got 'type: ${JSON.stringify(parameters.type ?? 'None')}'.`;
    throw refuse(message, `${at}.parameters`, 'invalid_function_parameters');
  }
  return name;
}

function checkToolChoice(choice: unknown, names: ReadonlySet<string>): void {
  if (choice === undefined) return;
  if (typeof choice === 'string') {
    const values = ['none', 'auto', 'required'];
    if (!values.includes(choice)) throw invalidValue('tool_choice', choice, values);
    return;
  }
  if (!isFields(choice)) throw invalidType('tool_choice', 'one of a string or an object', choice);
  if (choice.type === 'allowed_tools' || choice.type === 'custom') return;
  if (choice.type !== 'function')
    throw invalidValue('tool_choice.type', choice.type, ['function', 'allowed_tools', 'custom']);
  if (!isFields(choice.function)) throw missing('tool_choice.function');
  checkString(choice.function.name, 'tool_choice.function.name');
  if (!names.has(choice.function.name)) {
    throw refuse(
      `Invalid value for 'tool_choice': no function named '${choice.function.name}' was specified in the 'tools' parameter.`,
      'tool_choice',
    );
  }
}

export function checkResponseFormat(body: Fields): void {
  const format = body.response_format ?? undefined;
  if (format === undefined) return;
  if (!isFields(format)) throw invalidType('response_format', 'an object', format);
  const types = ['json_object', 'json_schema', 'text'];
  checkString(format.type, 'response_format.type');
  if (!types.includes(format.type)) throw invalidValue('response_format.type', format.type, types);
  if (format.type === 'json_object' && !/json/i.test(JSON.stringify(body.messages))) {
    const message =
      "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.";
    throw refuse(message, 'messages');
  }
  if (format.type !== 'json_schema') return;
  const definition = format.json_schema;
  const at = 'response_format.json_schema';
  if (definition === undefined) throw missing(at);
  if (!isFields(definition)) throw invalidType(at, 'an object', definition);
  checkString(definition.name, `${at}.name`);
  if (!NAME.test(definition.name)) throw badPattern(`${at}.name`, NAME);
  if (definition.schema === undefined) return;
  if (!isFields(definition.schema)) throw invalidType(`${at}.schema`, 'an object', definition.schema);
  if (definition.strict === true && definition.schema.additionalProperties !== false) {
    const message = `Invalid schema for response_format '${definition.name}': In context=(), 'additionalProperties' is required to be supplied and to be false.`;
    throw refuse(message, 'response_format');
  }
}
