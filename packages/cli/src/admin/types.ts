/** What the admin api answers with. */
import type { presentKey, presentRoute, presentWorkspace } from '@sluice/api/admin/present';

export interface DeletedWorkspace {
  /** When its history was erased too. */
  erased?: { log_entries: number; ledger_rows: number };
}
export type Workspace = ReturnType<typeof presentWorkspace>;
export type Key = ReturnType<typeof presentKey>;
export type Route = ReturnType<typeof presentRoute>;
export type Limits = Workspace['limits'];

/** The value is in this answer and nowhere else; it is left out when the key was there already. */
export type IssuedKey = Key & { value?: string };
export type RotatedKey = Key & { value: string; replaced: Key };

export interface LimitsInUse extends Limits {
  workspace: string;
  used: {
    month: string;
    in_flight: number;
    spent_usd: string;
    estimated_usd: string;
    reserved_usd: string;
    left_usd: string | null;
  };
}
