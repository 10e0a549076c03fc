/**
 * What is known of models: their facts and prices, found by a provider's price list and an id. A registry never changes. What
 * changes are two memories: of look-ups, which is bounded because callers choose the ids, and of the price lists of other
 * providers (`others`), each read from its file once per process.
 */
import { readFileSync } from 'node:fs';
import { FREE, OTHER_PRICE_LISTS, SOLD_ON } from '../contract/price-lists.js';
import type { ChainEntry } from '../contract/route.js';
import { parseRegistryDocument, type RegistryDocument, type RegistryModel } from './document.js';
import type { Priceable } from './price.js';
import { buildPrices } from './price-table.js';

export interface ModelFacts extends RegistryModel, Priceable {}

/** In `capabilities`: the model makes embeddings, and does not chat. */
export const EMBEDS = 'embeddings';

const MAX_REMEMBERED = 1000;
const MAX_ID_LENGTH = 200;

/** `-2024-08-06`, `-20240806`, `@20240806`, `-0613` or `-latest`: what may follow a model's name without changing the model. */
const SUFFIX =
  /[-@:](?:(20\d\d)-?(0[1-9]|1[0-2])-?(0[1-9]|[12]\d|3[01])|(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])|latest)$/;

/** Bedrock's version of a model, which its names have in some of its APIs only. */
const VERSION = /-v\d+:\d+$/;

/** The facts about the models of one version. It is immutable: a refresh makes a new one. */
export class ModelRegistry {
  readonly version: string;
  /** By provider and id. */
  readonly models: readonly ModelFacts[];
  private readonly indexes: ReadonlyMap<string, ProviderIndex>;

  constructor(private readonly document: RegistryDocument) {
    this.version = document.version;
    this.models = factsOf(document);
    this.indexes = indexByProvider(this.models);
  }

  /** `provider` is the name of a price list, here and in `find`. */
  ids(provider: string): readonly string[] {
    return this.indexes.get(provider)?.ids ?? [];
  }

  /**
   * Finds the model of this id. For an id with a date or `-latest`, it then looks for the model without that suffix, and then
   * for the newest dated sibling. Any other suffix may name another model at another price, and finds nothing.
   */
  find(provider: string, modelId: string): ModelFacts | undefined {
    const found = this.#findIn(provider, modelId);
    if (found || provider === 'openai' || provider === 'anthropic') return found;
    if (provider === FREE) return FREE_MODEL;
    // Vertex puts the maker before the model.
    if (provider === 'google' && modelId.startsWith('google/'))
      return this.#findIn(provider, modelId.slice('google/'.length));
    for (const maker of SOLD_ON[provider] ?? []) {
      const sold = this.#findIn(maker, modelId);
      if (sold) return sold;
    }
    return undefined;
  }

  /**
   * Why this model takes no request of this kind. Undefined where the registry does not know the model, or knows all names, as
   * that of a free server does.
   */
  misfit(
    list: string,
    { provider, model }: Pick<ChainEntry, 'provider' | 'model'>,
    isEmbedding: boolean,
  ): string | undefined {
    const facts = this.find(list, model);
    const embeds = facts?.capabilities?.includes(EMBEDS) === true;
    if (!facts || facts.provider === FREE || embeds === isEmbedding) return undefined;
    const why = isEmbedding
      ? 'makes no embeddings. It is a model for chats.'
      : 'makes embeddings. Send the request to /v1/embeddings.';
    return `${provider}/${model} ${why}`;
  }

  #findIn(provider: string, modelId: string): ModelFacts | undefined {
    const found = this.indexes.get(provider)?.find(modelId);
    if (found || !OTHER_PRICE_LISTS.includes(provider)) return found;
    return otherList(provider).find(modelId);
  }

  /** All models of a price list: those of the registry, and those that come with the gateway and are not in it. */
  listed(provider: string): readonly ModelFacts[] {
    const own = this.models.filter((model) => model.provider === provider);
    if (!OTHER_PRICE_LISTS.includes(provider)) return own;
    const known = new Set(own.map(({ id }) => id));
    return [...own, ...otherList(provider).models.filter(({ id }) => !known.has(id))].sort((a, b) =>
      compare(a.id, b.id),
    );
  }

  /** The document that the registry was made from. */
  toJSON(): RegistryDocument {
    return this.document;
  }
}

const FREE_FACTS: RegistryModel = { id: '*', provider: FREE, prices: { input: 0, output: 0 } };
const FREE_MODEL: ModelFacts = { ...FREE_FACTS, ...buildPrices(FREE_FACTS, FREE) };

