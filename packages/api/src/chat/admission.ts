/** Admits a request under its workspace's own limits. A workspace without limits pays nothing for this. */

import type { ChatRequest } from '@sluice/shared/chat';
import type { ProviderConfig } from '@sluice/shared/config/provider';
import { type Budget, sameBudget } from '@sluice/shared/contract/budget';
import type { BudgetMode, LimitsConfig } from '@sluice/shared/contract/limits';
import { waitUntil } from '@sluice/shared/contract/priority';
import type { WorkspaceRecord } from '@sluice/shared/directory/directory';
import { GatewayError } from '@sluice/shared/errors';
import type { AnnouncedLimits } from '@sluice/shared/queue/announced-limits';
import { type Counter, hasBudget, modeOf, type Spender } from '@sluice/shared/queue/budgets';
import type { InboxMessage } from '@sluice/shared/queue/inbox';
import type { ChatJob } from '@sluice/shared/queue/job';
import type { UsualOutputs } from '@sluice/shared/queue/usual-output';
import {
  type Admitted,
  isLimited,
  type LimitedRequest,
  NO_ESTIMATE,
  type WorkspaceLimits,
  whyNeverCovered,
} from '@sluice/shared/queue/workspace-limits';
import type { Clock } from '@sluice/shared/redis/clock';
import { allowedOutput } from '@sluice/shared/registry/call-estimate';
import type { CostEstimate } from '@sluice/shared/registry/cost-estimate';
import { shownField } from '@sluice/shared/registry/known-fields';
import { estimateTokens, hasRateLimits } from '@sluice/shared/registry/token-estimate';
import type { DirectoryCache } from '../cell/directory-cache.js';
import type { KnownRefusals } from '../http/known-refusals.js';
import { hungUp } from '../http/report-errors.js';
import { resolveModel } from './resolve-model.js';
import type { TokenHabits } from './token-habits.js';

/**
 * How often a request that waits asks again. This tells Redis that its process lives, and finds what no message tells: a lapsed
 * reservation, or a larger budget.
 */
const ASK_EVERY_MS = 5_000;
/** What is reserved lapses when its job is not queued for this long: the process is gone, or stands still. */
const UNQUEUED_MS = 15_000;

/** Why the workspace may not send it now. */
type Refusal = GatewayError | undefined;

type Decided = Exclude<Admitted, { as: 'waits' }>;

/** What a request asks for, under which limits, or why it may not be sent at all. */
type Wanted = { asked: LimitedRequest; limits: LimitsConfig } | GatewayError;

/** A request that waits for room under its workspace's limits, or for its turn in a limit per minute. */
interface Waiter {
  isTold: boolean;
  hasLeft: boolean;
  wake(): void;
}

type EstimatedJob = Pick<ChatJob, 'workspace' | 'route' | 'chain' | 'deadline'>;
/** What a spent budget may change. */
type RoutedJob = Pick<
  ChatJob,
  'workspace' | 'requestId' | 'model' | 'route' | 'chain' | 'onCrash' | 'insteadOf'
>;

/** `spent`: the budgets that send the request to another route. */
export type Foreseen = Required<Pick<LimitedRequest, 'estimates' | 'spent'>>;

export class Admission {
  readonly #waiters = new Map<string, Waiter>();

  constructor(
    private readonly directory: DirectoryCache,
    private readonly limits: WorkspaceLimits,
    private readonly estimate: CostEstimate,
    private readonly clock: Clock,
    private readonly knownRefusals: KnownRefusals,
    private readonly providers: ReadonlyMap<string, ProviderConfig>,
    private readonly usual: Pick<UsualOutputs, 'of'>,
    private readonly announced: Pick<AnnouncedLimits, 'has'>,
    private readonly habits: Pick<TokenHabits, 'adjust'>,
  ) {}

