/** Builds the files of workspaces. */
import type { GatewayConfig } from '@sluice/shared/config/gateway-config';
import type { Cell } from '../cell/create-cell.js';
import type { ApiShard } from '../cell/create-shard.js';
import { FileRecords } from './file-records.js';
import { Files } from './files.js';
import { SealedFiles } from './sealed-files.js';
import type { ObjectStore } from './store.js';

/** `heldObjects`: what batches under way read. */
export function createFiles(
  { redis, names, clock, isHere }: ApiShard,
  { maxBytesPerWorkspace, maxFilesPerWorkspace }: GatewayConfig['files'],
  store: ObjectStore,
  { payloads }: Cell,
  heldObjects: () => Promise<ReadonlySet<string>>,
): Files {
  const quota = { maxBytes: maxBytesPerWorkspace, maxFiles: maxFilesPerWorkspace };
  const records = new FileRecords(redis, names, payloads, quota);
  return new Files(records, new SealedFiles(store, payloads), clock, heldObjects, isHere);
}
