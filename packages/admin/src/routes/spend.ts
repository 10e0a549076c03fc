import { Readable } from 'node:stream';
import type { Router } from '@koa/router';
import type { PresentedSpend, Spend, SpendSums, Statement } from '@sluice/shared/admin-api';
import type { Adjustments } from '@sluice/shared/archive/adjustments';
import type { ProviderConfig } from '@sluice/shared/config/provider';
import { companyAt } from '@sluice/shared/contract/price-lists';
import { spendQuery, statementQuery } from '@sluice/shared/contract/query';
import type { Directory } from '@sluice/shared/directory/directory';
import { noWorkspace } from '@sluice/shared/directory/key-issuer';
import { GatewayError } from '@sluice/shared/errors';
import type { Clock } from '@sluice/shared/redis/clock';
import { formatUsd } from '@sluice/shared/registry/price';
import { seenBy } from '../access/guard.js';
import { readInput } from '../http/read-input.js';
import { type AdjustedRow, readAdjusted } from '../spend/adjusted.js';
import { daysOfMonth } from '../spend/local-day.js';
import { withRest } from '../spend/rest.js';
import { noSums, type SpendQuestion, type SpendResult, type SpendRow } from '../spend/spend.js';
import { FOCUS_FIELDS, focusCsv, spendCsv } from '../spend/spend-export.js';
import { daysOf, needsArchive, toSpendQuestion } from '../spend/spend-question.js';
import { STATEMENT_PARTS, statementCsv, statementPage } from '../spend/statement.js';

const CSV = 'text/csv; charset=utf-8; header=present';
/** The printable page brings its style with it, and nothing else. */
const PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'";

export interface SpendParts {
  directory: Pick<Directory, 'findWorkspace'>;
  providers: ReadonlyMap<string, Pick<ProviderConfig, 'baseUrl'>>;
  clock: Clock;
  adjustments: Adjustments;
  /** From the ledger in Redis. */
  readSpend(question: SpendQuestion): Promise<SpendResult>;
  /** From PostgreSQL, where there is one. */
  readArchiveSpend: ((question: SpendQuestion) => Promise<SpendResult>) | undefined;
}

