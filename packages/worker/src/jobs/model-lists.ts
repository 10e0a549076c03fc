/**
 * Answers the questions of the api processes for a provider's models. The job of a question ends at once, so that reading the
 * list takes no slot from callers. When this process dies before it has answered, the api process asks again.
 */
import type { Logger } from '@sluice/shared/process/logger';
import { sendModels } from '@sluice/shared/queue/inbox';
import type { ModelsJob } from '@sluice/shared/queue/job';
import type { ShardNames } from '@sluice/shared/redis/key-names';
import type { Redis } from 'ioredis';
import { type ListedModel, listModels } from '../calls/list-models.js';
import type { Upstreams } from '../calls/upstreams.js';

const KEPT_MS = 30_000;

export class ModelLists {
  /**
   * Question → the list for it. An api process asks again after some seconds, and the first answer may be on its way then. So
   * a list is kept for a while, unless it could not be read.
   */
  readonly #lists = new Map<string, Promise<ListedModel[] | null>>();

  constructor(
    private readonly redis: Redis,
    private readonly names: ShardNames,
    private readonly upstreams: Upstreams,
    private readonly logger: Logger,
  ) {}

  answer(provider: string, question: ModelsJob): void {
    this.#listFor(provider, question.requestId)
      .then((models) => sendModels(this.redis, this.names, question, models))
      .catch((error: unknown) =>
        this.logger.warn({ provider, error: String(error) }, 'the model list could not be sent'),
      );
  }

  async #listFor(provider: string, requestId: string): Promise<ListedModel[] | null> {
    const known = this.#lists.get(requestId);
    if (known) return known;
    const reading = this.#read(provider);
    this.#lists.set(requestId, reading);
    const models = await reading;
    const forget = () => this.#lists.delete(requestId);
    if (models === null) forget();
    else setTimeout(forget, KEPT_MS).unref();
    return models;
  }

  async #read(provider: string): Promise<ListedModel[] | null> {
    const upstream = this.upstreams.get(provider);
    // Any of several keys will do.
    const [first = upstream] = upstream?.pool.values() ?? [];
    if (!first) return null;
    try {
      return await listModels(first);
    } catch (error) {
      this.logger.warn({ provider, error: String(error) }, 'the model list could not be read');
      return null;
    }
  }
}
