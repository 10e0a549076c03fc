/** Copies what invoices have settled to PostgreSQL. An adjustment never changes, so that a row that is there is left alone. */
import type { Adjustments } from '@sluice/shared/archive/adjustments';
import type { Database } from '@sluice/shared/archive/database';

export class AdjustmentCopier {
  /** Month → how often it was adjusted when it was copied. A new worker copies all of them once more. */
  readonly #copied = new Map<string, string>();

  constructor(
    private readonly adjustments: Adjustments,
    private readonly database: Database,
    private readonly schema: string,
    /** Creates the tables if they do not exist yet. */
    private readonly prepare: () => Promise<void>,
  ) {}

  async work(): Promise<void> {
    const counts = Object.entries(await this.adjustments.counts());
    const due = counts.filter(([month, count]) => this.#copied.get(month) !== count);
    if (due.length === 0) return;
    await this.prepare();
    for (const [month, count] of due) {
      await this.#copy(month);
      this.#copied.set(month, count);
    }
  }

  async #copy(month: string): Promise<void> {
    const rows = (await this.adjustments.ofMonths([month])).map(({ at, by, ...rest }) => ({
      ...rest,
      made_at: new Date(at).toISOString(),
      made_by: by,
    }));
    await this.database.query(
      `INSERT INTO ${this.schema}.adjustments (id, provider, day, model, amount, made_at, made_by, why)
       SELECT id, provider, day, model, amount, made_at, made_by, why
       FROM jsonb_to_recordset($1::jsonb) AS a(id text, provider text, day date, model text, amount bigint,
         made_at timestamptz, made_by text, why jsonb)
       ON CONFLICT DO NOTHING`,
      [JSON.stringify(rows)],
    );
  }
}