/** /spend: what was spent, summed; and a workspace's monthly statement. */
export function addSpendRoutes(
  router: Router,
  { directory, providers, clock, adjustments, readSpend, readArchiveSpend }: SpendParts,
): void {
  const read = (question: SpendQuestion): Promise<SpendResult> => {
    if (!needsArchive(question)) return readSpend(question);
    if (readArchiveSpend) return readArchiveSpend(question);
    throw new GatewayError(
      'invalid_request',
      'Keys, tags and time zones need an archive, and this gateway has none: set DATABASE_URL.',
      { param: null },
    );
  };

  /** The archive knows the tags, and the ledger also what came before the archive. What only the ledger has gets no tags. */
  const readTagged = async (asked: SpendQuestion): Promise<SpendResult> => {
    if (!readArchiveSpend) return read(asked);
    const tagged = await readArchiveSpend({ ...asked, by: [...asked.by, 'tags'] });
    if (needsArchive(asked)) return tagged;
    return withRest(tagged, await readSpend(asked));
  };
  const companyOf = (name: string): string => companyAt(providers.get(name)?.baseUrl ?? '') ?? name;

  router.get('/spend', async (ctx) => {
    const query = readInput(spendQuery, ctx.query);
    const { format } = query;
    const question = toSpendQuestion(query, clock.now());
    const workspaces = seenBy(ctx);
    const by = format === 'focus' ? FOCUS_FIELDS : query.by;
    const asked = { ...question, by, ...(workspaces ? { workspaces } : {}) };
    const [answer, adjusted] = await Promise.all([
      format === 'focus' ? readTagged(asked) : read(asked),
      readAdjusted(adjustments, asked),
    ]);
    if (format !== 'json' && !answer.isComplete) throw notComplete();
    const rows = answer.rows.map(presentRow);
    const lines = adjusted.map(presentAdjusted);
    const all = [...rows, ...lines];
    const save = (type: string, name: string, text: Iterable<string>) => {
      ctx.type = type;
      ctx.set('content-disposition', `attachment; filename="${name}"`);
      ctx.body = Readable.from(text);
    };
    if (format === 'csv') save(CSV, 'spend.csv', spendCsv(by, all));
    else if (format === 'focus') save(CSV, 'focus.csv', focusCsv(rows, lines, companyOf));
    else if (format === 'jsonl')
      save(
        'application/x-ndjson',
        'spend.jsonl',
        all.map((row) => `${JSON.stringify(row)}\n`),
      );
    else
      ctx.body = {
        object: 'spend',
        from: question.from,
        to: question.to,
        time_zone: question.timeZone,
        archive: readArchiveSpend !== undefined,
        complete: answer.isComplete,
        by,
        data: rows,
        groups: answer.groups,
        others: answer.others.map(presentRow),
        adjustments: lines,
        total: presentSums(
          answer.total,
          adjusted.reduce((sum, { amount }) => sum + amount, 0n),
        ),
      } satisfies Spend;
  });

  router.get('/workspaces/:id/statement', async (ctx) => {
    const { format, ...asked } = readInput(statementQuery, ctx.query);
    const month = daysOf(asked, clock.now()).to.slice(0, 7);
    const question = { ...daysOfMonth(month), timeZone: asked.tz };
    const workspace = ctx.params.id ?? '';
    const parts = readArchiveSpend
      ? STATEMENT_PARTS
      : STATEMENT_PARTS.filter(({ by }) => !by.includes('key'));
    const readPart = readArchiveSpend ?? read;
    const answers = await Promise.all(
      parts.map(({ by }) => readPart({ ...question, by, filter: { workspace } })),
    );
    const statement = {
      object: 'statement',
      workspace,
      month,
      time_zone: question.timeZone,
      complete: answers.every(({ isComplete }) => isComplete),
      parts: parts.map((part, i) => ({ ...part, data: (answers[i]?.rows ?? []).map(presentRow) })),
      total: presentSums(answers[0]?.total ?? noSums()),
    } satisfies Statement;
    // A workspace that was deleted still has its statements.
    const isEmpty = statement.total.requests + statement.total.unknown_bills === 0;
    if (isEmpty && !(await directory.findWorkspace(workspace))) throw noWorkspace();
    if (format === 'csv' && !statement.complete) throw notComplete();
    if (format === 'json') ctx.body = statement;
    else if (format === 'csv') {
      ctx.type = CSV;
      ctx.set('content-disposition', `attachment; filename="statement-${month}.csv"`);
      ctx.body = [...statementCsv(statement)].join('');
    } else {
      ctx.type = 'text/html; charset=utf-8';
      ctx.set('content-security-policy', PAGE_POLICY);
      ctx.body = statementPage(statement);
    }
  });
}

/** A table in a file has no place to say that something is missing. */
function notComplete(): GatewayError {
  return new GatewayError(
    'service_unavailable',
    'Some of this has not arrived in PostgreSQL yet, and a file would be short of it. Ask for JSON to see what is there.',
    { retryAfterMs: 60_000 },
  );
}

function presentRow({ group, sums }: SpendRow): PresentedSpend {
  return { ...group, ...presentSums(sums) };
}

function presentAdjusted({ group, amount }: AdjustedRow): PresentedSpend {
  return { ...group, ...presentSums(noSums(), amount) };
}

function presentSums(sums: SpendRow['sums'], adjusted = 0n): SpendSums {
  const { requests, cost, input, cached_input, cache_write, output, unknown, estimated } = sums;
  return {
    requests: Number(requests),
    input_tokens: Number(input),
    cached_input_tokens: Number(cached_input),
    cache_write_tokens: Number(cache_write),
    output_tokens: Number(output),
    cost_usd: formatUsd(cost),
    cost_picodollars: String(cost),
    unknown_bills: Number(unknown),
    estimated_usd: formatUsd(estimated),
    estimated_picodollars: String(estimated),
    adjusted_usd: formatUsd(adjusted),
    adjusted_picodollars: String(adjusted),
  };
}
