import type { ObjectStore } from './store.js';

export interface StoreSettings {
  folder: string;
  /** `s3://bucket/prefix`. Then the folder is not used. */
  bucket: string | undefined;
  /** The address of an S3-compatible server. Without it, AWS is used. */
  endpoint: string | undefined;
}

/** The client for buckets is loaded only when a bucket is configured. */
export async function openStore({ folder, bucket, endpoint }: StoreSettings): Promise<ObjectStore> {
  if (bucket === undefined) {
    const { FolderStore } = await import('./folder-store.js');
    return new FolderStore(folder);
  }
  const { BucketStore } = await import('./bucket-store.js');
  return new BucketStore(bucket, endpoint);
}
