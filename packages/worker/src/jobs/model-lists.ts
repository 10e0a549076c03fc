/**
 * Answers the questions of the api processes for a provider's models. The job of a question ends at once, so that reading the
 * list takes no slot from callers. When this process dies before it has answered, the api process asks again.
 */
import type { Logger } from '@sluice/shared/process/logger';
import { sendModels } from '@sluice/shared/queue/inbox';
import type { ModelsJob } from '@sluice/shared/queue/queues';
import type { KeyNames } from '@sluice/shared/redis/key-names';
import type { Redis } from 'ioredis';
import { type ListedModel, listModels } from '../calls/list-models.js';
import type { Upstreams } from '../calls/upstreams.js';

export class ModelLists {
  /** Many processes that ask at once get the same list. */
  readonly #reading = new Map<string, Promise<ListedModel[] | null>>();

  constructor(
    private readonly redis: Redis,
    private readonly names: KeyNames,
    private readonly upstreams: Upstreams,
    private readonly logger: Logger,
  ) {}

  answer(provider: string, question: ModelsJob): void {
    this.#share(provider)
      .then((models) => sendModels(this.redis, this.names, question, models))
      .catch((error: unknown) =>
        this.logger.warn({ provider, error: String(error) }, 'the model list could not be sent'),
      );
  }

  #share(provider: string): Promise<ListedModel[] | null> {
    const known = this.#reading.get(provider);
    if (known) return known;
    const reading = this.#read(provider).finally(() => this.#reading.delete(provider));
    this.#reading.set(provider, reading);
    return reading;
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
