/** Prices of the other providers that the package knows, as they are there. */
import { OTHER_PRICE_LISTS } from '@sluice/shared/contract/price-lists';
import {
  parseRegistryDocument,
  type RegistryDocument,
  type RegistryModel,
} from '@sluice/shared/registry/document';
import type { Additions } from './additions.js';
import { dayOf, withDifferences } from './build-registry.js';
import { modelsOf, namedIn } from './package-data.js';
import { packageFacts } from './package-facts.js';

export function buildOtherLists(additions: Additions, version: string): RegistryDocument {
  const { version: from, as_of } = additions.package;
  const models = OTHER_PRICE_LISTS.flatMap((list) =>
    idsOf(list).flatMap((id): RegistryModel[] => {
      const facts = packageFacts(list, id, dayOf(version));
      if (!facts) return [];
      const differing = withDifferences(facts, `${list}/${id}`, additions);
      return [{ id, provider: list, ...differing, source: `genai-prices ${from}`, as_of }];
    }),
  );
  return parseRegistryDocument({ version, unit: 'usd_per_million_tokens', models });
}

/** The ids that the package names in full; it also has patterns, which stand for any number of them. */
function idsOf(list: string): string[] {
  const ids = modelsOf(list).flatMap(({ id, match }) => [...regionsOf(id), ...namedIn(match)]);
  return [...new Set(ids)].sort();
}

/** Bedrock sells a model under a name of its own in each group of regions; the package has them in one pattern. */
const REGIONS = ['', 'us.', 'eu.', 'au.', 'jp.', 'apac.', 'us-gov.'];

function regionsOf(id: string): string[] {
  const [, model] = /^regional\.(.+)$/.exec(id) ?? [];
  return model === undefined ? [id] : REGIONS.map((region) => region + model);
}
