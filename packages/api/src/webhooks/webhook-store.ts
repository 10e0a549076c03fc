/** The webhooks of workspaces: where each wants to be told of what. Address and secret are sealed in Redis. */

import { randomBytes } from 'node:crypto';
import type { EventType } from '@sluice/shared/contract/webhook';
import type { Payloads } from '@sluice/shared/queue/payload';
import { WorkspaceMoved } from '@sluice/shared/queue/workspace-moved';
import type { ShardNames } from '@sluice/shared/redis/key-names';
import { loadScript } from '@sluice/shared/redis/script';
import { makeRequestId } from '@sluice/shared/request-id';
import type { Redis } from 'ioredis';

/** Sent only when an operator asks for it. */
export const TEST_EVENT = 'webhook.test';

export interface Webhook {
  id: string;
  /** Empty: address and secret were sealed with a payload key that is not held any more. */
  url: string;
  /** `whsec_…`, the form of Standard Webhooks. */
  secret: string;
  events: readonly EventType[];
  /** Redis time. */
  created: number;
}

interface StoredWebhook extends Omit<Webhook, 'url' | 'secret'> {
  sealed: string;
}

const SECRET_BYTES = 32;

const addScript = loadScript<
  -1 | 0 | 1,
  { webhooksKey: string; fenceKey: string | undefined },
  { most: number; id: string; webhook: string }
>(import.meta.url, 'add-webhook');

export class WebhookStore {
  constructor(
    private readonly redis: Redis,
    private readonly names: ShardNames,
    private readonly payloads: Payloads,
  ) {}

  /** Undefined: the workspace has the most webhooks that it may have. */
  async add(
    workspace: string,
    input: Pick<Webhook, 'url' | 'events' | 'created'>,
    most: number,
  ): Promise<Webhook | undefined> {
    const secret = `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
    const webhook = { ...input, id: `wh_${makeRequestId()}`, secret };
    const stored = JSON.stringify(this.#seal(workspace, webhook));
    const keys = {
      webhooksKey: this.names.webhooks(workspace),
      fenceKey: this.names.fence?.(workspace),
    };
    const added = await addScript(this.redis, keys, { most, id: webhook.id, webhook: stored });
    if (added === -1) throw new WorkspaceMoved();
    return added === 1 ? webhook : undefined;
  }

  /** Oldest first. */
  async list(workspace: string): Promise<Webhook[]> {
    const stored = await this.redis.hvals(this.names.webhooks(workspace));
    return stored
      .map((text) => this.#open(workspace, JSON.parse(text) as StoredWebhook))
      .sort((a, b) => a.created - b.created);
  }

  async find(workspace: string, id: string): Promise<Webhook | undefined> {
    const stored = await this.redis.hget(this.names.webhooks(workspace), id);
    return stored === null ? undefined : this.#open(workspace, JSON.parse(stored) as StoredWebhook);
  }

  async remove(workspace: string, id: string): Promise<boolean> {
    return (await this.redis.hdel(this.names.webhooks(workspace), id)) === 1;
  }

  #seal(workspace: string, { url, secret, ...rest }: Webhook): StoredWebhook {
    const sealed = this.payloads.seal(JSON.stringify({ url, secret }), contextOf(workspace, rest.id));
    return { ...rest, sealed };
  }

  #open(workspace: string, { sealed, ...rest }: StoredWebhook): Webhook {
    const opened = this.payloads.tryOpen(sealed, contextOf(workspace, rest.id));
    // One webhook that cannot be read must not hold up the events of all others, and it can still be removed.
    if (opened === undefined) return { ...rest, url: '', secret: '' };
    return { ...rest, ...(JSON.parse(opened) as Pick<Webhook, 'url' | 'secret'>) };
  }
}

function contextOf(workspace: string, id: string): string {
  return `webhook\n${workspace}\n${id}`;
}