  /** Completes the job and reserves what it may take. A workspace without limits waits for nothing. */
  admit(job: ChatJob, request: ChatRequest): Refusal | Promise<Refusal> {
    const known = this.directory.knownWorkspace(job.workspace);
    if (known) return this.#admitTo(known, job, request);
    return this.directory
      .findWorkspace(job.workspace)
      .then((found) => (found ? this.#admitTo(found, job, request) : undefined));
  }

  /** A script has made room for a request that waits here. */
  receive(message: InboxMessage): boolean {
    if (message.kind !== 'room') return false;
    const waiter = this.#waiters.get(message.requestId);
    if (waiter) {
      waiter.isTold = true;
      waiter.wake();
    }
    return true;
  }

  /** The caller is gone, and its request does not wait any longer. */
  leave(requestId: string): void {
    const waiter = this.#waiters.get(requestId);
    if (!waiter) return;
    waiter.hasLeft = true;
    waiter.wake();
  }

  #admitTo(workspace: WorkspaceRecord, job: ChatJob, request: ChatRequest): Refusal | Promise<Refusal> {
    const { limits } = workspace;
    this.#addTokens(job, request, limits);
    if (limits.weight !== undefined) job.weight = limits.weight;
    const refused = this.#mayChoose(workspace, job, request);
    if (refused) return refused;
    return isLimited(limits) ? this.#reserve(workspace, job, request) : undefined;
  }

  /**
   * Why the workspace may not send this request at any time, even while nothing of its budgets is spent. Else what it may cost,
   * and which budgets send it to another route, because too little is left of them. The job is one of that route then.
   */
  async foresee(
    workspace: WorkspaceRecord,
    job: EstimatedJob & RoutedJob & Spender,
    request: ChatRequest,
    leftOf: (counter: Counter) => bigint,
  ): Promise<GatewayError | Foreseen> {
    const { limits } = workspace;
    const spent: Budget[] = [];
    for (;;) {
      const estimates = this.#estimate(limits, job, request);
      const refused = this.#mayChoose(workspace, job, request);
      if (refused || estimates instanceof GatewayError) return refused ?? (estimates as GatewayError);
      const answer = whyNeverCovered({ ...job, estimates, now: this.clock.now(), spent }, limits, leftOf);
      if (!answer) return { estimates, spent };
      if (!(await this.#takeOtherRoute(job, answer, spent))) return answer.error;
    }
  }

  #mayChoose(
    { models, limits }: WorkspaceRecord,
    { chain }: Pick<ChatJob, 'chain'>,
    request: ChatRequest,
  ): Refusal {
    if (models === undefined || limits.unpricedModels === 'allow') return undefined;
    const field = this.estimate.unknownField(chain, request);
    return field === undefined ? undefined : mayChooseModel(field);
  }

  async #reserve(workspace: WorkspaceRecord, job: ChatJob, request: ChatRequest): Promise<Refusal> {
    const spent: Budget[] = [];
    for (;;) {
      let { limits } = workspace;
      const want = () => this.#want(limits, job, request, spent);
      const wantAnew = async () => {
        limits = (await this.directory.findWorkspace(job.workspace))?.limits ?? limits;
        return want();
      };
      const answer = await this.#ask(want(), wantAnew, (ms) => {
        job.queueMs += ms;
      });
      if (answer.as === 'refused') {
        if (await this.#takeOtherRoute(job, answer, spent)) continue;
        if (answer.error.code === 'rate_limited') this.knownRefusals.record(workspace, answer.error);
        return answer.error;
      }
      job.reserved = answer.reserved;
      if (answer.held !== '') job.held = answer.held;
      if (hasBudget(limits)) {
        job.budget = modeOf(limits);
        if (modesOf(limits).includes('expected')) this.#learn(job, request);
      }
      return undefined;
    }
  }

