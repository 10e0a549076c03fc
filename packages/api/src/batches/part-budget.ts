/** The budget of the lines that are handed to a provider's own batch API. A part of a batch has one reservation. */
import { type ChatRequest, requestOf } from '@sluice/shared/chat';
import type { ProviderConfig } from '@sluice/shared/config/provider';
import type { ChainEntry } from '@sluice/shared/contract/route';
import type { HandedPart } from '@sluice/shared/queue/provider-batches';
import type { WorkspaceLimits } from '@sluice/shared/queue/workspace-limits';
import type { Clock } from '@sluice/shared/redis/clock';
import type { CostEstimate } from '@sluice/shared/registry/cost-estimate';
import type { DirectoryCache } from '../cell/directory-cache.js';

/** A process that dies before it has recorded the part leaves the reservation for this long. */
const UNRECORDED_MS = 60_000;

export interface PartBudgetParts {
  directory: DirectoryCache;
  limits: WorkspaceLimits;
  estimate: CostEstimate;
  providers: ReadonlyMap<string, ProviderConfig>;
  clock: Clock;
}

export class PartBudget {
  constructor(private readonly parts: PartBudgetParts) {}

  /**
   * Returns what the line may cost in a batch of this entry's provider, in picodollars. Undefined when the workspace's limits
   * may refuse the line. The request itself finds that out.
   */
  async costOf(workspace: string, entry: ChainEntry, request: ChatRequest): Promise<number | undefined> {
    const { directory, estimate, providers } = this.parts;
    const record = await directory.findWorkspace(workspace);
    if (!record) return undefined;
    const { limits, models } = record;
    const { budgetUsdPerMonth, unpricedModels, budget = 'strict' } = limits;
    // The lines of a part may belong to different end users and tags.
    if (limits.budgets?.length) return undefined;
    const hasBudget = budgetUsdPerMonth !== undefined;
    if (models !== undefined && unpricedModels !== 'allow' && estimate.unknownField([entry], request))
      return undefined;
    const refusesUnpriced = (unpricedModels ?? (hasBudget ? 'refuse' : 'allow')) === 'refuse';
    if (!hasBudget && !refusesUnpriced) return 0;
    const { retries: _, ...once } = entry;
    const { cost, unpriced } = estimate.ofChain([once], request, budget);
    if (refusesUnpriced && unpriced !== undefined) return undefined;
    return hasBudget ? Math.ceil(cost * (providers.get(entry.provider)?.batchPriceFactor ?? 1)) : 0;
  }

  /** Returns what a line may have cost whose bill nobody knows, in picodollars. */
  estimateOf({ entry, endpoint }: HandedPart, body: string): number {
    const { estimate, providers } = this.parts;
    const factor = providers.get(entry.provider)?.batchPriceFactor ?? 1;
    return Math.ceil(estimate.ofCall(requestOf({ endpoint }, JSON.parse(body)), entry) * factor);
  }

  /** Whether the budget covers the part. The step that records the part takes the reservation over. */
  async reserve({ id, workspace, reserved }: HandedPart): Promise<boolean> {
    const { directory, limits, clock } = this.parts;
    const found = (await directory.findWorkspace(workspace))?.limits;
    if (reserved === undefined || found?.budgetUsdPerMonth === undefined) return true;
    const now = clock.now();
    const estimates = { strict: reserved, expected: reserved };
    const asked = { requestId: id, workspace, inbox: '', keyId: '', estimates, now, mostWaitMs: 0 };
    const { budgetUsdPerMonth, budget } = found;
    const answer = await limits.admit(
      { ...asked, deadline: now + UNRECORDED_MS },
      { budgetUsdPerMonth, budget },
    );
    return answer.as === 'admitted';
  }

  /** The part was not recorded after all. */
  async release({ id, workspace, reserved }: HandedPart): Promise<void> {
    if (reserved !== undefined) await this.parts.limits.release(workspace, id, reserved);
  }
}
