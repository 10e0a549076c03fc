/** Replaces the registry's document. If anything goes wrong, the old one stays. */
import { dayOf } from '@sluice/shared/calendar';
import { GatewayError } from '@sluice/shared/errors';
import type { Clock } from '@sluice/shared/redis/clock';
import { diffRegistries, type RegistryDiff } from '@sluice/shared/registry/diff';
import {
  InvalidRegistry,
  parseRegistryDocument,
  type RegistryDocument,
} from '@sluice/shared/registry/document';
import { looksLikeLitellm, parseLitellm } from '@sluice/shared/registry/litellm';
import type { LiveRegistry } from '@sluice/shared/registry/live-registry';
import { shippedBeside } from '@sluice/shared/registry/model-registry';
import type { RegistryStore } from '@sluice/shared/registry/store';
import { fetchDocument } from './fetch-document.js';

export interface RefreshInput {
  /** Either `url` or `document` is given. */
  url?: string | undefined;
  document?: unknown;
  /** Apply the document although it changes much. */
  confirm: boolean;
  /** Only report what the document would change. */
  dryRun?: boolean;
  /** The url comes from gateway.yaml and may be in a private network. */
  configured?: boolean;
}

export interface Refreshed {
  applied: boolean;
  diff: RegistryDiff;
}

export class RegistryRefresh {
  constructor(
    private readonly store: RegistryStore,
    private readonly live: LiveRegistry,
    private readonly clock: Clock,
    /** Whether an address that somebody sends may be in a private network. */
    private readonly allowPrivate: boolean,
  ) {}

  /** A document with `diff.reasons` is applied only if confirmed. Throws `invalid_request` or `refresh_failed`. */
  async run({
    url,
    document: uploaded,
    confirm,
    dryRun = false,
    configured = false,
  }: RefreshInput): Promise<Refreshed> {
    const now = this.clock.now();
    const json =
      url === undefined
        ? uploaded
        : await fetchDocument(url, { allowPrivate: configured || this.allowPrivate });
    const document = toDocument(json, dayOf(now), url === undefined ? 'invalid_request' : 'refresh_failed');
    await this.live.refresh();
    const stored = this.live.stored;
    const diff = diffRegistries(
      withShipped(stored?.document ?? this.live.current.toJSON(), document),
      document,
    );
    if (dryRun || (diff.reasons.length > 0 && !confirm)) return { applied: false, diff };
    const origin = {
      origin: 'operator',
      source: url === undefined ? 'upload' : shown(url),
      refreshedAt: now,
    } as const;
    if (!(await this.store.replace(document, origin, stored?.revision ?? '*')))
      throw new GatewayError(
        'conflict',
        'The model registry was changed by somebody else meanwhile; try again.',
      );
    await this.live.refresh();
    return { applied: true, diff };
  }
}

/** The document that is in use, with the shipped prices of other lists that the new one replaces. */
function withShipped(current: RegistryDocument, next: RegistryDocument): RegistryDocument {
  const named = new Set(current.models.map(({ provider, id }) => `${provider}/${id}`));
  const shipped = shippedBeside(next).filter(({ provider, id }) => !named.has(`${provider}/${id}`));
  return { ...current, models: [...current.models, ...shipped] };
}

function toDocument(
  json: unknown,
  day: string,
  code: 'invalid_request' | 'refresh_failed',
): RegistryDocument {
  try {
    return looksLikeLitellm(json) ? parseLitellm(json, day) : parseRegistryDocument(json);
  } catch (error) {
    if (error instanceof InvalidRegistry)
      throw new GatewayError(code, `The model registry was not refreshed: ${error.message}`, {
        param: 'document',
      });
    throw error;
  }
}

/** The query is left out, because it may hold a secret. */
function shown(url: string): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}
