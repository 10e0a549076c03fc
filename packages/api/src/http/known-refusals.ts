/**
 * Workspaces that were at one of their limits a moment ago. A large body of such a workspace is refused by its headers,
 * because reading and parsing it costs far more. A small body is checked again, since a place may be free by now.
 */
import type { WorkspaceRecord } from '@sluice/shared/directory/directory';
import { GatewayError } from '@sluice/shared/errors';

/** Reading and parsing a body of this size costs about as much as asking Redis. */
const SMALL_BODY_BYTES = 65_536;

interface Refusal {
  error: GatewayError;
  /** By `performance.now()`. */
  until: number;
  /** The limits that were reached. If the limits change, the refusal no longer holds. */
  limits: WorkspaceRecord['limits'];
}

export class KnownRefusals {
  readonly #refusals = new Map<string, Refusal>();

  record({ id, limits }: WorkspaceRecord, error: GatewayError): void {
    if (error.retryAfterMs === undefined) return;
    this.#refusals.set(id, { error, until: performance.now() + error.retryAfterMs, limits });
  }

  /** Why the workspace is still refused. `retry-after` says for how long. */
  of(workspace: WorkspaceRecord): GatewayError | undefined {
    const known = this.#refusals.get(workspace.id);
    if (!known) return undefined;
    const retryAfterMs = known.until - performance.now();
    if (retryAfterMs > 0 && known.limits === workspace.limits)
      return new GatewayError(known.error.code, known.error.message, {
        retryAfterMs,
        reason: known.error.reason,
      });
    this.#refusals.delete(workspace.id);
    return undefined;
  }
}

export interface RefuseLargeParts {
  knownRefusals: KnownRefusals;
  directory: { findWorkspace(id: string): Promise<WorkspaceRecord | undefined> };
  metrics: { refusedByWorkspace(): void };
}

/** A body without a length may be large. */
export function mayBeLarge(length: number | undefined): boolean {
  return length === undefined || length > SMALL_BODY_BYTES;
}

/** Throws the refusal of a large body whose workspace is known to be at a limit. */
export async function refuseLarge(
  { knownRefusals, directory, metrics }: RefuseLargeParts,
  workspace: string,
): Promise<void> {
  const record = await directory.findWorkspace(workspace);
  const refusal = record && knownRefusals.of(record);
  if (!refusal) return;
  metrics.refusedByWorkspace();
  throw refusal;
}
