/** One deployment of a LiteLLM model_list: the provider that it calls, and the model there. */
import { PRESETS } from '@sluice/shared/contract/presets';
import { type Draft, type Fields, isCallable, literal } from './draft.js';
import type { Place } from './foreign-file.js';

/** LiteLLM's prefixes, and the presets for them. */
const PREFIXES: Readonly<Record<string, string>> = {
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
};
/** Other servers that speak OpenAI's format: their addresses, or none where every server has its own. */
const COMPATIBLE: Readonly<Record<string, string | undefined>> = {
  cerebras: 'https://api.cerebras.ai/v1',
  moonshot: 'https://api.moonshot.ai/v1',
  nvidia_nim: 'https://integrate.api.nvidia.com/v1',
  perplexity: 'https://api.perplexity.ai',
  sambanova: 'https://api.sambanova.ai/v1',
  custom_openai: undefined,
  litellm_proxy: undefined,
  lm_studio: undefined,
  openai_like: undefined,
};
/** Variables that LiteLLM reads where the file names none, and that are not the preset's. */
const VARIABLES: Readonly<Record<string, string>> = {
  azure: 'AZURE_API_KEY',
  perplexity: 'PERPLEXITYAI_API_KEY',
  together_ai: 'TOGETHERAI_API_KEY',
};
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

/** Undefined, with a note, where Sluice has no such provider. `given`: what stands for `litellm_params.model`. */
export function readDeployment(draft: Draft, params: Place, given: string): Deployment | undefined {
  const [prefix, model] = splitModel(given, params.get('custom_llm_provider').text);
  const place = params.get('model').isThere ? params.get('model') : params;
  if (prefix === undefined) {
    place.note('The provider cannot be told from this model. Write an entry for it by hand.');
    return undefined;
  }
  if (!isCallable(model, place)) return undefined;
  const preset = PREFIXES[prefix];
  if (preset === 'bedrock') return bedrock(draft, params, place, model);
  if (preset === 'vertex') return vertex(draft, params, model);
  if (preset === undefined && !Object.hasOwn(COMPATIBLE, prefix)) {
    place.note(`Sluice has no preset for ${prefix}. If it speaks OpenAI's format, add it as a provider.`);
    return undefined;
  }
  const address = readAddress(draft, params);
  if (address === 'refused') return undefined;
  const base = address ?? (preset === undefined ? COMPATIBLE[prefix] : undefined);
  if (preset === undefined && base === undefined) {
    place.note('The address of this server is not in the file. Add it as a provider of kind openai.');
    return undefined;
  }
  const wanted = VARIABLES[prefix] ?? `${prefix.toUpperCase()}_API_KEY`;
  const key = readKey(draft, params, wanted);
  const fields: Fields = preset === undefined ? { kind: 'openai' } : { preset };
  if (preset === 'azure-deployments') Object.assign(fields, azureFields(draft, params, address));
  else if (base !== undefined) fields.base_url = baseUrl(preset, base);
  const standard = PRESETS[preset ?? '']?.api_key;
  if (key !== undefined && key !== standard) fields.api_key = key;
  else if (key === undefined && (Object.hasOwn(VARIABLES, prefix) || preset === undefined))
    fields.api_key = draft.reference(wanted);
  else if (typeof standard === 'string') draft.reference(standard.slice(2, -1));
  const organization = params.get('organization').text;
  if (organization !== undefined && !organization.startsWith('os.environ/'))
    fields.headers = { 'openai-organization': literal(organization) };
  const own = prefix === 'openai' && address !== undefined;
  return { name: own ? 'openai-compatible' : prefix.replaceAll('_', '-'), fields, model: literal(model) };
}

/** `os.environ/NAME` as a reference, any other text as it stands. */
export function fromEnvironment(draft: Draft, text: string, standIn?: string): string {
  const [, name] = /^os\.environ\/([A-Za-z_]\w*)$/.exec(text) ?? [];
  return name === undefined ? literal(text) : draft.reference(name, standIn);
}

function splitModel(given: string, provider: string | undefined): [string | undefined, string] {
  const slash = given.indexOf('/');
  const prefix = given.slice(0, Math.max(0, slash));
  if (provider !== undefined) return [provider, prefix === provider ? given.slice(slash + 1) : given];
  if (Object.hasOwn(PREFIXES, prefix) || Object.hasOwn(COMPATIBLE, prefix))
    return [prefix, given.slice(slash + 1)];
  const bare = BARE.find(([pattern]) => pattern.test(given))?.[1];
  return bare === undefined && /^\w+$/.test(prefix) ? [prefix, given.slice(slash + 1)] : [bare, given];
}

function readAddress(draft: Draft, params: Place): string | 'refused' | undefined {
  const place = params.get(params.get('api_base').isThere ? 'api_base' : 'base_url');
  if (place.text === undefined) return undefined;
  if (place.text.startsWith('os.environ/')) return fromEnvironment(draft, place.text);
  const url = URL.canParse(place.text) ? new URL(place.text) : undefined;
  if (url && url.username + url.password + url.search + url.hash === '') return literal(place.text);
  place.note(
    'Sluice takes an address without user name, password, query and fragment. The deployment was left out.',
  );
  return 'refused';
}

function readKey(draft: Draft, params: Place, wanted: string): string | undefined {
  const place = params.get('api_key');
  if (place.text === undefined) return undefined;
  return place.text.startsWith('os.environ/')
    ? fromEnvironment(draft, place.text)
    : draft.secret(place, wanted);
}

function baseUrl(preset: string | undefined, address: string): string {
  const base = address.replace(/\/+$/, '').replace(/\/chat\/completions$/, '');
  if (preset === 'anthropic') return base.replace(/\/v1(?:\/messages)?$/, '');
  return preset === 'ollama' && !base.endsWith('/v1') ? `${base}/v1` : base;
}

function azureFields(draft: Draft, params: Place, address: string | undefined): Fields {
  const [, resource] = /^https:\/\/([a-z0-9-]+)\.openai\.azure\.com\/*$/i.exec(address ?? '') ?? [];
  const version = params.get('api_version');
  const written = typeof version.value === 'string' ? version.value : undefined;
  return {
    ...(resource === undefined
      ? { base_url: `${(address ?? draft.reference('AZURE_API_BASE')).replace(/\/+$/, '')}/openai` }
      : { resource }),
    ...(written === undefined ? {} : { query: { 'api-version': fromEnvironment(draft, written) } }),
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
  params.noteOthers(
    params.entries().flatMap(([name]) => (/^aws_(?!region_name)/.test(name) ? [] : name)),
    {},
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
  if (place.text?.startsWith('os.environ/'))
    return { [part]: fromEnvironment(draft, place.text, 'stand-in') };
  if (place.text !== undefined && PLAIN_PARTS.test(place.text)) return { [part]: place.text };
  if (place.isThere) place.note(`This cannot be a part of the address; set ${part} of the provider by hand.`);
  if (standard !== undefined) draft.reference(standard, 'stand-in');
  return {};
}
