/** Holds answers to the OpenAPI document: their path, method, status, content type, headers and every field. */
import { openapi } from '@sluice/admin/openapi/document';
import { Ajv2020 } from 'ajv/dist/2020.js';

interface Described {
  content?: Record<string, { schema: object }>;
  headers?: Record<string, { required?: boolean; schema: object }>;
}
type Operations = Record<string, { responses: Record<string, Described> }>;

const ajv = new Ajv2020({ allErrors: true, validateFormats: false, strict: true, allowUnionTypes: true });
ajv.addSchema({ $id: 'openapi', $defs: resolvable(openapi.components.schemas) });
const paths = openapi.paths as unknown as Record<string, Operations>;

const compiled = new Map<string, ReturnType<typeof ajv.compile>>();

/** `/requests/follow` before `/requests/{id}`. */
const templates = Object.keys(paths)
  .sort((a, b) => a.split('{').length - b.split('{').length)
  .map((template) => ({
    template,
    pattern: new RegExp(`^${template.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  }));

/** What has been held to the document, as `GET /models 200`. */
export const checked = new Set<string>();

export function checkAnswer(
  method: string,
  url: string,
  { status, headers, body }: { status: number; headers: Headers; body: unknown },
): void {
  const path = url.split('?')[0] ?? '';
  const template = templates.find(({ pattern }) => pattern.test(path))?.template;
  const operation = template === undefined ? undefined : paths[template]?.[method.toLowerCase()];
  const name = `${method} ${template ?? path} ${status}`;
  // What is not there is answered in the common shape, and so is what is there but not for this token.
  const unknown = { content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } } };
  const described: Described | undefined = operation ? operation.responses[String(status)] : unknown;
  if (!described) throw new Error(`the document has no ${name}`);
  const type = headers.get('content-type')?.split(';')[0] ?? '';
  const schema = described.content?.[type]?.schema;
  if (!schema) throw new Error(`the document has no ${type} for ${name}`);
  validate(name, schema, body);
  for (const [header, { required, schema }] of Object.entries(described.headers ?? {})) {
    const value = headers.get(header);
    if (value !== null) validate(`${name} ${header}`, schema, value);
    else if (required) throw new Error(`${name} has no ${header}`);
  }
  if (!headers.get('x-request-id')) throw new Error(`${name} has no x-request-id`);
  checked.add(name);
}

function validate(name: string, schema: object, value: unknown): void {
  const key = JSON.stringify(schema);
  const isValid = compiled.get(key) ?? ajv.compile(resolvable(schema));
  compiled.set(key, isValid);
  if (!isValid(value))
    throw new Error(`${name}: ${ajv.errorsText(isValid.errors)}\n${JSON.stringify(value)}`);
}

function resolvable<T>(schema: T): T {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/components/schemas/', '"openapi#/$defs/'));
}
