/** The address of a provider's calls, and the parts that all of them share. Constant parts are computed once. */
import type { EndpointConfig } from '@sluice/shared/config/provider';
import { GatewayError } from '@sluice/shared/errors';
import type { Provider } from '../providers/types.js';

const MODEL = '{model}';

export class Endpoint {
  /** Headers of every call, beside the credentials. */
  readonly headers: Readonly<Record<string, string>>;
  readonly #chatPath: string;
  readonly #hasModelInPath: boolean;

  constructor(
    private readonly config: EndpointConfig,
    provider: Pick<Provider, 'headers'>,
  ) {
    const { anthropicVersion, headers, path, query } = config;
    this.headers = {
      'content-type': 'application/json',
      accept: 'application/json',
      ...(anthropicVersion === undefined ? provider.headers : {}),
      ...headers,
    };
    this.#chatPath = withQuery(path, query);
    this.#hasModelInPath = path.includes(MODEL);
  }

  /** Behind the base URL. Throws GatewayError for a name that cannot stand in a path. */
  chatPath(model: string): string {
    if (!this.#hasModelInPath) return this.#chatPath;
    const name = this.nameOf(model);
    // Servers read these as "here" and "above": the call would go to another path, with the provider's key.
    if (name === '.' || name === '..')
      throw new GatewayError('model_not_found', 'There is no model with this name.', { param: 'model' });
    return this.#chatPath.replace(MODEL, encodeURIComponent(name));
  }

  /** The full address of a page of the model list. Undefined when the provider has no list. */
  modelsUrl(page: Readonly<Record<string, string>>): string | undefined {
    const { baseUrl, modelsPath, query } = this.config;
    return modelsPath === undefined ? undefined : baseUrl + withQuery(modelsPath, { ...query, ...page });
  }

  /** The provider's own name of the model. */
  nameOf(model: string): string {
    return this.config.renamedModels.get(model) ?? model;
  }

  /** The body for this address: with the provider's own name of the model, or without a model. */
  adapt(body: Record<string, unknown>, model: string): Record<string, unknown> {
    const { anthropicVersion, renamedModels } = this.config;
    if (anthropicVersion !== undefined) {
      const { model: _, ...rest } = body;
      return { anthropic_version: anthropicVersion, ...rest };
    }
    const name = renamedModels.get(model);
    if (name !== undefined) body.model = name;
    return body;
  }
}

function withQuery(path: string, query: Readonly<Record<string, string>>): string {
  const text = new URLSearchParams(query).toString();
  return text === '' ? path : `${path}?${text}`;
}
