import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkspaceMove } from '@sluice/shared/admin-api';
import type { Command } from 'commander';
import { AdminRefusal, path } from '../admin/client.js';
import { parseDuration } from '../arguments/parse-arguments.js';
import type { Cli } from '../cli.js';

const RETRY_EVERY_MS = 60_000;

export interface MoveOptions {
  /** For how long running requests may keep callers waiting. */
  wait?: number;
  /** For how long it is tried again. */
  patience?: number;
}

export function withMoveOptions(command: Command): Command {
  return command
    .option(
      '--wait <time>',
      'how long running requests may keep callers waiting, up to 4m; default: 20s',
      parseDuration,
    )
    .option(
      '--patience <time>',
      'try again for so long, while requests with deadlines or batches at providers keep it there',
      parseDuration,
    );
}

export async function moveWorkspace(
  cli: Cli,
  id: string,
  shard: number,
  { wait = 20_000, patience = 0 }: MoveOptions,
): Promise<WorkspaceMove> {
  const input = { shard, wait_seconds: Math.ceil(wait / 1_000) };
  const until = Date.now() + patience;
  for (let said = ''; ; ) {
    try {
      return await cli.admin.send<WorkspaceMove>('POST', path`/workspaces/${id}/move`, input, wait);
    } catch (error) {
      const isRefused = error instanceof AdminRefusal && error.code === 'conflict';
      if (!isRefused || Date.now() >= until) throw error;
      if (error.message !== said) cli.note(`${id}: ${error.message} It is tried again.`);
      said = error.message;
      // Each try may keep callers waiting.
      await sleep(Math.min(RETRY_EVERY_MS, patience / 16));
    }
  }
}

export function movedText({ workspace, from, to, held_ms }: WorkspaceMove): string {
  if (from === to) return `Workspace ${workspace} lives in shard ${to} already.`;
  const waited = held_ms === 0 ? '' : ` Its callers waited up to ${(held_ms / 1_000).toFixed(1)} s.`;
  return `Moved workspace ${workspace} from shard ${from} to shard ${to}.${waited}`;
}
