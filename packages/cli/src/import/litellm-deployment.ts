/** One deployment of a LiteLLM model_list: the provider that it calls, and the model there. */
import { PRESETS } from '@sluice/shared/contract/presets';
import { type Draft, type Fields, isCallable, literal } from './draft.js';
import type { Place } from './foreign-file.js';

/** LiteLLM's prefixes, and the presets for them. */
const PREFIXES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    openai: 'openai',
    anthropic: 'anthropic',
    azure: 'azure-deployments',
    gemini: 'gemini',
    vertex_ai: 'vertex',
    vertex_ai_beta: 'vertex',
    bedrock: 'bedrock',
    mistral: 'mistral',
    groq: 'groq',
    deepseek: 'deepseek',
    xai: 'xai',
    together_ai: 'together',
    fireworks_ai: 'fireworks',
    openrouter: 'openrouter',
    ollama: 'ollama',
    ollama_chat: 'ollama',
    hosted_vllm: 'vllm',
    vllm: 'vllm',
  }),
);
/** Other servers that speak OpenAI's format: their addresses, or none where every server has its own. */
const COMPATIBLE: ReadonlyMap<string, string | undefined> = new Map(
  Object.entries({
    cerebras: 'https://api.cerebras.ai/v1',
    moonshot: 'https://api.moonshot.ai/v1',
    nvidia_nim: 'https://integrate.api.nvidia.com/v1',
    perplexity: 'https://api.perplexity.ai',
    sambanova: 'https://api.sambanova.ai/v1',
    custom_openai: undefined,
    litellm_proxy: undefined,
    lm_studio: undefined,
    openai_like: undefined,
  }),
);
/** Variables that LiteLLM reads where the file names none, and that are not the preset's. */
const VARIABLES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    azure: 'AZURE_API_KEY',
    perplexity: 'PERPLEXITYAI_API_KEY',
    together_ai: 'TOGETHERAI_API_KEY',
  }),
);
const BARE: readonly [RegExp, string][] = [
  [/^(?:gpt-|o\d|chatgpt-|ft:gpt-)/, 'openai'],
  [/^claude-/, 'anthropic'],
  [/^(?:\w+\.)?anthropic\.claude/, 'bedrock'],
  [/^gemini-/, 'vertex_ai'],
];
const PLAIN_PARTS = /^[A-Za-z0-9][A-Za-z0-9-]{0,62}$/;

export interface Deployment {
  /** The name of the provider. */
  name: string;
  fields: Fields;
  model: string;
}

/** Undefined, with a note, where Sluice cannot have such a provider. `given`: what stands for `litellm_params.model`. */
export function readDeployment(draft: Draft, params: Place, given: string): Deployment | undefined {
  const [prefix, model] = splitModel(given, params.get('custom_llm_provider').take());
  const place = params.get('model');
  if (prefix === undefined) {
    place.note('The provider cannot be told from this model. Write an entry for it by hand.');
    return undefined;
  }
  if (!isCallable(model, place)) return undefined;
  const preset = PREFIXES.get(prefix);
  const deployment =
    preset === 'bedrock'
      ? bedrock(draft, params, place, model)
      : preset === 'vertex'
        ? vertex(draft, params, model)
        : direct(draft, params, place, prefix, preset, model);
  const mistake = deployment && draft.mistakeIn(deployment.fields);
  if (mistake !== undefined)
    place.note(`Sluice cannot have this deployment, so it was left out: ${mistake}.`);
  return mistake === undefined ? deployment : undefined;
}

