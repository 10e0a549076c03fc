/** Every preset with the family that it belongs to, and the providers as a worker makes them. */

import { parseConfig } from '@sluice/shared/config/config';
import type { ProviderConfig } from '@sluice/shared/config/provider';
import { PRESETS } from '@sluice/shared/contract/presets';
import type { Family } from './features.js';

const STRICT = ['openai', 'azure', 'azure-deployments', 'groq', 'mistral'];

const familyOf = (preset: string, kind: unknown): Family =>
  kind === 'anthropic' ? 'anthropic' : STRICT.includes(preset) ? 'openai' : 'compatible';

/** How each preset takes a request. One with the Responses API is there twice. */
export const FAMILIES: readonly (readonly [preset: string, family: Family])[] = Object.entries(
  PRESETS,
).flatMap(([name, { kind, responses_path }]): [string, Family][] => [
  [name, familyOf(name, kind)],
  ...(kind === 'openai' && responses_path !== 'none' ? [[name, 'responses'] as [string, Family]] : []),
]);

/** A model of each family that has all that the table asks for. */
export const MODELS: Readonly<Record<Family, string>> = {
  openai: 'gpt-5.2',
  compatible: 'a-model',
  anthropic: 'claude-opus-4-5',
  responses: 'gpt-5.2',
};

const PLACES = { resource: 'r', region: 'eu-west-1', project: 'p' };

export function presetConfig(preset: string): ProviderConfig {
  const [provider] = parseConfig({ providers: { x: { preset, ...PLACES } } }, {}).providers.values();
  if (!provider) throw new Error(`the preset ${preset} cannot be read`);
  return provider;
}
