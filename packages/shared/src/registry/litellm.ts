/**
 * Turns LiteLLM's public price map into a registry document. The map is one object, model id → facts, with prices in USD
 * per token. The document has the chat models of our price lists under their own names. A model without both an input and an
 * output price is left out, because half a price would bill too little unnoticed.
 */
import { is } from 'superstruct';
import { registryModel } from '../contract/model.js';
import {
  type ModelPrices,
  parseRegistryDocument,
  type RegistryDocument,
  type RegistryModel,
} from './document.js';

import { EMBEDS } from './model-registry.js';

type Facts = Record<string, unknown>;

/** LiteLLM's name of a provider → our price list. A model sold in one region only has a price of its own, and is left out. */
const LISTS: Readonly<Record<string, string>> = {
  openai: 'openai',
  anthropic: 'anthropic',
  bedrock: 'aws',
  bedrock_converse: 'aws',
  azure: 'azure',
  azure_ai: 'azure',
  cerebras: 'cerebras',
  cohere_chat: 'cohere',
  deepseek: 'deepseek',
  fireworks_ai: 'fireworks',
  gemini: 'google',
  'vertex_ai-language-models': 'google',
  'vertex_ai-anthropic_models': 'google',
  groq: 'groq',
  minimax: 'minimax',
  mistral: 'mistral',
  moonshot: 'moonshotai',
  openrouter: 'openrouter',
  perplexity: 'perplexity',
  together_ai: 'together',
  xai: 'x-ai',
  zai: 'zai',
};
const MAKERS: ReadonlySet<string> = new Set(['openai', 'anthropic']);
/** What may stand before a model's own name. */
const PREFIX =
  /^(openai|anthropic|bedrock|azure|azure_ai|cerebras|cohere|deepseek|fireworks_ai|gemini|vertex_ai|groq|minimax|mistral|moonshot|openrouter|perplexity|together_ai|xai|zai)\//;
/** Providers whose own names of models have a slash. */
const SLASHED: ReadonlySet<string> = new Set(['fireworks', 'groq', 'openrouter', 'perplexity', 'together']);
const SERVICE_TIERS = ['flex', 'priority', 'ultrafast'] as const;
const CAPABILITIES: Record<string, string> = {
  supports_vision: 'vision',
  supports_function_calling: 'tools',
  supports_reasoning: 'reasoning',
  supports_response_schema: 'json_schema',
  supports_prompt_caching: 'prompt_caching',
  // The one mode beside `chat` that is taken.
  embedding: EMBEDS,
};

export function looksLikeLitellm(json: unknown): json is Record<string, Facts> {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return false;
  return Object.values(json).some((facts) => isFacts(facts) && typeof facts.litellm_provider === 'string');
}

/** Throws InvalidRegistry. `day` becomes the version, which the map itself does not have. */
export function parseLitellm(json: Record<string, Facts>, day: string): RegistryDocument {
  const models = new Map<string, RegistryModel>();
  for (const [key, facts] of Object.entries(json)) {
    const list = listOf(facts);
    if (list === undefined) continue;
    // `openai/gpt-4o` is the same as `gpt-4o`. A model with another prefix is sold elsewhere or at another price.
    const id = key.replace(PREFIX, '');
    if (id.includes('/') && !SLASHED.has(list)) continue;
    if (id !== key && Object.hasOwn(json, id) && listOf(json[id]) === list) continue;
    const model = toModel(id, list, facts, day);
    // A mistake in the list of a provider that hardly anybody uses must not keep the others from being refreshed.
    if (!model || (!MAKERS.has(list) && !is(model, registryModel))) continue;
    models.set(`${list} ${id}`, model);
  }
  const document = {
    version: `litellm-${day}`,
    unit: 'usd_per_million_tokens',
    models: [...models.values()],
  };
  return parseRegistryDocument(document);
}

function listOf(facts: Facts | undefined): string | undefined {
  if (!isFacts(facts) || (facts.mode !== 'chat' && facts.mode !== 'embedding')) return undefined;
  const name = String(facts.litellm_provider);
  return Object.hasOwn(LISTS, name) ? LISTS[name] : undefined;
}