/** A provider that is called with a key, at an address of its own or at that of its preset. */
function direct(
  draft: Draft,
  params: Place,
  place: Place,
  prefix: string,
  preset: string | undefined,
  model: string,
): Deployment | undefined {
  if (preset === undefined && !COMPATIBLE.has(prefix)) {
    const provider = plainWord(prefix) ?? 'this provider';
    place.note(`Sluice has no preset for ${provider}. If it speaks OpenAI's format, add it as a provider.`);
    return undefined;
  }
  const address = readAddress(draft, params);
  if (address === 'refused') return undefined;
  const base = address ?? (preset === undefined ? COMPATIBLE.get(prefix) : undefined);
  if (preset === undefined && base === undefined) {
    place.note('The address of this server is not in the file. Add it as a provider of kind openai.');
    return undefined;
  }
  const wanted = variableOf(prefix);
  const key = readKey(draft, params.get('api_key'), wanted);
  const fields: Fields = preset === undefined ? { kind: 'openai' } : { preset };
  if (preset === 'azure-deployments') Object.assign(fields, azureFields(draft, params, address));
  else if (base !== undefined) fields.base_url = baseUrl(preset, base);
  const standard = PRESETS[preset ?? '']?.api_key;
  if (key !== undefined && key !== standard) fields.api_key = key;
  else if (key === undefined && (VARIABLES.has(prefix) || preset === undefined))
    fields.api_key = draft.reference(wanted);
  else if (typeof standard === 'string') draft.reference(standard.slice(2, -1));
  const organization = fromEnvironment(draft, params.get('organization'), 'stand-in');
  if (organization !== undefined) fields.headers = { 'openai-organization': organization };
  const own = prefix === 'openai' && address !== undefined;
  return { name: own ? 'openai-compatible' : prefix.replaceAll('_', '-'), fields, model: literal(model) };
}

function variableOf(prefix: string): string {
  return VARIABLES.get(prefix) ?? `${prefix.toUpperCase()}_API_KEY`;
}

/** The variable that LiteLLM reads for a deployment without a key. */
export function standardVariable(params: Place): string[] {
  if (params.get('api_key').isThere) return [];
  const [prefix] = splitModel(params.get('model').text ?? '', params.get('custom_llm_provider').text);
  return prefix === undefined ? [] : [variableOf(prefix)];
}

const VARIABLE = /^os\.environ\/([A-Za-z_]\w*)$/;

const UNREADABLE = 'Sluice reads variables whose names are letters, digits and _.';
const LEFT_OUT = 'The deployment was left out.';

function isVariable(text: string | undefined): boolean {
  return text?.startsWith('os.environ/') ?? false;
}

/** `os.environ/NAME` as a reference, any other text as it stands. Notes a variable that Sluice cannot read. */
function fromEnvironment(
  draft: Draft,
  place: Place,
  standIn?: string,
  consequence = 'Set this by hand.',
): string | undefined {
  const text = place.scalar;
  if (text === undefined) return undefined;
  const [, name] = VARIABLE.exec(text) ?? [];
  if (name !== undefined) return draft.foreignVariable(place, name, standIn);
  if (!isVariable(text)) return literal(place.settle() && text);
  place.note(`${UNREADABLE} ${consequence}`);
  return undefined;
}

/** A word of the file that cannot be a secret. */
export function plainWord(text: string): string | undefined {
  return /^[a-z_]{1,40}$/i.test(text) ? text : undefined;
}

function splitModel(given: string, provider: string | undefined): [string | undefined, string] {
  const slash = given.indexOf('/');
  const prefix = given.slice(0, Math.max(0, slash));
  if (provider !== undefined) return [provider, prefix === provider ? given.slice(slash + 1) : given];
  if (PREFIXES.has(prefix) || COMPATIBLE.has(prefix)) return [prefix, given.slice(slash + 1)];
  const bare = BARE.find(([pattern]) => pattern.test(given))?.[1];
  return bare === undefined && /^\w+$/.test(prefix) ? [prefix, given.slice(slash + 1)] : [bare, given];
}

