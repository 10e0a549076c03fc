/** Builds the files of workspaces. */
import type { GatewayConfig } from '@sluice/shared/config/gateway-config';
import type { Redis } from 'ioredis';
import type { Cell } from '../cell/create-cell.js';
import { FileRecords } from './file-records.js';
import { Files } from './files.js';
import { openStore, type StoreSettings } from './open-store.js';
import { SealedFiles } from './sealed-files.js';

/** `heldObjects`: what batches under way read. */
export async function createFiles(
  redis: Redis,
  { maxBytesPerWorkspace, maxFilesPerWorkspace }: GatewayConfig['files'],
  store: StoreSettings,
  { names, payloads, clock }: Cell,
  heldObjects: () => Promise<ReadonlySet<string>>,
): Promise<Files> {
  const quota = { maxBytes: maxBytesPerWorkspace, maxFiles: maxFilesPerWorkspace };
  const records = new FileRecords(redis, names, payloads, quota);
  return new Files(records, new SealedFiles(await openStore(store), payloads), clock, heldObjects);
}
