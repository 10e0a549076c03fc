/**
 * The audit trail has every change that was made or refused: by whom, from where, and the state before and after. Sign-ins
 * have their own stream, so that nobody can push changes out of the trail by trying tokens. Both streams are bounded.
 */

import type { Identified } from '@sluice/api/http/request-id';
import type { AuditKind } from '@sluice/shared/contract/query';
import { CUT } from '@sluice/shared/contract/undo';
import type { Logger } from '@sluice/shared/process/logger';
import type { ControlNames } from '@sluice/shared/redis/key-names';
import type { Redis } from 'ioredis';
import type { Middleware, ParameterizedContext } from 'koa';
import type { Admitted } from './asker.js';
import { addressOf } from './client-address.js';
import type { Permission } from './permissions.js';

const MAX_ENTRIES: Record<AuditKind, number> = { changes: 20_000, sign_ins: 5_000 };
/** The most characters of the state before and of the state after. */
const MAX_STATE_CHARACTERS = 4_000;
const MAX_TEXT = 256;
/** More than the longest name of a route needs, also when all its characters are encoded. */
const MAX_PATH = 1_000;

export interface AuditEntry {
  /** `PUT /workspaces/{id}/routes/{alias}`, or `sign in by token`. */
  action: string;
  /** The path of the request. */
  path: string;
  /** The name of a person or token. Null: not known. */
  who: string | null;
  via: string | null;
  /** The id of a session or a token. */
  credential: string | null;
  address: string;
  requestId: string;
  workspace: string | null;
  /** 2xx: the change was made. */
  status: number;
  before?: unknown;
  after?: unknown;
}

/** What a route records about its change. It must not contain a secret. */
export interface Change {
  before?: unknown;
  after?: unknown;
  /** Set when the path does not name the workspace. */
  workspace?: string;
}

interface Noted {
  change?: Change;
}

export function noteChange(ctx: ParameterizedContext, change: Change): void {
  const state = ctx.state as Noted;
  state.change = { ...state.change, ...change };
}

export class AuditTrail {
  constructor(
    private readonly redis: Redis,
    private readonly names: ControlNames,
    private readonly logger: Logger,
  ) {}

  /** Never throws: the change is made already, and a missing record must not turn the answer into an error. */
  async write(kind: AuditKind, entry: AuditEntry): Promise<void> {
    const { before, after, ...rest } = entry;
    const text = JSON.stringify({ ...rest, before: bounded(before), after: bounded(after) });
    const key = this.names.audit(kind);
    await this.redis
      .xadd(key, 'MAXLEN', '~', MAX_ENTRIES[kind], '*', 'entry', text)
      .catch((error: unknown) =>
        this.logger.error(
          { error: String(error), action: entry.action, path: entry.path, who: entry.who },
          'the audit trail could not be written',
        ),
      );
  }

  /** The entries before this cursor, newest first. */
  async page(kind: AuditKind, limit: number, before: string | undefined): Promise<[string, AuditEntry][]> {
    const end = before === undefined ? '+' : `(${before}`;
    return (await this.redis.xrevrange(this.names.audit(kind), end, '-', 'COUNT', limit)).map(parse);
  }

  /** Wraps a route and records every change, made or refused. */
  around(action: string, { readsOnly }: Permission): Middleware {
    if (readsOnly || action.startsWith('GET ')) return (_, next) => next();
    return async (ctx, next) => {
      const record = (status: number) => this.write('changes', { ...entryOf(ctx, action), status });
      try {
        await next();
      } catch (error) {
        await record(statusOf(error));
        throw error;
      }
      await record(ctx.status);
    };
  }
}

/** The fields that every entry has. */
export function entryOf(ctx: ParameterizedContext, action: string): Omit<AuditEntry, 'status'> {
  const { asker, change = {}, requestId } = ctx.state as Partial<Admitted> & Noted & Identified;
  const inPath = /^\/workspaces\/([^/]+)/.exec(ctx.path)?.[1];
  const created = (change.after as { id?: string } | undefined)?.id;
  const { workspace = inPath ?? (action === 'POST /workspaces' ? created : undefined), ...states } = change;
  return {
    action,
    path: ctx.path.length > MAX_PATH ? ctx.path.slice(0, MAX_PATH) + CUT : ctx.path,
    who: asker?.principal.name ?? null,
    via: asker?.principal.via ?? null,
    credential: asker?.session?.id ?? asker?.principal.tokenId ?? null,
    address: addressOf(ctx),
    requestId: `req_${requestId}`,
    workspace: workspace === undefined ? null : safelyDecoded(workspace).slice(0, MAX_TEXT),
    ...states,
  };
}

function bounded(state: unknown): unknown {
  if (state === undefined) return null;
  const text = JSON.stringify(state);
  return text.length <= MAX_STATE_CHARACTERS ? state : { shortened: text.slice(0, MAX_STATE_CHARACTERS) };
}

function statusOf(error: unknown): number {
  return error instanceof Error && 'status' in error && typeof error.status === 'number' ? error.status : 500;
}

function safelyDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function parse([id, fields]: [string, string[]]): [string, AuditEntry] {
  return [id, JSON.parse(fields[1] ?? '{}') as AuditEntry];
}
