/** The request log as it grows. A gateway that restarts in between is waited for, and nothing is missed. */
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import type { PresentedRequest } from '@sluice/shared/admin-api';
import { type AdminClient, AdminRefusal, type Query } from './client.js';

const RETRY_MS = 1000;

/** `after`: the cursor behind which it begins. A connection that cannot be made at first is a failure. */
export async function* followRequests(
  admin: AdminClient,
  query: Query,
  after: string | undefined,
  onLost: (reason: string) => void,
): AsyncGenerator<PresentedRequest> {
  let last = after;
  for (let isFirst = true; ; isFirst = false) {
    try {
      const body = await admin.stream('/requests/follow', { ...query, after: last });
      for await (const line of createInterface({ input: body })) {
        if (line === '') continue;
        const request = JSON.parse(line) as PresentedRequest;
        last = request.cursor;
        yield request;
      }
      onLost(`${admin.url} ended the connection`);
    } catch (error) {
      if (isFirst || error instanceof AdminRefusal) throw error;
      onLost(error instanceof Error ? error.message : String(error));
    }
    await wait(RETRY_MS);
  }
}
