import { Readable } from 'node:stream';
import type { Router } from '@koa/router';
import type { AuditPage, AuditRecord } from '@sluice/shared/admin-api';
import { auditRecord } from '@sluice/shared/contract/access';
import { type AuditKind, auditExportQuery, auditQuery } from '@sluice/shared/contract/query';
import type { Directory } from '@sluice/shared/directory/directory';
import type { ParameterizedContext } from 'koa';
import type { AuditEntry, AuditTrail } from '../access/audit.js';
import { principalOf } from '../access/guard.js';
import { workspacesOf } from '../access/principal.js';
import { csvLine } from '../http/csv.js';
import { list } from '../http/present.js';
import { readInput } from '../http/read-input.js';

const CHUNK = 250;

const { object: _, cursor: __, ...columns } = auditRecord.schema;
const COLUMNS = Object.keys(columns) as (keyof typeof columns)[];

type IsSeen = (entry: AuditEntry, at: number) => boolean;

export interface AuditParts {
  audit: AuditTrail;
  directory: Pick<Directory, 'listWorkspaces'>;
}

/** /audit: who has changed what, and who has signed in. */
export function addAuditRoutes(router: Router, { audit, directory }: AuditParts): void {
  /** Somebody with a role in some workspaces sees the changes in these workspaces, but no sign-ins. */
  const seenBy = async (ctx: ParameterizedContext): Promise<IsSeen> => {
    const own = workspacesOf(principalOf(ctx), 'admin');
    if (!own) return () => true;
    // Older changes are those of a deleted workspace that had the id before.
    const since = new Map((await directory.listWorkspaces()).map(({ id, created }) => [id, created]));
    return ({ workspace }, at) =>
      workspace !== null && own.has(workspace) && at >= (since.get(workspace) ?? 0);
  };

  router.get('/audit', async (ctx) => {
    const { kind, limit, before, path, search = '' } = readInput(auditQuery, ctx.query);
    const data: AuditRecord[] = [];
    for await (const each of read(audit, kind, await seenBy(ctx), before)) {
      const place = decoded(each.path);
      if (path !== undefined && place !== decoded(path)) continue;
      if (!`${place}\n${each.who ?? ''}`.toLowerCase().includes(search.toLowerCase())) continue;
      data.push(each);
      if (data.length > limit) break;
    }
    const hasMore = data.length > limit;
    const shown = data.slice(0, limit);
    const next = hasMore ? (shown.at(-1)?.cursor ?? null) : null;
    ctx.body = { ...list(shown), has_more: hasMore, next_before: next } satisfies AuditPage;
  });

  router.get('/audit/export', async (ctx) => {
    const { kind, format } = readInput(auditExportQuery, ctx.query);
    const isCsv = format === 'csv';
    ctx.type = isCsv ? 'text/csv; charset=utf-8; header=present' : 'application/x-ndjson';
    ctx.set('content-disposition', `attachment; filename="audit.${isCsv ? 'csv' : 'jsonl'}"`);
    const records = read(audit, kind, await seenBy(ctx));
    ctx.body = Readable.from(isCsv ? toCsv(records) : toJsonLines(records));
  });
}

async function* read(
  audit: AuditTrail,
  kind: AuditKind,
  isSeen: IsSeen,
  before?: string,
): AsyncGenerator<AuditRecord> {
  let cursor = before;
  for (;;) {
    const chunk = await audit.page(kind, CHUNK, cursor);
    for (const [id, entry] of chunk) if (isSeen(entry, timeOf(id))) yield present(id, entry);
    if (chunk.length < CHUNK) return;
    cursor = chunk.at(-1)?.[0];
  }
}

function present(id: string, { requestId, ...entry }: AuditEntry): AuditRecord {
  return {
    object: 'audit',
    cursor: id,
    at: new Date(timeOf(id)).toISOString(),
    ...entry,
    before: entry.before ?? null,
    after: entry.after ?? null,
    request_id: requestId,
  };
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function timeOf(id: string): number {
  return Number(id.split('-')[0]);
}

async function* toJsonLines(records: AsyncGenerator<AuditRecord>): AsyncGenerator<string> {
  for await (const record of records) yield `${JSON.stringify(record)}\n`;
}

async function* toCsv(records: AsyncGenerator<AuditRecord>): AsyncGenerator<string> {
  yield csvLine([...COLUMNS]);
  for await (const record of records)
    yield csvLine(
      COLUMNS.map((column) => {
        const value = record[column];
        return value !== null && typeof value === 'object' ? JSON.stringify(value) : (value as string);
      }),
    );
}
