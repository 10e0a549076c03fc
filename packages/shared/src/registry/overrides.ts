import type { ModelOverride, RegistryDocument, RegistryModel } from './document.js';

/** `<provider>/<id>` → override. */
export type Overrides = ReadonlyMap<string, ModelOverride>;

export function overrideKey(provider: string, id: string): string {
  return `${provider}/${id}`;
}

/**
 * The document with an operator's own entries. All prices come from the override alone, so that an agreed price is not
 * mixed with list prices. Other facts that the override leaves out come from the document.
 */
export function applyOverrides(
  document: RegistryDocument,
  overrides: Overrides,
  version: string,
): RegistryDocument {
  const rest = new Map(overrides);
  const models = document.models.map((model): RegistryModel => {
    const override = rest.get(overrideKey(model.provider, model.id));
    if (!override) return model;
    rest.delete(overrideKey(model.provider, model.id));
    const {
      prices: _,
      long_context: __,
      service_tiers: ___,
      fee_per_request: ____,
      time_bands: _____,
      ...facts
    } = model;
    return { ...facts, ...override, source: 'override' };
  });
  const added = [...rest].map(([key, override]): RegistryModel => {
    const slash = key.indexOf('/');
    return { id: key.slice(slash + 1), provider: key.slice(0, slash), ...override, source: 'override' };
  });
  return { ...document, version, models: [...models, ...added] };
}