/** By provider and id. */
function factsOf({ version, models }: RegistryDocument): ModelFacts[] {
  return models
    .map((model) => ({ ...model, ...buildPrices(model, version) }))
    .sort((a, b) => compare(a.provider, b.provider) || compare(a.id, b.id));
}

function indexByProvider(models: readonly ModelFacts[]): ReadonlyMap<string, ProviderIndex> {
  const providers = new Set(models.map(({ provider }) => provider));
  return new Map(
    [...providers].map((name) => [
      name,
      new ProviderIndex(models.filter(({ provider }) => provider === name)),
    ]),
  );
}

class ProviderIndex {
  readonly ids: readonly string[];
  private readonly byId: ReadonlyMap<string, ModelFacts>;
  /** Name without date and version → model. */
  private readonly newestDated = new Map<string, ModelFacts>();
  private readonly remembered = new Map<string, ModelFacts | undefined>();

  constructor(readonly models: readonly ModelFacts[]) {
    this.ids = models.map((model) => model.id);
    this.byId = new Map(models.map((model) => [model.id, model]));
    const newest = new Map<string, string>();
    for (const model of models) {
      const unversioned = model.id.replace(VERSION, '');
      const { name, date = unversioned === model.id ? undefined : '' } = splitId(unversioned);
      if (date === undefined || date < (newest.get(name) ?? '')) continue;
      newest.set(name, date);
      this.newestDated.set(name, model);
    }
  }

  find(id: string): ModelFacts | undefined {
    const exact = this.byId.get(id);
    if (exact || id.length > MAX_ID_LENGTH) return exact;
    if (this.remembered.has(id)) return this.remembered.get(id);
    const facts = this.findRelated(id);
    if (this.remembered.size >= MAX_REMEMBERED) this.remembered.clear();
    this.remembered.set(id, facts);
    return facts;
  }

  private findRelated(id: string): ModelFacts | undefined {
    // A fine-tuned model is `ft:<model>:<organisation>:<name>:<id>` and costs what `ft:<model>` costs.
    const model = id.startsWith('ft:') ? id.split(':', 2).join(':') : id;
    const { name } = splitId(model);
    return this.byId.get(model) ?? this.byId.get(name) ?? this.newestDated.get(name);
  }
}

/** `date` is YYYYMMDD. An early date without a year sorts before the others. */
function splitId(id: string): { name: string; date?: string } {
  const match = SUFFIX.exec(id);
  if (!match) return { name: id };
  const [suffix, year, month, day, oldMonth, oldDay] = match;
  const name = id.slice(0, -suffix.length);
  if (year) return { name, date: `${year}${month}${day}` };
  return oldMonth ? { name, date: `0000${oldMonth}${oldDay}` } : { name };
}

/** `gpt-4o-mini` of `gpt-4o-mini-2024-07-18`. */
export function nameWithoutDate(id: string): string {
  return splitId(id).name;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Throws InvalidRegistry with everything that is wrong. */
export function parseRegistry(json: unknown): ModelRegistry {
  return new ModelRegistry(parseRegistryDocument(json));
}

/** The registry that comes with this version of the gateway. */
export function loadShippedRegistry(): ModelRegistry {
  return parseRegistry(readData('models.json'));
}

/**
 * The shipped entries of other price lists that the document replaces or adds to. Those that it does not name stay, as the file
 * has them.
 */
export function shippedBeside(document: RegistryDocument): RegistryModel[] {
  const lists = new Set(document.models.map(({ provider }) => provider));
  const named = new Set(document.models.map(({ provider, id }) => `${provider}/${id}`));
  return OTHER_PRICE_LISTS.filter((list) => lists.has(list)).flatMap((list) =>
    otherList(list)
      .models.filter(({ id }) => named.has(`${list}/${id}`))
      .map(({ priceTable: _, bandTables: __, ...entry }) => entry),
  );
}

const others = new Map<string, ProviderIndex>();

/**
 * Prices of another provider, read on first use. The file comes with the gateway and was checked when it was made. A check
 * here would keep callers waiting.
 */
function otherList(name: string): ProviderIndex {
  const known = others.get(name);
  if (known) return known;
  const { version, unit, models } = readData('other-prices.json') as RegistryDocument;
  const own = models.filter(({ provider }) => provider === name);
  const index = new ProviderIndex(factsOf({ version, unit, models: own }));
  others.set(name, index);
  return index;
}

function readData(file: string): unknown {
  return JSON.parse(readFileSync(new URL(`../../data/${file}`, import.meta.url), 'utf8'));
}
