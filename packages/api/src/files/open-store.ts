import type { ObjectStore } from './store.js';

export interface StoreSettings {
  folder: string;
  /** `s3://bucket/prefix`. Then the folder is not used. */
  bucket: string | undefined;
  /** Of an S3-compatible server; without it AWS's own. */
  endpoint: string | undefined;
}

/** The client of a bucket is loaded only where there is one. */
export async function openStore({ folder, bucket, endpoint }: StoreSettings): Promise<ObjectStore> {
  if (bucket === undefined) {
    const { FolderStore } = await import('./folder-store.js');
    return new FolderStore(folder);
  }
  const { BucketStore } = await import('./bucket-store.js');
  return new BucketStore(bucket, endpoint);
}
