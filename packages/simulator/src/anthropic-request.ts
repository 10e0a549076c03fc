import { checkBlock, checkNonEmptyText } from './anthropic-content.js';
import { checkMessages } from './anthropic-messages.js';
import {
  checkBoolean,
  checkFields,
  checkInteger,
  checkList,
  checkNoExtras,
  checkOneOf,
  checkString,
  checkTag,
  refuse,
} from './anthropic-refusals.js';
import { checkGrammarSchema, checkGrammarSize, type GrammarSize } from './anthropic-schema.js';
import { type Fields, Refusal } from './dialect.js';
import { findRefused } from './find-refused.js';

const FIELDS = new Set(
  `model messages max_tokens metadata stop_sequences stream system temperature tool_choice tools top_k top_p thinking
  service_tier container inference_geo cache_control output_config`.split(/\s+/),
);
const TOOL_FIELDS = new Set(
  'type name description input_schema cache_control strict defer_loading allowed_callers input_examples eager_input_streaming'.split(
    ' ',
  ),
);
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,128}$/;

export function checkMessagesRequest(body: Fields, knowsModel: (id: string) => boolean): void {
  checkString(body.model, 'model');
  if (body.model === '') throw refuse('model: String should have at least 1 character');
  checkInteger(body.max_tokens, 'max_tokens', 1);
  checkNoExtras(body, FIELDS, '');
  if (!knowsModel(body.model)) throw new Refusal(404, `model: ${body.model}`, 'not_found_error');
  checkSystem(body.system);
  checkMessages(body.messages);
  checkSampling(body);
  checkStops(body.stop_sequences);
  checkMetadata(body.metadata);
  const grammar: GrammarSize = { tools: 0, optional: 0, unions: 0 };
  checkToolChoice(body.tool_choice, checkTools(body.tools, grammar));
  checkThinking(body.thinking, body.max_tokens);
  checkOutputConfig(body.output_config, grammar);
  checkGrammarSize(grammar);
  if (body.service_tier !== undefined)
    checkOneOf(body.service_tier, 'service_tier', ['auto', 'standard_only']);
  checkBoolean(body.stream, 'stream');
  const refused = findRefused('anthropic', body);
  if (refused !== undefined) throw refuse(refused.message);
}

function checkSystem(system: unknown): void {
  if (system === undefined || typeof system === 'string') return;
  checkList(system, 'system');
  checkNonEmptyText(
    system.map((block, i) => checkBlock(block, `system.${i}`, ['text'])),
    'system',
  );
}

function checkSampling(body: Fields): void {
  for (const field of ['temperature', 'top_p']) {
    const value = body[field];
    if (value === undefined) continue;
    if (typeof value !== 'number') throw refuse(`${field}: Input should be a valid number`);
    if (value < 0 || value > 1) throw refuse(`${field}: range: 0..1`);
  }
  if (body.top_k !== undefined) checkInteger(body.top_k, 'top_k', 0);
}

function checkStops(stops: unknown): void {
  if (stops === undefined) return;
  checkList(stops, 'stop_sequences');
  for (const [i, stop] of stops.entries()) {
    checkString(stop, `stop_sequences.${i}`);
    if (stop === '') throw refuse('stop_sequences: each stop sequence must be non-empty');
    if (stop.trim() === '') throw refuse('stop_sequences: each stop sequence must contain non-whitespace');
  }
}

function checkMetadata(metadata: unknown): void {
  if (metadata === undefined) return;
  checkFields(metadata, 'metadata');
  checkNoExtras(metadata, new Set(['user_id']), 'metadata.');
  if (metadata.user_id === undefined || metadata.user_id === null) return;
  checkString(metadata.user_id, 'metadata.user_id');
  if (metadata.user_id.length > 256)
    throw refuse('metadata.user_id: String should have at most 256 characters');
}

function checkTools(tools: unknown, size: GrammarSize): Set<string> {
  const names = new Set<string>();
  if (tools === undefined) return names;
  checkList(tools, 'tools');
  for (const [i, tool] of tools.entries()) {
    checkFields(tool, `tools.${i}`);
    // Anthropic's own tools (`web_search_…`) have fields of their own.
    if (tool.type !== undefined && tool.type !== 'custom') continue;
    const at = `tools.${i}.custom`;
    checkString(tool.name, `${at}.name`);
    if (!TOOL_NAME.test(tool.name))
      throw refuse(`${at}.name: String should match pattern '${TOOL_NAME.source}'`);
    checkNoExtras(tool, TOOL_FIELDS, `${at}.`);
    checkFields(tool.input_schema, `${at}.input_schema`);
    checkOneOf(tool.input_schema.type, `${at}.input_schema.type`, ['object']);
    if (tool.description !== undefined) checkString(tool.description, `${at}.description`);
    checkBoolean(tool.strict, `${at}.strict`);
    if (tool.strict === true) {
      size.tools++;
      checkGrammarSchema(tool.input_schema, `${at}.input_schema`, size);
    }
    if (names.has(tool.name)) throw refuse('tools: Tool names must be unique.');
    names.add(tool.name);
  }
  return names;
}

function checkToolChoice(choice: unknown, names: ReadonlySet<string>): void {
  if (choice === undefined) return;
  checkTag(choice, 'tool_choice', ['any', 'auto', 'none', 'tool']);
  const at = `tool_choice.${choice.type}.`;
  const allowed = ['type'];
  if (choice.type !== 'none') allowed.push('disable_parallel_tool_use');
  if (choice.type === 'tool') allowed.push('name');
  checkNoExtras(choice, new Set(allowed), at);
  checkBoolean(choice.disable_parallel_tool_use, `${at}disable_parallel_tool_use`);
  if (names.size === 0 && choice.type !== 'none') {
    throw refuse('tool_choice: `tool_choice` may only be specified while providing `tools`.');
  }
  if (choice.type !== 'tool') return;
  checkString(choice.name, `${at}name`);
  if (!names.has(choice.name)) throw refuse(`tool_choice: Tool '${choice.name}' not found in provided tools`);
}

function checkThinking(thinking: unknown, maxTokens: number): void {
  if (thinking === undefined) return;
  checkTag(thinking, 'thinking', ['adaptive', 'between_tools', 'disabled', 'enabled']);
  if (thinking.type !== 'enabled') return;
  checkInteger(thinking.budget_tokens, 'thinking.enabled.budget_tokens', 1024);
  if (thinking.budget_tokens >= maxTokens)
    throw refuse('`max_tokens` must be greater than `thinking.budget_tokens`.');
}

function checkOutputConfig(config: unknown, size: GrammarSize): void {
  if (config === undefined) return;
  checkFields(config, 'output_config');
  checkNoExtras(config, new Set(['effort', 'format']), 'output_config.');
  if (config.effort !== undefined) {
    checkOneOf(config.effort, 'output_config.effort', ['low', 'medium', 'high', 'xhigh', 'max']);
  }
  if (config.format === undefined || config.format === null) return;
  checkTag(config.format, 'output_config.format', ['json_schema']);
  checkNoExtras(config.format, new Set(['type', 'schema']), 'output_config.format.');
  checkFields(config.format.schema, 'output_config.format.schema');
  checkGrammarSchema(config.format.schema, 'output_config.format.schema', size);
}