function toModel(
  id: string,
  provider: RegistryModel['provider'],
  facts: Facts,
  day: string,
): RegistryModel | undefined {
  const prices = toPrices(facts, '');
  if (!prices) return undefined;
  const steps = [...new Set(Object.keys(facts).flatMap((key) => /_above_(\d+)k_tokens/.exec(key)?.[1] ?? []))]
    .map(Number)
    .sort((a, b) => a - b);
  const longContext = steps.flatMap((thousands) => {
    const suffix = `_above_${thousands}k_tokens`;
    const long = toPrices(facts, suffix);
    return long ? { above: thousands * 1000, prices: long, ...withTiers(facts, suffix) } : [];
  });
  const capabilities = Object.keys(CAPABILITIES).filter(
    (name) => facts[name] === true || name === facts.mode,
  );
  const deprecated = facts.deprecation_date;
  return {
    id,
    provider,
    prices,
    ...(longContext.length > 0 ? { long_context: longContext } : {}),
    ...withTiers(facts, ''),
    ...withBands(facts.off_peak_pricing),
    ...tokens('context_window', facts.max_input_tokens),
    ...tokens('max_output_tokens', facts.max_output_tokens),
    capabilities: capabilities.map((name) => CAPABILITIES[name] ?? name),
    ...(typeof deprecated === 'string' && /^\d{4}-\d\d-\d\d$/.test(deprecated) ? { deprecated } : {}),
    source: 'LiteLLM price map',
    as_of: day,
  };
}

const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

/** The map's own prices are those of the peak, and others hold at some hours of some days. */
function withBands(offPeak: unknown): Pick<RegistryModel, 'time_bands'> {
  const prices = isFacts(offPeak) ? toPrices(offPeak, '') : undefined;
  if (!prices || !isFacts(offPeak) || !Array.isArray(offPeak.windows)) return {};
  const bands = offPeak.windows.filter(isFacts).flatMap(({ hours_utc: hours, weekdays }) => {
    const days = Array.isArray(weekdays) ? weekdays.flatMap((day) => DAYS[Number(day) - 1] ?? []) : [];
    return (Array.isArray(hours) ? hours : [hours]).flatMap((each) => {
      const [, from = '', to = ''] = /^(\d\d:\d\d)-(\d\d:\d\d)$/.exec(String(each)) ?? [];
      return from === '' ? [] : [{ from, to, ...(days.length > 0 ? { days } : {}), prices }];
    });
  });
  return bands.length > 0 ? { time_bands: bands } : {};
}

function withTiers(facts: Facts, suffix: string): { service_tiers?: Record<string, ModelPrices> } {
  const tiers = SERVICE_TIERS.flatMap((tier) => {
    const prices = toPrices(facts, `${suffix}_${tier}`);
    return prices ? [[tier, prices] as const] : [];
  });
  return tiers.length > 0 ? { service_tiers: Object.fromEntries(tiers) } : {};
}

function toPrices(facts: Facts, suffix: string): ModelPrices | undefined {
  const input = perMillion(facts[`input_cost_per_token${suffix}`]);
  const output = perMillion(facts[`output_cost_per_token${suffix}`]);
  if (input === undefined || output === undefined) return undefined;
  const cachedInput = perMillion(facts[`cache_read_input_token_cost${suffix}`]);
  const cacheWrite = perMillion(facts[`cache_creation_input_token_cost${suffix}`]);
  const oneHour = perMillion(facts[`cache_creation_input_token_cost_above_1hr${suffix}`]);
  // Some one-hour prices of the map were copied from another model. A right one is twice the input price.
  const isPlausible = oneHour !== undefined && oneHour >= (cacheWrite ?? input) && oneHour <= 4 * input;
  return {
    input,
    ...(cachedInput === undefined ? {} : { cached_input: cachedInput }),
    ...(cacheWrite === undefined ? {} : { cache_write: cacheWrite }),
    ...(isPlausible ? { cache_write_1h: oneHour } : {}),
    output,
  };
}

/** Rounds to a whole picodollar per token, because `1.5e-07` is a binary fraction. */
function perMillion(usdPerToken: unknown): number | undefined {
  if (typeof usdPerToken !== 'number' || !Number.isFinite(usdPerToken)) return undefined;
  return Math.round(usdPerToken * 1e12) / 1e6;
}

function tokens(name: 'context_window' | 'max_output_tokens', value: unknown): Partial<RegistryModel> {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 ? { [name]: value } : {};
}

function isFacts(value: unknown): value is Facts {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
