import { type Fields, isFields } from './dialect.js';

/** Guards against schemas that refer to themselves. */
const MAX_DEPTH = 32;

/** A value that satisfies a simple JSON schema: required properties only, the smallest that is allowed. */
export function sampleOf(given: Fields, root: Fields = given, depth = 0): unknown {
  if (depth > MAX_DEPTH) return null;
  // A model obeys descriptions too: what a schema may not say is often said there.
  const schema = { ...given, ...jsonAtEnd(given.description) };
  if (typeof schema.$ref === 'string') {
    const target = resolveRef(schema.$ref, root);
    return target === undefined ? null : sampleOf(target, root, depth + 1);
  }
  if ('const' in schema) return schema.const;
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return schema.enum[0];
  if ('default' in schema) return schema.default;
  for (const choice of [schema.anyOf, schema.oneOf, schema.allOf]) {
    const first: unknown = Array.isArray(choice) ? choice[0] : undefined;
    if (isFields(first)) return sampleOf(first, root, depth + 1);
  }
  return sampleOfType(schema, root, depth);
}

/** The JSON object that a text ends with, on a line of its own. */
export function jsonAtEnd(text: unknown): Fields | undefined {
  const json = typeof text === 'string' ? /(?:^|\n)(\{.*\})$/.exec(text)?.[1] : undefined;
  if (json === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(json);
    return isFields(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function sampleOfType(schema: Fields, root: Fields, depth: number): unknown {
  const type: unknown = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  switch (type) {
    case 'string':
      return 'sample'
        .padEnd(numberOr(schema.minLength, 0), 'x')
        .slice(0, numberOr(schema.maxLength, undefined));
    case 'integer':
    case 'number':
      return numberOr(schema.minimum, Math.min(1, numberOr(schema.maximum, 1)));
    case 'boolean':
      return true;
    case 'null':
      return null;
    case 'array': {
      const item = isFields(schema.items) ? schema.items : {};
      const length = numberOr(schema.minItems, 0);
      return Array.from({ length }, () => sampleOf(item, root, depth + 1));
    }
    default:
      return type === 'object' || isFields(schema.properties) ? sampleObject(schema, root, depth) : {};
  }
}

function sampleObject(schema: Fields, root: Fields, depth: number): Fields {
  const properties = isFields(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required : [];
  const sample: Fields = {};
  for (const name of required) {
    if (typeof name !== 'string') continue;
    const property = properties[name];
    sample[name] = isFields(property) ? sampleOf(property, root, depth + 1) : {};
  }
  return sample;
}

function resolveRef(ref: string, root: Fields): Fields | undefined {
  if (!ref.startsWith('#')) return undefined;
  let node: unknown = root;
  for (const step of ref.slice(1).split('/').filter(Boolean)) {
    node = isFields(node) ? node[step] : undefined;
  }
  return isFields(node) ? node : undefined;
}

function numberOr<T>(value: unknown, otherwise: T): number | T {
  return typeof value === 'number' ? value : otherwise;
}
