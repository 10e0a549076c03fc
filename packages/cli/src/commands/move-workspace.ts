import type { WorkspaceMove } from '@sluice/shared/admin-api';
import { path } from '../admin/client.js';
import type { Cli } from '../cli.js';

export const WAIT_HELP = 'how long running requests may keep callers waiting, up to 4m; default: 20s';

/** `waitMs`: for how long its running requests may keep its callers waiting. */
export function moveWorkspace(cli: Cli, id: string, shard: number, waitMs = 20_000): Promise<WorkspaceMove> {
  const input = { shard, wait_seconds: Math.ceil(waitMs / 1_000) };
  return cli.admin.send<WorkspaceMove>('POST', path`/workspaces/${id}/move`, input, waitMs);
}

export function movedText({ workspace, from, to, held_ms }: WorkspaceMove): string {
  if (from === to) return `Workspace ${workspace} lives in shard ${to} already.`;
  const waited = held_ms === 0 ? '' : ` Its callers waited up to ${(held_ms / 1_000).toFixed(1)} s.`;
  return `Moved workspace ${workspace} from shard ${from} to shard ${to}.${waited}`;
}
