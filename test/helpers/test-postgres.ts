import { findPostgres } from '@sluice/cli/start/find-postgres';
import { type PostgresServer, startPostgres } from '@sluice/cli/start/postgres-server';
import { withParent } from './with-parent.js';

/** The PostgreSQL of this machine as a server of this process alone: it ends with it. */
export function startTestPostgres(
  folder: string,
  port?: number,
  more: readonly string[] = [],
): Promise<PostgresServer> {
  return startPostgres({
    programs: findPostgres() ?? '',
    folder,
    ...(port === undefined ? {} : { port }),
    wrapper: withParent(),
    settings: ['fsync=off', 'shared_buffers=16MB', 'max_connections=40', 'autovacuum=off', ...more],
  });
}
