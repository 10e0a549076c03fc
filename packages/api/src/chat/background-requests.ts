/**
 * Requests whose caller does not wait (`Prefer: respond-async`). Such a request has the record of an Idempotency-Key of its
 * own (shared: queue/idempotency.ts), made of its id. So its answer is kept by the step that settles it, sealed, within the
 * workspace's quota of kept answers. Unlike there, a failure is kept too.
 */
import { createHash } from 'node:crypto';
import type { WorkspaceRecord } from '@sluice/shared/directory/directory';
import { idempotencyDigest } from '@sluice/shared/queue/idempotency';
import type { ReplyHead } from '@sluice/shared/queue/job';
import type { Payloads } from '@sluice/shared/queue/payload';
import type { KeyNames } from '@sluice/shared/redis/key-names';
import { createScript } from '@sluice/shared/redis/script';
import type { Redis } from 'ioredis';

/** How long the record of a request that nobody has answered stays. */
const DAY_MS = 86_400_000;

/** KEYS: record, mark of the request's settlement. */
const beginScript = createScript<'new' | 'known' | 'conflict' | 'gone'>(
  'sluiceBeginInBackground',
  `
local known = redis.call('HGET', KEYS[1], 'fingerprint')
if known then
  for i = 4, #ARGV do
    if known == ARGV[i] then return 'known' end
  end
  return 'conflict'
end
-- Other answers have pushed it out. A second run could not be settled under its id, and its call would be on no bill.
if redis.call('EXISTS', KEYS[2]) == 1 then return 'gone' end
redis.call('HSET', KEYS[1], 'background', '1', 'request', ARGV[1], 'deadline', ARGV[2], 'fingerprint', ARGV[4])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 'new'
`,
);

export interface BackgroundRequest {
  /** Redis time. */
  deadline: number;
  /** Absent while it is under way. */
  answer?: { head: ReplyHead; body: string };
}

export class BackgroundRequests {
  constructor(
    private readonly redis: Redis,
    private readonly names: KeyNames,
    private readonly payloads: Payloads,
  ) {}

  /** The same key gives the same id, so that a caller who asks again finds the request that runs. */
  idFor(idempotencyKey: string, workspace: WorkspaceRecord): string {
    const text = `background\n${workspace.id}\n${idempotencyDigest(idempotencyKey, workspace)}`;
    return createHash('sha256').update(text).digest('base64url').slice(0, 20);
  }

  digestOf(requestId: string, workspace: WorkspaceRecord): string {
    return idempotencyDigest(`background\n${requestId}`, workspace);
  }

  begin(
    workspace: WorkspaceRecord,
    request: { requestId: string; deadline: number; body: string },
  ): Promise<'new' | 'known' | 'conflict' | 'gone'> {
    const { requestId, deadline, body } = request;
    const key = this.names.idempotency(workspace.id, this.digestOf(requestId, workspace));
    return beginScript(
      this.redis,
      [key, this.names.settled(requestId)],
      [requestId, Math.round(deadline), DAY_MS, ...this.payloads.fingerprints(body)],
    );
  }

  async find(requestId: string, workspace: WorkspaceRecord): Promise<BackgroundRequest | undefined> {
    const key = this.names.idempotency(workspace.id, this.digestOf(requestId, workspace));
    const [isOne, deadline, head, body] = await this.redis.hmget(
      key,
      'background',
      'deadline',
      'head',
      'body',
    );
    if (!isOne) return undefined;
    const found: BackgroundRequest = { deadline: Number(deadline) };
    if (head) found.answer = { head: JSON.parse(head) as ReplyHead, body: body ?? '' };
    return found;
  }
}
