/**
 * What structured outputs take of JSON Schema, in `output_config.format` and in tools with `strict: true`. Anything else
 * is refused before a model runs, since the schemas are compiled to a grammar.
 */
import { refuse } from './anthropic-refusals.js';
import { type Fields, isFields } from './dialect.js';

const KEYWORDS = new Set(
  'type properties required additionalProperties items minItems enum const anyOf allOf $ref $defs definitions title description default format pattern'.split(
    ' ',
  ),
);
const FORMATS = new Set('date-time time date duration email hostname uri ipv4 ipv6 uuid'.split(' '));
/** Lookarounds, backreferences and word boundaries. */
const UNSUPPORTED_PATTERN = /\(\?[=!<]|\\[1-9bB]/;
const SHAPES = ['type', 'anyOf', 'allOf', '$ref', 'enum', 'const'];

/** Over all strict tools and the output format of a request together. */
const LIMITS = { tools: 20, optional: 24, unions: 16 };

export interface GrammarSize {
  tools: number;
  optional: number;
  unions: number;
}

export function checkGrammarSize(size: GrammarSize): void {
  if (size.tools > LIMITS.tools) throw refuse(`tools: at most ${LIMITS.tools} tools may be strict`);
  if (size.optional > LIMITS.optional || size.unions > LIMITS.unions)
    throw refuse('Schema is too complex for compilation.');
}

export function checkGrammarSchema(schema: Fields, at: string, size: GrammarSize): void {
  checkSchema(schema, at, size, schema);
  checkRecursion(schema, at, schema);
}

function checkSchema(schema: unknown, at: string, size: GrammarSize, root: Fields): void {
  if (!isFields(schema)) throw refuse(`${at}: Schema should be an object`);
  if (!SHAPES.some((keyword) => keyword in schema)) throw refuse(`${at}: Schema type is required`);
  const types = [schema.type].flat().map(String);
  for (const keyword of Object.keys(schema)) {
    if (!KEYWORDS.has(keyword))
      throw refuse(`${at}: For '${types.join(', ')}' type, property '${keyword}' is not supported`);
  }
  if (types.includes('object') && schema.additionalProperties !== false)
    throw refuse(`${at}: For 'object' type, 'additionalProperties' must be explicitly set to false`);
  if (schema.minItems !== undefined && schema.minItems !== 0 && schema.minItems !== 1)
    throw refuse(`${at}: For 'array' type, 'minItems' values other than 0 or 1 are not supported`);
  if (schema.format !== undefined && !FORMATS.has(String(schema.format)))
    throw refuse(`${at}: For 'string' type, format '${String(schema.format)}' is not supported`);
  if (typeof schema.pattern === 'string' && UNSUPPORTED_PATTERN.test(schema.pattern))
    throw refuse(`${at}: For 'string' type, this 'pattern' is not supported`);
  if (types.includes('array') && !('items' in schema))
    throw refuse(`${at}: For 'array' type, 'items' is required`);
  if (Array.isArray(schema.enum) && schema.enum.some(isComplex))
    throw refuse(`${at}: Enum values of complex types are not supported`);
  if (types.length > 1 || 'anyOf' in schema) size.unions++;
  if (typeof schema.$ref === 'string') targetOf(schema.$ref, root, at);
  const properties = isFields(schema.properties) ? schema.properties : {};
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  size.optional += Object.keys(properties).filter((name) => !required.has(name)).length;
  for (const child of childrenOf(schema)) checkSchema(child, at, size, root);
  for (const member of listOf(schema.allOf)) {
    if (isFields(member) && '$ref' in member) throw refuse(`${at}: 'allOf' with '$ref' is not supported`);
  }
}

function childrenOf(schema: Fields): unknown[] {
  const maps = [schema.properties, schema.$defs, schema.definitions].filter(isFields);
  const items = 'items' in schema ? [schema.items] : [];
  return [...maps.flatMap(Object.values), ...items, ...listOf(schema.anyOf), ...listOf(schema.allOf)];
}

/** `open` are the references that the way from the root has passed through; what is in `sound` leads to no circle. */
function checkRecursion(
  schema: unknown,
  at: string,
  root: Fields,
  open: readonly string[] = [],
  sound = new Set<string>(),
): void {
  if (!isFields(schema)) return;
  const { $defs: _, definitions: __, ...own } = schema;
  for (const child of childrenOf(own)) checkRecursion(child, at, root, open, sound);
  const ref = own.$ref;
  if (typeof ref !== 'string' || sound.has(ref)) return;
  if (open.includes(ref)) throw refuse(`${at}: Too many recursive definitions in schema`);
  checkRecursion(targetOf(ref, root, at), at, root, [...open, ref], sound);
  sound.add(ref);
}

function targetOf(ref: string, root: Fields, at: string): Fields {
  const [, group = '', name = ''] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(ref) ?? [];
  const definitions = root[group];
  const target = isFields(definitions) ? definitions[name] : undefined;
  if (!isFields(target)) throw refuse(`${at}: $ref '${ref}' is not supported`);
  return target;
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function isComplex(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}
