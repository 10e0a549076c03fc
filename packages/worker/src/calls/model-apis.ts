/**
 * By which of its endpoints a model is called. Embeddings have one of their own. For chats of kind `openai`, the entry or the provider says it, or the facts of the
 * model, or the model's own refusal, which is remembered for some minutes. One workspace teaches only itself, until another
 * has met the same refusal.
 */
import type { ChatRequest } from '@sluice/shared/chat';
import type { ChainEntry, ChatJob } from '@sluice/shared/queue/job';
import { needsResponses } from '@sluice/shared/registry/model-facts';
import type { ModelRegistry } from '@sluice/shared/registry/model-registry';
import { refuse } from '../providers/refuse.js';
import type { ProviderFailure } from '../providers/types.js';
import type { Upstream } from './call-provider.js';
import { ModelLessons } from './model-lessons.js';

type Needed = NonNullable<ProviderFailure['needsResponses']>;

/** What settings or facts say. Facts are about providers that have both endpoints. */
export function goesByResponses(
  { config, responses }: Upstream,
  entry: ChainEntry,
  request: ChatRequest,
): boolean {
  const said = entry.api ?? config.api;
  if (said !== undefined) return said === 'responses' && responses !== undefined;
  return needsResponses(config, entry.model, request);
}

export class ModelApis {
  readonly #lessons: ModelLessons<Needed>;

  constructor(
    now: () => number,
    private readonly registry: () => Pick<ModelRegistry, 'misfit'>,
  ) {
    this.#lessons = new ModelLessons(now);
  }

  /** The provider by the endpoint that takes this request. */
  of(
    upstream: Upstream,
    entry: ChainEntry,
    request: ChatRequest,
    { endpoint, workspace }: Pick<ChatJob, 'endpoint' | 'workspace'>,
  ): Upstream {
    const { responses } = upstream;
    if (endpoint) return this.#embeddingsOf(upstream, entry);
    // The look into the registry is for names that tell.
    const misfit = entry.model.includes('embed') ? this.#misfit(upstream, entry, false) : undefined;
    if (misfit !== undefined) return refusing(upstream, misfit);
    if (!responses) return entry.api === 'responses' ? withoutResponses(upstream) : upstream;
    return goesByResponses(upstream, entry, request) || this.#knows(upstream, entry, request, workspace)
      ? responses
      : upstream;
  }

  /** The provider by its other endpoint, if the failure says that the model needs it. */
  afterRefusal(
    upstream: Upstream,
    entry: ChainEntry,
    { needsResponses: needed }: ProviderFailure,
    workspace: string,
  ): Upstream | undefined {
    const { responses, config } = upstream;
    if (!needed || !responses || upstream.provider === responses.provider) return undefined;
    if ((entry.api ?? config.api) === 'chat') return undefined;
    this.#lessons.learn(entry, needed, workspace);
    return responses;
  }

  /** A model that the registry does not know may embed: its provider knows better. */
  #embeddingsOf(upstream: Upstream, entry: ChainEntry): Upstream {
    const { embeddings, config } = upstream;
    if (!embeddings) return refusing(upstream, `${config.name} has no embeddings.`);
    const misfit = this.#misfit(upstream, entry, true);
    return misfit === undefined ? embeddings : refusing(upstream, misfit);
  }

  #misfit({ config }: Upstream, entry: ChainEntry, isEmbedding: boolean): string | undefined {
    return this.registry().misfit(config.maker ?? config.prices, entry, isEmbedding);
  }

  #knows(
    { config }: Upstream,
    entry: ChainEntry,
    { tools, reasoning_effort: effort }: ChatRequest,
    workspace: string,
  ): boolean {
    if ((entry.api ?? config.api) !== undefined) return false;
    const needed = this.#lessons.of(entry, workspace);
    if (needed === undefined) return false;
    return needed === 'always' || (Array.isArray(tools) && tools.length > 0 && effort !== 'none');
  }
}

/** A route asks for an endpoint that the provider lacks. To take the other one in silence would be another request. */
function withoutResponses(upstream: Upstream): Upstream {
  return refusing(
    upstream,
    `The route says api: responses, and ${upstream.config.name} has no such endpoint.`,
  );
}

/** The provider as one that takes no request. */
function refusing(upstream: Upstream, why: string): Upstream {
  const buildRequest = (): never => refuse('model', why);
  return { ...upstream, provider: { ...upstream.provider, buildRequest, passesMessages: () => false } };
}
