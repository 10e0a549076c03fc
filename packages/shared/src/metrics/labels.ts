/** Makes labels for things without a name, and for names that callers choose. */
import { entriesOf } from '../contract/chain.js';
import type { ModelRegistry } from '../registry/model-registry.js';
import type { KnownWorkspaces } from './directory-watch.js';

export const OTHER = 'other';
export const NO_PROVIDER = 'none';

/** No alias has brackets, so the label for direct model ids cannot collide with one. */
export function routeLabel(route: string | null): string {
  return route ?? '(direct)';
}

/**
 * Callers choose model ids, so a model becomes a label only when the registry or a route knows it. A dated id that the
 * registry takes for another one counts as that one.
 */
export class ModelLabels {
  #inRoutes: ReadonlySet<string> = new Set();

  constructor(
    private readonly registry: () => ModelRegistry,
    private readonly providers: ReadonlyMap<string, { prices: string }>,
  ) {}

  update(directory: KnownWorkspaces): void {
    this.#inRoutes = new Set(
      directory.flatMap(({ routes }) =>
        [...routes.values()].flatMap(({ chain }) =>
          entriesOf(chain).map((entry) => `${entry.provider}\n${entry.model}`),
        ),
      ),
    );
  }

  of(provider: string, model: string): string {
    if (this.#inRoutes.has(`${provider}\n${model}`)) return model;
    return this.registry().find(this.providers.get(provider)?.prices ?? '', model)?.id ?? OTHER;
  }
}
