/**
 * Maintains the archive's tables: creates them, makes partitions ahead of time, drops old ones, and carries out erasures. It
 * needs a role that owns the tables. Several workers may do it at once, because locks keep them apart.
 */
import { type Database, inTransaction } from '@sluice/shared/archive/database';
import { grantInsertAndSelect, migrate, readVersion, SCHEMA_VERSION } from '@sluice/shared/archive/migrate';
import { SPEND_GROUP, SPEND_SUMS } from '@sluice/shared/archive/spend-of';
import type { ArchiveConfig } from '@sluice/shared/config/gateway-config';
import type { Logger } from '@sluice/shared/process/logger';
import type { Clock } from '@sluice/shared/redis/clock';
import { eraseUser, eraseWorkspace } from './erase-rows.js';
import { dropPartitions, makePartitions } from './partitions.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const UPKEEP_LOCK = 7_401_735;

export interface UpkeepParts {
  /** The connection of the role that owns the tables. */
  owner: Database;
  schema: string;
  /** The role that workers and apis use, if it is another one. */
  writerRole: string | undefined;
  keep: ArchiveConfig;
  clock: Clock;
  logger: Logger;
}

export class Upkeep {
  #prepared = false;
  #upkeptAt = 0;

  constructor(private readonly parts: UpkeepParts) {}

  /** Creates the tables and grants their use, once. */
  async prepare(): Promise<void> {
    if (this.#prepared) return;
    const { owner, schema, writerRole, clock } = this.parts;
    if (await this.#isOwner()) {
      await migrate(owner, schema);
      await makePartitions(owner, schema, clock.now());
      if (writerRole !== undefined) await grantInsertAndSelect(owner, schema, writerRole);
    } else {
      const version = await readVersion(owner, schema);
      if (version < SCHEMA_VERSION)
        throw new Error(
          'the archive’s tables are out of date, and this role may not change them: set DATABASE_OWNER_URL',
        );
    }
    this.#prepared = true;
  }

  /** Carries out erasures at once, and everything else once an hour. */
  async work(): Promise<void> {
    await this.prepare();
    const { owner, schema, clock, keep, logger } = this.parts;
    if (!(await this.#isOwner())) return;
    await this.#erase();
    if (clock.now() - this.#upkeptAt < HOUR_MS) return;
    await makePartitions(owner, schema, clock.now());
    for (const [table, days] of [
      ['requests', keep.keepRequestsDays],
      ['spend', keep.keepSpendDays],
    ] as const) {
      if (days === undefined) continue;
      const dropped = await dropPartitions(owner, schema, table, clock.now() - days * DAY_MS);
      if (dropped.length > 0) logger.info({ dropped }, 'months of the archive are too old and were dropped');
    }
    await this.#merge();
    this.#upkeptAt = clock.now();
  }

  async #isOwner(): Promise<boolean> {
    const { owner, schema } = this.parts;
    const { rows } = await owner.query<{ owns: boolean }>(
      `SELECT pg_has_role(relowner, 'USAGE') AS owns FROM pg_class WHERE oid = to_regclass($1)`,
      [`${schema}.requests`],
    );
    // There are no tables yet, and the role that creates them will own them.
    return rows[0]?.owns ?? true;
  }

  async #erase(): Promise<void> {
    const { owner, schema, logger } = this.parts;
    const { rows } = await owner.query<{ id: string; workspace: string; end_user: string | null }>(
      `SELECT id, workspace, end_user FROM ${schema}.erasures WHERE done_at IS NULL ORDER BY id`,
    );
    for (const { id, workspace, end_user: user } of rows) {
      const entries = await inTransaction(owner, async (connection) => {
        // Nobody merges rows of spend meanwhile.
        await connection.query('SELECT pg_advisory_xact_lock($1)', [UPKEEP_LOCK]);
        const erased = await (user === null
          ? eraseWorkspace(connection, schema, workspace, id)
          : eraseUser(connection, schema, workspace, user, id));
        await connection.query(`UPDATE ${schema}.erasures SET done_at = now() WHERE id = $1`, [id]);
        return erased;
      });
      logger.info({ workspace, entries }, 'erased from the archive');
    }
  }

  /** Merges rows of a quarter of an hour that differ only in their sums. Late rows may stay separate. */
  async #merge(): Promise<void> {
    const { owner, schema, clock } = this.parts;
    const day = [new Date(clock.now() - 26 * HOUR_MS), new Date(clock.now() - HOUR_MS)];
    const { rows } = await owner.query<{ quarter: Date }>(
      `SELECT quarter FROM ${schema}.spend WHERE quarter >= $1 AND quarter < $2 GROUP BY quarter
        HAVING count(*) > 2 * count(DISTINCT (${SPEND_GROUP}))`,
      day,
    );
    for (const { quarter } of rows)
      await inTransaction(owner, async (connection) => {
        await connection.query('SELECT pg_advisory_xact_lock($1)', [UPKEEP_LOCK]);
        await connection.query(
          `WITH parts AS (DELETE FROM ${schema}.spend WHERE quarter = $1 RETURNING *)
           INSERT INTO ${schema}.spend SELECT ${SPEND_GROUP}, ${SPEND_SUMS.map((column) => `sum(${column})`).join(', ')}
             FROM parts GROUP BY ${SPEND_GROUP}`,
          [quarter],
        );
      });
  }
}
