import type { Router } from '@koa/router';
import type { PresentedSpend, Spend, SpendField, SpendSums } from '@sluice/shared/admin-api';
import { dayOf } from '@sluice/shared/calendar';
import { type ConfigReader, isAbsent } from '@sluice/shared/config/reader';
import type { Clock } from '@sluice/shared/redis/clock';
import { formatUsd } from '@sluice/shared/registry/price';
import { seenBy } from '../access/guard.js';
import { readInput } from '../read-input.js';
import { readMoment } from '../read-moment.js';
import { SPEND_FIELDS, type SpendAnswer, type SpendQuestion, type SpendRow } from '../spend.js';

const DEFAULT_DAYS = 30;
const MAX_DAYS = 3_660;
const DAY_MS = 86_400_000;
const TEXT = { pattern: /^[^\p{Cc}]{1,256}$/u, allowed: 'a text of 1 to 256 characters' };
const TOP = { pattern: /^[1-9]\d{0,3}$/, allowed: 'a whole number from 1 to 9999' };
const FILTERS = SPEND_FIELDS.filter((name) => name !== 'day');

export interface SpendParts {
  clock: Clock;
  readSpend(question: SpendQuestion): Promise<SpendAnswer>;
}

/** /spend: the ledger, summed. */
export function addSpendRoutes(router: Router, { clock, readSpend }: SpendParts): void {
  router.get('/spend', async (ctx) => {
    const question = readInput((reader) => {
      const query = reader.fields(ctx.query, '', ['since', 'until', 'by', 'top', ...FILTERS]);
      const now = clock.now();
      const until = readMoment(reader, query?.until, 'until', now) ?? now;
      const since = readMoment(reader, query?.since, 'since', now) ?? until - (DEFAULT_DAYS - 1) * DAY_MS;
      if (until - since > MAX_DAYS * DAY_MS)
        reader.fault('since', `must be at most ${MAX_DAYS} days before until`);
      if (since > until) reader.fault('since', 'must not be after until');
      const isValid = reader.faults.length === 0;
      return {
        from: isValid ? dayOf(since) : '',
        to: isValid ? dayOf(until) : '',
        by: readBy(reader, query?.by),
        ...readTop(reader, query?.top),
        filter: Object.fromEntries(
          FILTERS.filter((name) => !isAbsent(query?.[name])).map((name) => [
            name,
            reader.text(query?.[name], name, TEXT),
          ]),
        ),
      };
    });
    const workspaces = seenBy(ctx);
    const { rows, total, others, groups } = await readSpend({
      ...question,
      ...(workspaces ? { workspaces } : {}),
    });
    ctx.body = {
      object: 'spend',
      from: question.from,
      to: question.to,
      by: question.by,
      data: rows.map(presentRow),
      groups,
      others: others.map(presentRow),
      total: presentSums(total),
    } satisfies Spend;
  });
}

function readBy(reader: ConfigReader, value: unknown): SpendField[] {
  const names = isAbsent(value) ? ['workspace'] : typeof value === 'string' ? value.split(',') : [''];
  const fields = names.map((name) => reader.oneOf(name, 'by', SPEND_FIELDS));
  return [...new Set(fields.filter((field) => field !== undefined))];
}

function readTop(reader: ConfigReader, value: unknown): { top?: number } {
  if (isAbsent(value)) return {};
  return { top: Number(reader.text(value, 'top', TOP)) };
}

function presentRow({ group, sums }: SpendRow): PresentedSpend {
  return { ...group, ...presentSums(sums) };
}

function presentSums(sums: SpendRow['sums']): SpendSums {
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
  };
}
