/** The registry: the package's prices and windows, with our additions on top. */
import {
  parseRegistryDocument,
  type RegistryDocument,
  type RegistryModel,
} from '@sluice/shared/registry/document';
import { type Addition, type Additions, nameOf } from './additions.js';
import { type PackageFacts, packageFacts } from './package-facts.js';

/** `day` is part of the version (`2026-11-15.1`), and chooses the prices of that day. */
export function buildRegistry(additions: Additions, version: string): RegistryDocument {
  const day = dayOf(version);
  const models = additions.models.map((addition) => {
    const known = packageFacts(addition.provider, addition.id, day);
    return known ? fromPackage(addition, known, additions) : fromUs(addition);
  });
  return parseRegistryDocument({ version, unit: 'usd_per_million_tokens', models });
}

export function dayOf(version: string): string {
  return version.slice(0, '2026-11-15'.length);
}

function fromPackage(addition: Addition, known: PackageFacts, additions: Additions): RegistryModel {
  const name = nameOf(addition);
  if (addition.prices)
    throw new Error(`the package knows ${name}: take its prices out of additions.json, or list what differs`);
  const { version, as_of } = additions.package;
  return toEntry(
    { ...addition, ...withDifferences(known, name, additions) },
    `prices and window: genai-prices ${version}; ${addition.source}`,
    as_of,
  );
}

/** The package's facts with the figures that are not taken from it. */
export function withDifferences(known: PackageFacts, name: string, { differs }: Additions): PackageFacts {
  const facts: Record<string, unknown> = structuredClone({ ...known });
  for (const { cell, ours } of differs.filter(({ model }) => model === name)) setCell(facts, cell, ours);
  return facts as PackageFacts;
}

function fromUs(addition: Addition): RegistryModel {
  const { prices, source, as_of } = addition;
  if (!prices)
    throw new Error(`the package does not know ${nameOf(addition)}, and additions.json has no prices`);
  return toEntry({ ...addition, prices }, source, as_of);
}

/** Field by field, so that all entries are written in the same order. */
function toEntry(facts: Addition & PackageFacts, source: string, as_of: string): RegistryModel {
  const { id, provider, prices, long_context_tiers: tiers } = facts;
  const longContext = facts.long_context?.map((step) => (tiers ? { ...step, service_tiers: tiers } : step));
  return {
    id,
    provider,
    prices,
    ...(longContext ? { long_context: longContext } : {}),
    ...(facts.time_bands ? { time_bands: facts.time_bands } : {}),
    ...(facts.service_tiers ? { service_tiers: facts.service_tiers } : {}),
    ...(facts.fee_per_request === undefined ? {} : { fee_per_request: facts.fee_per_request }),
    ...(facts.context_window === undefined ? {} : { context_window: facts.context_window }),
    ...(facts.max_output_tokens === undefined ? {} : { max_output_tokens: facts.max_output_tokens }),
    ...(facts.capabilities ? { capabilities: facts.capabilities } : {}),
    ...(facts.deprecated === undefined ? {} : { deprecated: facts.deprecated }),
    source,
    as_of,
  };
}

/** `prices.input`, or the name of a whole field. */
function setCell(facts: Record<string, unknown>, cell: string, value: unknown): void {
  const [field = '', inner] = cell.split('.');
  if (inner === undefined) facts[field] = value;
  else facts[field] = { ...(facts[field] as object), [inner]: value };
}