  #want(limits: LimitsConfig, job: ChatJob, request: ChatRequest, spent: Budget[]): Wanted {
    const estimates = this.#estimate(limits, job, request);
    if (estimates instanceof GatewayError) return estimates;
    const { requestId, workspace, deadline, keyId, user, tags, inbox } = job;
    const now = this.clock.now();
    const asked: LimitedRequest = {
      ...{ requestId, workspace, inbox, keyId, user, tags, estimates, now, deadline, spent },
      mostWaitMs: this.#mostWaitMs(limits, job, now),
      unqueuedMs: UNQUEUED_MS,
      inBatch: job.batch !== undefined,
    };
    // A request that has time would hold a place for hours, which it does not need while it waits.
    const isAlone = job.plan !== undefined && job.batch === undefined;
    return { asked, limits: isAlone ? { ...limits, concurrentRequests: undefined } : limits };
  }

  /** What the request may cost, or why it may not be sent at all. */
  #estimate(
    limits: LimitsConfig,
    job: EstimatedJob,
    request: ChatRequest,
  ): LimitedRequest['estimates'] | GatewayError {
    const isBudgeted = hasBudget(limits);
    const refusesUnpriced = (limits.unpricedModels ?? (isBudgeted ? 'refuse' : 'allow')) === 'refuse';
    if (!isBudgeted && !refusesUnpriced) return NO_ESTIMATE;
    const modes = modesOf(limits);
    const ends = { from: this.clock.now(), until: job.deadline };
    const estimates = { strict: 0, expected: 0 };
    for (const mode of modes) {
      const usualOutput = mode === 'expected' ? this.usual.of(job.workspace, job.route) : undefined;
      const { cost, unpriced } = this.estimate.ofChain(job.chain, request, mode, { ends, usualOutput });
      if (refusesUnpriced && unpriced !== undefined) return noPrice(unpriced);
      estimates[mode] = cost;
    }
    return isBudgeted ? estimates : NO_ESTIMATE;
  }

  /**
   * A request waits for as long as for a turn at the provider. No caller waits for a line of a batch, so it is not refused at
   * once; but it does not wait until its deadline, because then there would be no time to run it.
   */
  #mostWaitMs({ whenFull }: LimitsConfig, job: ChatJob, now: number): number {
    const inBatch = job.batch !== undefined;
    if (whenFull === 'refuse' && !inBatch) return 0;
    const { provider = '' } = job.chain[0] ?? {};
    const { deadline } = job;
    // The caller waits for the 202 only.
    const asked = inBatch || job.plan || job.inBackground ? { deadline } : job;
    return waitUntil(asked, now, this.providers.get(provider)?.maxWaitMs ?? 0) - now;
  }

  /** Asks for room, and waits where others hold it. `wantAnew`: limits may be changed, and windows end, while it waits. */
  async #ask(
    first: Wanted,
    wantAnew: () => Promise<Wanted>,
    onWaited: (ms: number) => void,
  ): Promise<Decided> {
    let wanted = first;
    if (wanted instanceof GatewayError) return { as: 'refused', error: wanted };
    const { requestId, workspace, mostWaitMs } = wanted.asked;
    if (mostWaitMs <= 0) return (await this.limits.admit(wanted.asked, wanted.limits)) as Decided;
    const waiter: Waiter = { isTold: false, hasLeft: false, wake: () => {} };
    // The waiter is registered before Redis knows of it, because the message may come at once.
    this.#waiters.set(requestId, waiter);
    try {
      const began = performance.now();
      const left = () => began + mostWaitMs - performance.now();
      let answer = await this.limits.admit(wanted.asked, wanted.limits);
      const turnAt = began + (answer.as === 'refused' ? 0 : answer.turnMs);
      const waits = answer.as === 'waits' || performance.now() < turnAt;
      while (answer.as === 'waits' && !waiter.hasLeft) {
        await hear(waiter, Math.min(left(), ASK_EVERY_MS));
        if (waiter.hasLeft) break;
        const again = ({ asked, limits }: Exclude<Wanted, GatewayError>) => {
          const turnMs = Math.max(0, turnAt - performance.now());
          return this.limits.admit(
            {
              ...asked,
              mostWaitMs: Math.max(0, left()),
              unqueuedMs: asked.unqueuedMs && asked.unqueuedMs + turnMs,
            },
            limits,
            left() > 0 ? 'again' : 'last',
          );
        };
        const { isTold } = waiter;
        waiter.isTold = false;
        // What was reserved for it has the names that it has asked with.
        if (isTold) answer = await again(wanted);
        if (isTold && answer.as === 'admitted') break;
        const anew = await wantAnew();
        if (anew instanceof GatewayError) {
          await this.limits.release(workspace, requestId, 0);
          return { as: 'refused', error: anew };
        }
        wanted = anew;
        answer = await again(wanted);
      }
      while (answer.as === 'admitted' && performance.now() < turnAt && !waiter.hasLeft)
        await hear(waiter, turnAt - performance.now());
      if (waits) onWaited(performance.now() - began);
      if (!waiter.hasLeft) return answer as Decided;
      if (answer.as !== 'refused')
        await this.limits.release(workspace, requestId, answer.reserved, answer.held);
      return { as: 'refused', error: hungUp() };
    } finally {
      this.#waiters.delete(requestId);
    }
  }

  /** The worker counts how long the answer is, unless it has several choices. */
  #learn(job: ChatJob, request: ChatRequest): void {
    if (job.endpoint !== undefined || typeof request.n === 'number') return;
    const limits = job.chain.map((entry) =>
      allowedOutput(request, this.providers.get(entry.provider)?.kind ?? 'openai', entry),
    );
    const least = Math.min(...limits);
    job.learns = Number.isFinite(least) ? least : 0;
  }

  /** Whether a spent budget sends the request to another route. It is a request of that route from here on. */
  async #takeOtherRoute(
    job: RoutedJob,
    { spent: by }: { spent?: Budget },
    spent: Budget[],
  ): Promise<boolean> {
    if (!by || typeof by.when_spent !== 'object') return false;
    if (spent.some((each) => sameBudget(each, by))) return false;
    const alias = by.when_spent.route;
    const other = await resolveModel(
      alias,
      job.workspace,
      this.directory,
      this.providers,
      job.requestId,
    ).catch(() => undefined);
    if (!other || other.route !== alias) return false;
    spent.push(by);
    job.insteadOf ??= job.route ?? job.model;
    Object.assign(job, { route: other.route, chain: other.chain, onCrash: other.onCrash });
    return true;
  }

  #isRated(provider: string): boolean {
    return hasRateLimits(this.providers.get(provider)) || this.announced.has(provider);
  }

  /** Adds the tokens that a call will most likely take, if a limit per minute concerns the job. */
  #addTokens(job: ChatJob, request: ChatRequest, { tokensPerMinute }: LimitsConfig): void {
    const isLimited = job.chain.some(({ provider }) => this.#isRated(provider));
    if (!isLimited && tokensPerMinute === undefined) return;
    job.tokens = this.habits.adjust(job, estimateTokens(request));
    if (tokensPerMinute !== undefined) job.tokensPerMinute = tokensPerMinute;
  }

  /**
   * Admits a request that gets the answer of another one. It costs nothing, but counts like any other. Returns why the
   * workspace may not send it now, or a function that gives its place back.
   */
  async admitFollower(
    job: Pick<ChatJob, 'requestId' | 'workspace' | 'deadline'> & Partial<ChatJob>,
  ): Promise<GatewayError | (() => void)> {
    const { requestId, workspace, deadline, inbox = '', keyId = '' } = job;
    const limits = (await this.directory.findWorkspace(workspace))?.limits;
    if ((limits?.requestsPerMinute ?? limits?.concurrentRequests) === undefined) return () => {};
    const now = this.clock.now();
    const mostWaitMs = job.chain !== undefined ? this.#mostWaitMs(limits ?? {}, job as ChatJob, now) : 0;
    const asked = { requestId, workspace, inbox, keyId, estimates: NO_ESTIMATE, now, deadline, mostWaitMs };
    const free: LimitsConfig = { ...limits, budgetUsdPerMonth: undefined, budgets: undefined };
    const wanted = { asked, limits: free };
    const answer = await this.#ask(
      wanted,
      async () => wanted,
      () => {},
    );
    if (answer.as === 'refused') return answer.error;
    // While Redis is away the place cannot be given back. It lapses by itself.
    return () => void this.limits.release(workspace, requestId, 0).catch(() => {});
  }
}

/** The modes of the budgets. One more estimate is made only where there are budgets of both. */
function modesOf({ budgetUsdPerMonth, budget = 'strict', budgets = [] }: LimitsConfig): BudgetMode[] {
  const modes = new Set<BudgetMode>(budgets.map(({ mode = 'strict' }) => mode));
  if (budgetUsdPerMonth !== undefined || modes.size === 0) modes.add(budget);
  return [...modes];
}

function hear(waiter: Waiter, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, Math.max(0, ms));
    waiter.wake = () => {
      clearTimeout(timer);
      resolve();
    };
    if (waiter.isTold || waiter.hasLeft) waiter.wake();
  });
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
