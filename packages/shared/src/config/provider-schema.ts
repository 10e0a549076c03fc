/** One provider of gateway.yaml, or one that was added beside it. */

import { PRICE_LISTS, priceListAt } from '../contract/price-lists.js';
import { ENDPOINT_FIELDS, readEndpoint, withPreset } from './endpoint-schema.js';
import { readProviderKeys, readProviderLimits } from './rate-schema.js';
import { type ConfigReader, join, type NumberRule, shownKey } from './reader.js';
import { COUNT, DURATION_MS, ID } from './rules.js';
import type { ProviderConfig } from './types.js';

const FIELDS = [
  ...ENDPOINT_FIELDS,
  'prices',
  'api_key',
  'keys',
  'limits',
  'concurrency',
  'max_wait_ms',
  'max_backlog',
  'timeout_ms',
  'cooldown_ms',
  'max_cooldown_ms',
  'circuit_failures',
  'circuit_open_ms',
  'check_answers',
  'batch_price_factor',
];
/** The fields of a provider whose keys are stored apart. */
export const SETTINGS = FIELDS.filter((field) => field !== 'api_key');

/** `path` is where the provider stands in the file. */
export function readProvider(
  reader: ConfigReader,
  name: string,
  value: unknown,
  path = join('providers', ID.pattern.test(name) ? name : shownKey(name)),
): ProviderConfig | undefined {
  if (!ID.pattern.test(name)) reader.mistake(path, `the name of a provider must be ${ID.allowed}`);
  const written = reader.fields(value, path, FIELDS);
  if (!written) return undefined;
  const provider = withPreset(reader, written, path);
  const number = (field: string, standard: number, rule: NumberRule): number =>
    reader.number(provider[field] ?? standard, join(path, field), rule);
  const endpoint = readEndpoint(reader, provider, path);
  const { kind, baseUrl } = endpoint;
  return {
    name,
    ...endpoint,
    prices:
      reader.oneOf(provider.prices ?? priceListAt(baseUrl) ?? kind, join(path, 'prices'), PRICE_LISTS) ??
      kind,
    apiKeyEnv: reader.secret(provider.api_key, join(path, 'api_key')),
    keys: readProviderKeys(reader, provider.keys, join(path, 'keys')),
    limits: readProviderLimits(reader, provider.limits, join(path, 'limits')),
    concurrency: number('concurrency', 64, COUNT),
    maxWaitMs: number('max_wait_ms', 10_000, DURATION_MS),
    maxBacklog: number('max_backlog', 1000, COUNT),
    timeoutMs: number('timeout_ms', 120_000, DURATION_MS),
    cooldownMs: number('cooldown_ms', 5000, { ...DURATION_MS, min: 0 }),
    maxCooldownMs: number('max_cooldown_ms', 300_000, DURATION_MS),
    circuitFailures: number('circuit_failures', 8, { ...COUNT, min: 0 }),
    circuitOpenMs: number('circuit_open_ms', 5000, DURATION_MS),
    checkAnswers:
      reader.oneOf(provider.check_answers ?? 'strict', join(path, 'check_answers'), [
        'strict',
        'always',
        'never',
      ]) ?? 'strict',
    batchPriceFactor: number('batch_price_factor', 0.5, { min: 0, max: 1, whole: false }),
  };
}
