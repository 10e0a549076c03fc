/** Admits a request under its workspace's own limits. A workspace without limits pays nothing for this. */

import type { ChatRequest } from '@sluice/shared/chat';
import type { ProviderConfig } from '@sluice/shared/config/provider';
import type { LimitsConfig } from '@sluice/shared/contract/limits';
import type { WorkspaceRecord } from '@sluice/shared/directory/directory';
import { GatewayError } from '@sluice/shared/errors';
import type { ChatJob } from '@sluice/shared/queue/job';
import { isLimited, type WorkspaceLimits } from '@sluice/shared/queue/workspace-limits';
import type { Clock } from '@sluice/shared/redis/clock';
import type { CostEstimate } from '@sluice/shared/registry/cost-estimate';
import { shownField } from '@sluice/shared/registry/known-fields';
import { estimateTokens, hasRateLimits } from '@sluice/shared/registry/token-estimate';
import type { DirectoryCache } from '../cell/directory-cache.js';
import type { KnownRefusals } from '../http/known-refusals.js';

/** Why the workspace may not send it now. */
type Admitted = GatewayError | undefined;

export class Admission {
  constructor(
    private readonly directory: DirectoryCache,
    private readonly limits: WorkspaceLimits,
    private readonly estimate: CostEstimate,
    private readonly clock: Clock,
    private readonly knownRefusals: KnownRefusals,
    private readonly providers: ReadonlyMap<string, ProviderConfig>,
  ) {}

  /** Completes the job and reserves what it may take. A workspace without limits waits for nothing. */
  admit(job: ChatJob, request: ChatRequest): Admitted | Promise<Admitted> {
    const known = this.directory.knownWorkspace(job.workspace);
    if (known) return this.#admitTo(known, job, request);
    return this.directory
      .findWorkspace(job.workspace)
      .then((found) => (found ? this.#admitTo(found, job, request) : undefined));
  }

  #admitTo(workspace: WorkspaceRecord, job: ChatJob, request: ChatRequest): Admitted | Promise<Admitted> {
    const { limits } = workspace;
    this.#addTokens(job, request, limits);
    if (limits.weight !== undefined) job.weight = limits.weight;
    if (workspace.models !== undefined && limits.unpricedModels !== 'allow') {
      const field = this.estimate.unknownField(job.chain, request);
      if (field !== undefined) return mayChooseModel(field);
    }
    return isLimited(limits) ? this.#reserve(workspace, job, request) : undefined;
  }

  async #reserve(workspace: WorkspaceRecord, job: ChatJob, request: ChatRequest): Promise<Admitted> {
    const { limits } = workspace;
    const hasBudget = limits.budgetUsdPerMonth !== undefined;
    const refusesUnpriced = (limits.unpricedModels ?? (hasBudget ? 'refuse' : 'allow')) === 'refuse';
    const budget = limits.budget ?? 'strict';
    let reserved = 0;
    if (hasBudget || refusesUnpriced) {
      const ends = { from: this.clock.now(), until: job.deadline };
      const { cost, unpriced } = this.estimate.ofChain(job.chain, request, budget, ends);
      if (refusesUnpriced && unpriced !== undefined) return noPrice(unpriced);
      if (hasBudget) reserved = cost;
    }
    const { requestId, deadline } = job;
    const asked = {
      requestId,
      workspace: workspace.id,
      estimate: reserved,
      now: this.clock.now(),
      deadline,
    };
    const refused = await this.limits.admit(asked, limits);
    if (refused) {
      this.knownRefusals.record(workspace, refused);
      return refused;
    }
    job.reserved = reserved;
    if (hasBudget) job.budget = budget;
    return undefined;
  }

  /** Adds the tokens that a call will most likely take, if a limit per minute concerns the job. */
  #addTokens(job: ChatJob, request: ChatRequest, { tokensPerMinute }: LimitsConfig): void {
    const isLimited = job.chain.some(({ provider }) => hasRateLimits(this.providers.get(provider)));
    if (!isLimited && tokensPerMinute === undefined) return;
    job.tokens = estimateTokens(request);
    if (tokensPerMinute !== undefined) job.tokensPerMinute = tokensPerMinute;
  }

  /**
   * Admits a request that gets the answer of another one. It costs nothing, but counts like any other. Returns why the
   * workspace may not send it now, or a function that gives its place back.
   */
  async admitFollower({
    requestId,
    workspace,
    deadline,
  }: Pick<ChatJob, 'requestId' | 'workspace' | 'deadline'>): Promise<GatewayError | (() => void)> {
    const limits = (await this.directory.findWorkspace(workspace))?.limits;
    if ((limits?.requestsPerMinute ?? limits?.concurrentRequests) === undefined) return () => {};
    const asked = { requestId, workspace, estimate: 0, now: this.clock.now(), deadline };
    const refused = await this.limits.admit(asked, {
      ...limits,
      budgetUsdPerMonth: undefined,
    } as LimitsConfig);
    // While Redis is away the place cannot be given back. It lapses by itself.
    return refused ?? (() => void this.limits.leave(asked).catch(() => {}));
  }
}

function noPrice(unpriced: string): GatewayError {
  return new GatewayError(
    'budget_exceeded',
    `This workspace may only use what has a known price: ${unpriced}.`,
    { param: 'model', reason: 'no_price' },
  );
}

/** Refuses a field such as OpenRouter's `models`, which names other models than the one that was checked. */
function mayChooseModel(field: string): GatewayError {
  return new GatewayError(
    'invalid_request',
    `This workspace may use some models only, and the gateway does not know whether the field ${shownField(field)} chooses another one.`,
    { param: shownField(field), reason: 'model_not_allowed' },
  );
}
