/**
 * The direct model ids. An api process reads them from the providers once. It has no provider keys, so it asks a worker
 * through a job. Until a provider has answered, the registry's ids stand in. Models of OpenAI and Anthropic are listed by
 * their bare ids, and only if callers can use these. Models of other providers have the provider's name before them.
 */
import type { ProviderConfig } from '@sluice/shared/config/provider';
import type { Logger } from '@sluice/shared/process/logger';
import type { ChatQueue } from '@sluice/shared/queue/chat-queue';
import type { InboxMessage } from '@sluice/shared/queue/inbox';
import type { ChainEntry } from '@sluice/shared/queue/job';
import { EMBEDS, type ModelRegistry } from '@sluice/shared/registry/model-registry';
import { makeRequestId } from '@sluice/shared/request-id';
import { DIRECT_PROVIDERS, directProviderOf } from './direct-models.js';

const FIRST_RETRY_MS = 2_000;
const MAX_RETRY_MS = 60_000;

/** The most models of one provider. A marketplace has hundreds. */
const MAX_MODELS = 2_000;

/** An id must fit into a response header. */
const isShowable = (id: string) => /^[!-~]{1,200}$/.test(id);

export interface DirectModel {
  id: string;
  created: number;
  provider: string;
}

export class Catalogue {
  readonly #models = new Map<string, DirectModel[]>();
  /** Whose models each provider has. */
  readonly #makers = new Map<string, string>();
  /** Provider → the id of its question. Asking again under the same id adds no second job. */
  readonly #questions = new Map<string, string>();
  readonly #timers = new Map<string, NodeJS.Timeout>();
  #closed = false;

  constructor(
    private readonly inboxId: string,
    private readonly queue: ChatQueue,
    private readonly logger: Logger,
    providers: Iterable<ProviderConfig>,
    private readonly registry: ModelRegistry,
    private readonly now: number,
  ) {
    for (const provider of providers) this.#know(provider);
  }

  #know({ name, kind, prices, maker = prices, modelsPath }: ProviderConfig): void {
    this.#makers.set(name, maker);
    const created = Math.floor(this.now / 1000);
    const ids = DIRECT_PROVIDERS.has(name) ? this.registry.ids(kind) : [];
    this.#keep(
      name,
      ids.map((id) => ({ id, created })),
    );
    if (modelsPath !== undefined) this.#questions.set(name, makeRequestId());
  }

  /** A provider was added or changed. Undefined: it was removed. */
  put(name: string, provider: ProviderConfig | undefined): void {
    clearTimeout(this.#timers.get(name));
    this.#questions.delete(name);
    this.#models.delete(name);
    if (!provider) return;
    this.#know(provider);
    const question = this.#questions.get(name);
    if (question !== undefined) this.#ask(name, question, FIRST_RETRY_MS);
  }

  /** Whether the model is known to make embeddings. */
  embeds({ provider, model }: Pick<ChainEntry, 'provider' | 'model'>): boolean {
    const maker = this.#makers.get(provider);
    const facts = maker === undefined ? undefined : this.registry.find(maker, model);
    return facts?.capabilities?.includes(EMBEDS) === true;
  }

  /** By provider and id. */
  list(): DirectModel[] {
    return [...this.#models.keys()].sort().flatMap((provider) => this.#models.get(provider) ?? []);
  }

  start(): void {
    for (const [provider, requestId] of this.#questions) this.#ask(provider, requestId, FIRST_RETRY_MS);
  }

  /** Asks until the first success. A question without an answer in time is asked again. */
  #ask(provider: string, requestId: string, retryMs: number): void {
    if (this.#closed) return;
    this.queue.addModels(provider, { requestId, inbox: this.inboxId }).catch(() => {});
    this.#timers.set(
      provider,
      setTimeout(() => this.#ask(provider, requestId, Math.min(2 * retryMs, MAX_RETRY_MS)), retryMs).unref(),
    );
  }

  /** Whether the message was the answer to a question about models. */
  receive(message: InboxMessage): boolean {
    if (message.kind !== 'models') return false;
    const { models } = message;
    const [provider] = [...this.#questions].find(([, requestId]) => requestId === message.requestId) ?? [];
    if (provider === undefined || models === null) return true;
    clearTimeout(this.#timers.get(provider));
    this.#questions.delete(provider);
    this.#keep(provider, models);
    this.logger.info({ provider, models: models.length }, 'model catalogue read');
    return true;
  }

  #keep(provider: string, models: { id: string; created: number }[]): void {
    const isDirect = DIRECT_PROVIDERS.has(provider);
    const direct = models
      .filter(({ id }) => (isDirect ? directProviderOf(id) === provider : isShowable(id)))
      .slice(0, MAX_MODELS)
      .map(({ id, created }) => ({ id: isDirect ? id : `${provider}/${id}`, created, provider }));
    this.#models.set(
      provider,
      direct.sort((a, b) => (a.id < b.id ? -1 : 1)),
    );
  }

  close(): void {
    this.#closed = true;
    for (const timer of this.#timers.values()) clearTimeout(timer);
  }
}
