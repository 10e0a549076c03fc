/**
 * By which of its two endpoints a model of kind `openai` is called. The entry or the provider says it, or the facts of the
 * model, or the model's own refusal, which is remembered for some minutes. One workspace teaches only itself, until another
 * has met the same refusal.
 */
import type { ChatRequest } from '@sluice/shared/chat';
import type { ChainEntry } from '@sluice/shared/queue/job';
import { needsResponses } from '@sluice/shared/registry/model-facts';
import { refuse } from '../providers/refuse.js';
import type { ProviderFailure } from '../providers/types.js';
import type { Upstream } from './call-provider.js';

const KEPT_MS = 10 * 60_000;
const MOST_MODELS = 500;

type Needed = NonNullable<ProviderFailure['needsResponses']>;

interface Lesson {
  needed: Needed;
  workspace: string;
  isShared: boolean;
  until: number;
}

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
  readonly #lessons = new Map<string, Lesson>();

  constructor(private readonly now: () => number) {}

  /** The provider by the endpoint that takes this request. */
  of(upstream: Upstream, entry: ChainEntry, request: ChatRequest, workspace: string): Upstream {
    const { responses } = upstream;
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
    this.#learn(entry, needed, workspace);
    return responses;
  }

  #learn(entry: ChainEntry, needed: Needed, workspace: string): void {
    const name = nameOf(entry);
    const before = this.#lessons.get(name);
    if (!before && this.#lessons.size >= MOST_MODELS) this.#lessons.clear();
    const isShared = before !== undefined && (before.isShared || before.workspace !== workspace);
    this.#lessons.set(name, { needed, workspace, isShared, until: this.now() + KEPT_MS });
  }

  #knows(
    { config }: Upstream,
    entry: ChainEntry,
    { tools, reasoning_effort: effort }: ChatRequest,
    workspace: string,
  ): boolean {
    if (this.#lessons.size === 0 || (entry.api ?? config.api) !== undefined) return false;
    const lesson = this.#lessons.get(nameOf(entry));
    if (!lesson || lesson.until <= this.now()) return false;
    if (!lesson.isShared && lesson.workspace !== workspace) return false;
    return lesson.needed === 'always' || (Array.isArray(tools) && tools.length > 0 && effort !== 'none');
  }
}

/** A route asks for an endpoint that the provider lacks. To take the other one in silence would be another request. */
function withoutResponses(upstream: Upstream): Upstream {
  const buildRequest = (): never =>
    refuse('model', `The route says api: responses, and ${upstream.config.name} has no such endpoint.`);
  return { ...upstream, provider: { ...upstream.provider, buildRequest, passesMessages: () => false } };
}

function nameOf({ provider, model }: ChainEntry): string {
  return `${provider}/${model}`;
}
