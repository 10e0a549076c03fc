import { readFileSync } from 'node:fs';
import type { ModelPrices, RegistryModel } from '@sluice/shared/registry/document';

type Tiers = Record<string, ModelPrices>;

/** Facts of a model that the package lacks. A model has prices here only when the package does not know it at all. */
export interface Addition extends Omit<RegistryModel, 'prices'> {
  prices?: ModelPrices;
  /** Service tiers of the long-context price. */
  long_context_tiers?: Tiers;
  source: string;
  as_of: string;
}

/** A figure of the package that is not taken. */
export interface Difference {
  /** `<provider>/<id>`. */
  model: string;
  cell: string;
  ours: unknown;
  reason: string;
}

export interface Additions {
  /** The version that the registry is made of, and the day it was published. */
  package: { version: string; as_of: string };
  differs: Difference[];
  models: Addition[];
}

export function readAdditions(): Additions {
  return JSON.parse(readFileSync(new URL('../additions.json', import.meta.url), 'utf8')) as Additions;
}

export function nameOf({ provider, id }: Pick<RegistryModel, 'provider' | 'id'>): string {
  return `${provider}/${id}`;
}
