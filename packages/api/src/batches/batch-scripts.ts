/**
 * The steps of a batch in Redis. The process that runs a batch holds its lease, and every step is refused without it
 * (lua/parts/lease.lua). So a process that was taken for dead and wakes up changes nothing.
 */
import { loadScript } from '@sluice/shared/redis/script';

export const LEASE_MS = 10_000;
export const FINISHED_TTL_MS = 30 * 86_400_000;

interface LeaseKeys {
  firstLeaseKey: string;
}

interface BatchKeys extends LeaseKeys {
  batchKey: string;
}

interface LineKeys extends BatchKeys {
  linesKey: string;
}

/** How far the batch's file is read, and the lines that are claimed: request ids and lines in turn. */
interface ClaimArgs {
  token: string;
  offset: number;
  lines: number;
  claimed: readonly string[];
}

export const createBatchScript = loadScript<
  '' | 'active' | 'file' | 'moved',
  {
    batchKey: string;
    batchesKey: string;
    activeKey: string;
    filesKey: string;
    fenceKey: string | undefined;
  },
  { id: string; created: number; maxActive: number; record: string; times: string; file: string }
>(import.meta.url, 'create-batch');

export const leaseScript = loadScript<0 | 1, LeaseKeys, { token: string; ms: number }>(
  import.meta.url,
  'lease-batch',
);

export const renewScript = loadScript<0 | 1, LeaseKeys, { token: string; ms: number }>(
  import.meta.url,
  'renew-batch',
);

export const releaseScript = loadScript<0 | 1, LeaseKeys, { token: string }>(
  import.meta.url,
  'release-batch',
);

export const updateScript = loadScript<
  0 | 1,
  BatchKeys,
  { token: string; from: string; fieldsAndValues: readonly string[] }
>(import.meta.url, 'update-batch');

export const claimScript = loadScript<0 | 1, LineKeys, ClaimArgs>(import.meta.url, 'claim-lines');

export const handOverScript = loadScript<
  0 | 1,
  LineKeys & {
    partKey: string;
    partsKey: string;
    partLinesKey: string;
    reservationsKey: string;
    reservedKey: string;
  },
  ClaimArgs & {
    handedOver: string;
    part: string;
    due: number;
    keptMs: number;
    record: string;
    reservation: string;
    reserved: number;
  }
>(import.meta.url, 'hand-over-lines', { LEASE_MS });

export const acknowledgeScript = loadScript<
  0 | 1,
  LineKeys & { resultsKey: string; partsKey: string },
  { token: string; lists: readonly (string | number)[] }
>(import.meta.url, 'acknowledge-lines');

export const finishScript = loadScript<
  0 | 1,
  LineKeys & {
    resultsKey: string;
    partsKey: string;
    activeKey: string;
    webhooksKey: string;
    eventsKey: string;
  },
  {
    token: string;
    id: string;
    workspace: string;
    event: string;
    now: number;
    fieldsAndValues: readonly string[];
  }
>(import.meta.url, 'finish-batch', { FINISHED_TTL_MS });

export const cancelScript = loadScript<string, { batchKey: string }, { times: string }>(
  import.meta.url,
  'cancel-batch',
);
