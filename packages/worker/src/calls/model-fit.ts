/** What becomes of a request for an entry of a route, by the facts of its model and by what the model refused lately. */
import type { ChatRequest } from '@sluice/shared/chat';
import type { ChainEntry, ChatJob } from '@sluice/shared/queue/job';
import { embeddingFactsOf, factsOf } from '@sluice/shared/registry/model-facts';
import { type FittedRequest, fitRequest, type RefusedField } from './fit-request.js';
import type { LearnedRefusals } from './learned-refusals.js';
import type { Upstreams } from './upstreams.js';

export class ModelFit {
  constructor(
    private readonly upstreams: Upstreams,
    private readonly learned: LearnedRefusals,
  ) {}

  /** Undefined when the entry gets the request as it is. A model that the caller names itself always does. */
  of(
    { route, endpoint }: Pick<ChatJob, 'route' | 'endpoint'>,
    entry: ChainEntry,
    request: ChatRequest,
  ): FittedRequest | undefined {
    const upstream = route === null ? undefined : this.upstreams.get(entry.provider);
    if (!upstream) return undefined;
    const facts = endpoint ? embeddingFactsOf : factsOf;
    const fitted = fitRequest(request, entry, facts(upstream.config, entry.model));
    if (fitted?.refused) return fitted;
    const field = this.learned.fieldOf(entry, fitted?.request ?? request);
    if (field === undefined) return fitted;
    const refused: RefusedField = { field, words: 'was refused by it a moment ago' };
    return { request: fitted?.request ?? request, adapted: fitted?.adapted ?? [], refused };
  }
}
