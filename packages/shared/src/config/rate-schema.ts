/** `limits` and `keys` of a provider in gateway.yaml. */
import { type ConfigReader, type Fields, isAbsent, join, shownKey } from './reader.js';
import { COUNT, ID, MODEL, TOKENS, WEIGHT } from './rules.js';
import type { ProviderKeyConfig, ProviderLimits, RateLimits } from './types.js';

const FIELDS = [
  'requests_per_minute',
  'tokens_per_minute',
  'input_tokens_per_minute',
  'output_tokens_per_minute',
] as const;
const MAX_KEYS = 64;

export function readProviderLimits(
  reader: ConfigReader,
  value: unknown,
  path: string,
): ProviderLimits | undefined {
  if (isAbsent(value)) return undefined;
  const fields = reader.fields(value, path, [...FIELDS, 'models']);
  if (!fields) return undefined;
  const models = reader.entries(fields.models, `${path}.models`).flatMap(([pattern, item]) => {
    const valid = MODEL.pattern.test(pattern);
    const at = join(`${path}.models`, valid ? pattern : shownKey(pattern));
    if (!valid) reader.mistake(at, `a pattern must be ${MODEL.allowed}; * stands for any characters`);
    const own = reader.fields(item, at, FIELDS);
    return own ? { pattern, ...readRates(reader, own, at) } : [];
  });
  return { ...readRates(reader, fields, path), models };
}

function readRates(reader: ConfigReader, fields: Fields, path: string): RateLimits {
  const number = (field: (typeof FIELDS)[number], rule = TOKENS): number | undefined =>
    isAbsent(fields[field]) ? undefined : reader.number(fields[field], join(path, field), rule);
  return {
    requestsPerMinute: number('requests_per_minute', COUNT),
    tokensPerMinute: number('tokens_per_minute'),
    inputTokensPerMinute: number('input_tokens_per_minute'),
    outputTokensPerMinute: number('output_tokens_per_minute'),
  };
}

export function readProviderKeys(
  reader: ConfigReader,
  value: unknown,
  path: string,
): ProviderKeyConfig[] | undefined {
  if (isAbsent(value)) return undefined;
  const names = new Map<string, string>();
  return reader.list(value, path, 1, MAX_KEYS).flatMap((item, i) => {
    const at = `${path}[${i}]`;
    const key = reader.fields(item, at, ['name', 'api_key', 'weight', 'limits']);
    if (!key) return [];
    const name = reader.text(key.name, `${at}.name`, ID);
    reader.unique(names, name, `${at}.name`);
    return {
      name,
      apiKeyEnv: reader.secret(key.api_key, `${at}.api_key`),
      weight: isAbsent(key.weight) ? undefined : reader.number(key.weight, `${at}.weight`, WEIGHT),
      limits: readProviderLimits(reader, key.limits, `${at}.limits`),
    };
  });
}
