/**
 * What the admin listener gets of an api process. It is a package of its own, `packages/admin`, which imports this one. So this
 * one knows only its name, and a process without ADMIN_TOKEN does not load it.
 */
import type { GatewayConfig } from '@sluice/shared/config/gateway-config';
import type { AdminOptions, ApiOptions, ApiParts } from './assemble.js';
import type { ChatParts } from './chat/route.js';

export interface AdminContext
  extends Pick<ApiOptions, 'redisUrl' | 'databaseUrl' | 'cell' | 'logger'>,
    Pick<ApiParts, 'names' | 'digests' | 'payloads' | 'clock' | 'takeUpAdded' | 'connectionLimit'>,
    Pick<ApiParts, 'findInFile' | 'homes'>,
    Pick<ApiParts, 'registry' | 'registryStore' | 'refresh' | 'catalogue' | 'providerTests'>,
    Pick<ApiParts, 'announced' | 'coolDowns' | 'circuits' | 'presence' | 'neighbours' | 'shards'> {
  config: GatewayConfig;
  /** Of each shard. */
  chats: readonly ChatParts[];
  cache: ApiParts['directory'];
  countWrongKey(listener: string): void;
  countSignIn(way: string, outcome: string): void;
  publicUrl(): string;
}

export interface RunningAdmin {
  url: string;
  close(): Promise<void>;
}

export async function startAdmin(options: AdminOptions, context: AdminContext): Promise<RunningAdmin> {
  // By a call that TypeScript does not follow, because packages do not form a circle.
  const admin = (await import(import.meta.resolve('@sluice/admin/admin'))) as {
    startAdmin: typeof startAdmin;
  };
  return admin.startAdmin(options, context);
}
