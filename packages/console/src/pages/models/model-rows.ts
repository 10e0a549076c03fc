import type {
  DirectoryOverview,
  Model,
  ModelList,
  ModelOffer,
  ProviderStatus,
} from '@sluice/shared/admin-api';
import { chainText, entriesOf } from '@sluice/shared/contract/chain';

/** One line of the catalogue: a route of a workspace, or a direct model id. */
export interface ModelRow {
  key: string;
  id: string;
  provider: string;
  /** For a route: its chain in words, and its workspace. */
  route?: { workspace: string; chain: string };
  facts?: Partial<Model>;
  overridden: boolean;
  /** Whether the provider lists the id, so that `GET /v1/models` does. */
  offered: boolean;
}

/** The registry knows models by whose prices they have, whatever name an operator has given the provider. */
export function toModelRows(
  models: ModelList,
  catalogue: ModelOffer,
  directory: DirectoryOverview,
  providers: readonly ProviderStatus[],
): ModelRow[] {
  const priceLists = new Map(providers.map(({ name, prices }) => [name, prices]));
  const known = new Map(models.data.map((model) => [`${model.provider}/${model.id}`, model]));
  const offered = new Set(catalogue.data.map(({ provider, id }) => `${provider}/${id}`));
  const routes = directory.routes.map(({ workspace, id, chain }): ModelRow => {
    const entries = entriesOf(chain);
    const [first] = entries;
    const facts = first && known.get(`${priceLists.get(first.provider) ?? first.provider}/${first.model}`);
    return {
      key: `route ${workspace} ${id}`,
      id,
      provider: first?.provider ?? '',
      route: { workspace, chain: chainText(chain) },
      ...(facts ? { facts } : {}),
      overridden: false,
      offered: true,
    };
  });
  const registry = models.data.map((model) => toRow(model, offered.has(`${model.provider}/${model.id}`)));
  const unpriced = catalogue.data
    .filter(({ provider, id }) => !known.has(`${provider}/${id}`))
    .map(
      ({ provider, id }): ModelRow => ({
        key: `${provider}/${id}`,
        id,
        provider,
        overridden: false,
        offered: true,
      }),
    );
  return [...routes, ...registry, ...unpriced];
}

function toRow(model: Model, offered: boolean): ModelRow {
  const { id, provider, overridden } = model;
  return { key: `${provider}/${id}`, id, provider, facts: model, overridden, offered };
}

export interface ModelFilter {
  search: string;
  provider: string;
  kind: string;
  capability: string;
}

/** Every word must be somewhere in the name, the chain or the capabilities. */
export function filterModels(
  rows: ModelRow[],
  { search, provider, kind, capability }: ModelFilter,
): ModelRow[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return rows.filter((row) => {
    if (provider !== '' && row.provider !== provider) return false;
    if (capability !== '' && !row.facts?.capabilities?.includes(capability)) return false;
    if (!isOfKind(row, kind)) return false;
    const text = [
      row.id,
      row.provider,
      row.route?.workspace,
      row.route?.chain ?? '',
      ...(row.facts?.capabilities ?? []),
    ]
      .join(' ')
      .toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

function isOfKind(row: ModelRow, kind: string): boolean {
  if (kind === 'routes') return row.route !== undefined;
  if (kind === 'direct') return row.route === undefined;
  if (kind === 'overridden') return row.overridden;
  if (kind === 'deprecated') return row.facts?.deprecated !== undefined;
  if (kind === 'unpriced') return row.facts?.prices === undefined;
  return true;
}