function readAddress(draft: Draft, params: Place): string | 'refused' | undefined {
  const place = params.get(params.get('api_base').isThere ? 'api_base' : 'base_url');
  if (!place.isThere) return undefined;
  if (isVariable(place.text)) return fromEnvironment(draft, place, undefined, LEFT_OUT) ?? 'refused';
  const url = URL.canParse(place.text ?? '') ? new URL(place.text ?? '') : undefined;
  if (url && url.username + url.password + url.search + url.hash === '') return literal(place.take() ?? '');
  place.note(`Sluice takes an address without user name, password, query and fragment. ${LEFT_OUT}`);
  return 'refused';
}

function readKey(draft: Draft, place: Place, wanted: string): string | undefined {
  if (VARIABLE.test(place.text ?? '')) return fromEnvironment(draft, place);
  if (isVariable(place.text))
    return draft.secret(place, wanted, `${UNREADABLE} Its value belongs in another one.`);
  return place.scalar === undefined ? undefined : draft.secret(place, wanted);
}

function baseUrl(preset: string | undefined, address: string): string {
  const base = address.replace(/\/+$/, '').replace(/\/chat\/completions$/, '');
  if (preset === 'anthropic') return base.replace(/\/v1(?:\/messages)?$/, '');
  return preset === 'ollama' && !base.endsWith('/v1') ? `${base}/v1` : base;
}

function azureFields(draft: Draft, params: Place, address: string | undefined): Fields {
  const [, resource] = /^https:\/\/([a-z0-9-]+)\.openai\.azure\.com\/*$/i.exec(address ?? '') ?? [];
  const version = fromEnvironment(draft, params.get('api_version'), 'stand-in');
  return {
    ...(resource === undefined
      ? { base_url: `${(address ?? draft.reference('AZURE_API_BASE')).replace(/\/+$/, '')}/openai` }
      : { resource }),
    ...(version === undefined ? {} : { query: { 'api-version': version } }),
  };
}

function bedrock(draft: Draft, params: Place, place: Place, given: string): Deployment | undefined {
  const model = given.replace(/^(?:converse|invoke)\//, '');
  const preset = model.includes('anthropic.') ? 'bedrock-invoke' : 'bedrock';
  if (preset === 'bedrock' && !/^openai\./.test(model) && model !== '*') {
    place.note('Sluice speaks to Claude and to OpenAI’s models at Bedrock, and to no others there.');
    return undefined;
  }
  const region = partOf(draft, params, 'aws_region_name', 'region', 'AWS_REGION');
  for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY']) draft.reference(name);
  for (const [name, each] of params.entries())
    if (each.isThere && /^aws_(?!region_name)/.test(name))
      each.note(
        'Sluice signs with the usual variables of AWS, or with a token file or command: docs/providers.md.',
      );
  return { name: preset, fields: { preset, ...region, auth: { sigv4: true } }, model: literal(model) };
}

function vertex(draft: Draft, params: Place, model: string): Deployment {
  const preset = model.startsWith('claude') ? 'vertex-anthropic' : 'vertex';
  const fields = {
    preset,
    ...partOf(draft, params, 'vertex_project', 'project', 'GOOGLE_CLOUD_PROJECT'),
    ...partOf(draft, params, 'vertex_location', 'location', undefined),
  };
  const known = preset === 'vertex' && !model.includes('/') ? `google/${model}` : model;
  return { name: preset, fields, model: literal(known) };
}

/** A part of the address that a preset has; `standard` is the variable that the preset reads otherwise. */
function partOf(
  draft: Draft,
  params: Place,
  field: string,
  part: string,
  standard: string | undefined,
): Fields {
  const place = params.get(field);
  const text = isVariable(place.text) ? undefined : place.scalar;
  const value = isVariable(place.text) ? fromEnvironment(draft, place, 'stand-in') : undefined;
  if (value !== undefined) return { [part]: value };
  if (text !== undefined && PLAIN_PARTS.test(text)) return { [part]: place.settle() && text };
  if (text !== undefined)
    place.note(`This cannot be a part of the address; set ${part} of the provider by hand.`);
  if (standard !== undefined) draft.reference(standard, 'stand-in');
  return {};
}
