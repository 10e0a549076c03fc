/**
 * Anthropic takes a part of JSON Schema only. What it does not take moves into the description, where the model reads
 * it. Objects are closed, as Anthropic insists.
 *
 * Some schemas cannot be said that way: those that refer to themselves or to elsewhere, and those that leave a value open
 * (a map, any object, any value), since a closed map is always empty. `transformJSONSchema` of Anthropic's SDK loses properties,
 * and brings 26 MB.
 */
import { isKeptNumber, writeExactly } from '@sluice/shared/json/exact';
import { isObject, type JsonObject } from '../json.js';

export interface FittedSchema {
  schema: JsonObject;
  /** Properties that need not be there. */
  optional: number;
  /** Values of several types. */
  unions: number;
}

interface Draft {
  optional: number;
  unions: number;
  /** Where the schema refers to. */
  refs: Set<string>;
}

class Inexpressible extends Error {}

const FORMATS: ReadonlySet<unknown> = new Set(
  'date-time time date duration email hostname uri ipv4 ipv6 uuid'.split(' '),
);

/** They say nothing about a value. */
const LEFT_OUT: ReadonlySet<string> = new Set(['$schema', '$id', '$comment', '$anchor']);

/** Nothing when the schema cannot be said. */
export function fitSchema(schema: JsonObject): FittedSchema | undefined {
  try {
    return fitRoot(schema);
  } catch (error) {
    if (error instanceof Inexpressible) return undefined;
    throw error;
  }
}

function fitRoot({ $defs, definitions, ...root }: JsonObject): FittedSchema {
  const draft: Draft = { optional: 0, unions: 0, refs: new Set() };
  const schema = fit(root, draft);
  const refsOf = new Map<string, ReadonlySet<string>>();
  for (const [group, schemas] of Object.entries({ $defs, definitions })) {
    if (schemas === undefined) continue;
    schema[group] = fitEach(schemas, (definition, name) => {
      const own: Draft = { optional: 0, unions: 0, refs: new Set() };
      const fitted = fit(definition, own);
      draft.optional += own.optional;
      draft.unions += own.unions;
      refsOf.set(`#/${group}/${name}`, own.refs);
      return fitted;
    });
  }
  refuseCircles(new Set([...draft.refs, ...refsOf.keys()]), refsOf, new Set(), new Set());
  return { schema, optional: draft.optional, unions: draft.unions };
}

function fit(schema: unknown, draft: Draft): JsonObject {
  if (!isObject(schema)) throw new Inexpressible();
  const { allOf, $ref, ...rest } = schema;
  if (allOf !== undefined) return fit({ ...rest, ...onlyMember(allOf) }, draft);
  if ($ref === undefined) return fitValue(rest, draft);
  if (typeof $ref !== 'string') throw new Inexpressible();
  draft.refs.add($ref);
  // Nothing may stand beside a reference.
  return { $ref };
}

function fitValue(schema: JsonObject, draft: Draft): JsonObject {
  const { title, description, type, enum: values, const: value, anyOf, oneOf, ...rest } = schema;
  const fitted: JsonObject = title === undefined ? {} : { title };
  const said: JsonObject = {};
  const choices = anyOf ?? oneOf;
  if (isObject(rest.properties)) said.anyOf = choices;
  else if (Array.isArray(choices)) {
    draft.unions++;
    fitted.anyOf = choices.map((choice) => fit(choice, draft));
  }
  if (Array.isArray(values)) (values.every(isPlain) ? fitted : said).enum = values;
  if (value !== undefined) (isPlain(value) ? fitted : said).const = value;
  const hasShape = 'anyOf' in fitted || 'enum' in fitted || 'const' in fitted;
  if (hasShape) Object.assign(said, rest);
  else Object.assign(fitted, fitType(type ?? impliedType(rest), rest, said, draft));
  const words = toWords(description, said);
  return words === undefined ? fitted : { ...fitted, description: words };
}

/** Puts into `said` what cannot be said otherwise of a value of this type. */
function fitType(type: unknown, schema: JsonObject, said: JsonObject, draft: Draft): JsonObject {
  const types = [type].flat();
  if (!types.every((name) => typeof name === 'string')) throw new Inexpressible();
  if (types.length > 1) draft.unions++;
  const { properties, required, additionalProperties, items, minItems, format, ...rest } = schema;
  const fitted: JsonObject = { type };
  if (types.includes('object')) {
    const isMap = isObject(additionalProperties) || rest.patternProperties !== undefined;
    if (isMap || (properties === undefined && additionalProperties !== false)) throw new Inexpressible();
    const needed = new Set(Array.isArray(required) ? required : []);
    fitted.properties = fitEach(properties ?? {}, (property, name) => {
      if (!needed.has(name)) draft.optional++;
      return fit(property, draft);
    });
    fitted.additionalProperties = false;
    if (required !== undefined) fitted.required = required;
  }
  if (types.includes('array')) {
    if (rest.prefixItems !== undefined) throw new Inexpressible();
    fitted.items = fit(items, draft);
    if (minItems !== undefined) (minItems === 0 || minItems === 1 ? fitted : said).minItems = minItems;
  }
  if (format !== undefined) (FORMATS.has(format) ? fitted : said).format = format;
  Object.assign(said, rest);
  return fitted;
}

function fitEach(schemas: unknown, fitOne: (schema: unknown, name: string) => JsonObject): JsonObject {
  if (!isObject(schemas)) throw new Inexpressible();
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, fitOne(schema, name)]));
}

function impliedType(schema: JsonObject): string | undefined {
  if (schema.properties !== undefined) return 'object';
  return schema.items === undefined ? undefined : 'array';
}

/** Python's schemas wrap a reference in an `allOf` of one. The parts of a longer one would close each other out. */
function onlyMember(allOf: unknown): JsonObject {
  const [only, ...others] = Array.isArray(allOf) ? allOf : [];
  if (!isObject(only) || others.length > 0 || 'allOf' in only) throw new Inexpressible();
  return only;
}

function toWords(description: unknown, said: JsonObject): unknown {
  const rest = Object.entries(said).filter(([name, value]) => value !== undefined && !LEFT_OUT.has(name));
  if (rest.length === 0) return description;
  const json = writeExactly(Object.fromEntries(rest));
  return typeof description === 'string' && description !== '' ? `${description}\n${json}` : json;
}

function isPlain(value: unknown): boolean {
  return typeof value !== 'object' || value === null || isKeptNumber(value);
}

/** `sound` are the definitions that lead to no circle: each is followed once, however often it is referred to. */
function refuseCircles(
  refs: ReadonlySet<string>,
  refsOf: ReadonlyMap<string, ReadonlySet<string>>,
  open: Set<string>,
  sound: Set<string>,
): void {
  for (const ref of refs) {
    if (sound.has(ref)) continue;
    const next = refsOf.get(ref);
    // Not one of the definitions: it is elsewhere, or nowhere.
    if (next === undefined || open.has(ref)) throw new Inexpressible();
    open.add(ref);
    refuseCircles(next, refsOf, open, sound);
    open.delete(ref);
    sound.add(ref);
  }
}
