/**
 * Says what a batch would cost and what would become of it, without running anything (docs/batches.md). A quote reads the file
 * once, one line at a time. It is bounded: a workspace has one at a time, which waits for its turn among those of others, and a file
 * that takes too much work is read in part. It counts as a request of the workspace while it lasts.
 */
import type { ProviderConfig } from '@sluice/shared/config/provider';
import { type BatchEndpoint, type BatchQuote, pathOf } from '@sluice/shared/contract/batch';
import { entriesOf } from '@sluice/shared/contract/chain';
import type { GroupMember } from '@sluice/shared/contract/route';
import type { WorkspaceRecord } from '@sluice/shared/directory/directory';
import { GatewayError, reasonOf } from '@sluice/shared/errors';
import type { Spender } from '@sluice/shared/queue/budgets';
import type { ChainEntry, JobEndpoint } from '@sluice/shared/queue/job';
import type { Lately } from '@sluice/shared/queue/lately';
import { UNKNOWN_CALL_MS } from '@sluice/shared/queue/plan';
import type { CostEstimate } from '@sluice/shared/registry/cost-estimate';
import { type LineEstimate, mostOf, type PastUse } from '@sluice/shared/registry/line-estimate';
import { refusedFieldOf } from '@sluice/shared/registry/model-facts';
import { formatUsd } from '@sluice/shared/registry/price';
import { measurePrompt } from '@sluice/shared/registry/prompt-size';
import { makeRequestId } from '@sluice/shared/request-id';
import type { Admission, Foreseen } from '../chat/admission.js';
import { durationMs } from '../chat/deadline.js';
import { resolveModel } from '../chat/resolve-model.js';
import type { Files } from '../files/files.js';
import { hungUp } from '../http/report-errors.js';
import { isFinal } from './batch-record.js';
import type { BatchStore } from './batch-store.js';
import { checkLines } from './check-lines.js';
import { lineLimitsOf } from './line-feeder.js';
import type { BatchLine } from './parse-line.js';
import { type PastUseParts, readPastUse } from './past-use.js';
import { PROVIDER_WINDOW_MS, planHandOver } from './plan-hand-over.js';
import { QuoteBudgets } from './quote-budgets.js';
import { type PaceParts, paceOf } from './quote-pace.js';
import { MOST_WAIT_MS, QuoteTurns } from './quote-turns.js';
import { prepareLine, type ReadyLine, type SendLineParts } from './send-line.js';

/** The windows of a quote that names none. */
const USUAL_WINDOWS = ['1h', '24h', '48h'];
const BUSY_RETRY_MS = 2_000;
/** The work on one file, and how long the quote takes with the time of others. What is left of the file is reckoned by its bytes. */
const MOST_WORK_MS = 10_000;
const MOST_MS = 30_000;
/** After this much work, other requests get a turn. */
const BREATHE_AFTER_MS = 5;
/** Lines of more models than this are refused words, not rows. */
const MOST_GROUPS = 100;
const MOST_REFUSALS = 50;
/** So many batches under way are looked at for the pace. */
const MOST_OTHERS = 200;

export interface QuotesParts
  extends Pick<SendLineParts, 'directory' | 'clock' | 'limits' | 'deadlineMs' | 'protocol'>,
    PastUseParts,
    PaceParts {
  lately: Lately;
  estimate: CostEstimate;
  admission: Pick<Admission, 'admitFollower' | 'foresee'>;
  store: BatchStore;
  files: Files;
  providers: ReadonlyMap<string, ProviderConfig>;
  maxActiveBatches: number;
  maxBodyBytes: number;
}

export interface QuoteAsked {
  workspace: string;
  /** Empty for an operator. */
  keyId: string;
  endpoint: JobEndpoint | undefined;
  inputFile: string | null;
  bytes: AsyncIterable<Buffer>;
  size: number;
  /** Undefined: several usual ones. */
  window?: string | undefined;
  /** Whether nobody waits for the quote any more. */
  hasLeft(): boolean;
}

/**
 * The lines that go to one model under one name. Sums are tokens and picodollars. Members of a chain's group share its lines by
 * their weights, so all numbers may have fractions.
 */
interface Group {
  model: string;
  entry: ChainEntry;
  past: PastUse | undefined;
  isPriced: boolean;
  lines: number;
  input: number;
  output: number;
  isMeasured: boolean;
  expected: number;
  flex: number;
  mostInput: number;
  longOutput: number;
  longestOutput: number;
  bound: number;
}

/** Of these a line counts with its share at each entry, and of those with the most of its chain. */
const USUAL_FIELDS = ['input', 'output', 'expected', 'flex'] as const;
const MOST_FIELDS = ['mostInput', 'longOutput', 'longestOutput', 'bound'] as const;

interface Prepared {
  ready: ReadyLine;
  spender: Spender;
  foreseen: Foreseen;
  /** The entries of the route that the line names, where a spent budget that renews soon sends it to another one. */
  mayServe: ChainEntry[];
}

type Refused = BatchQuote['refused'][number];

export class Quotes {
  /** Workspaces whose quote is read, or waits. */
  readonly #busy = new Set<string>();
  readonly #turns = new QuoteTurns();

  constructor(private readonly parts: QuotesParts) {}

  async quote(asked: QuoteAsked): Promise<BatchQuote> {
    const { workspace } = asked;
    if (this.#busy.has(workspace)) throw busy();
    this.#busy.add(workspace);
    try {
      const { admission, clock, directory } = this.parts;
      const owner = await directory.findWorkspace(workspace);
      if (!owner) throw new GatewayError('not_found', 'There is no such workspace.');
      const deadline = clock.now() + MOST_WAIT_MS + MOST_MS;
      const admitted = await admission.admitFollower({ requestId: makeRequestId(), workspace, deadline });
      if (admitted instanceof GatewayError) throw admitted;
      try {
        return await this.#turns.during(() => this.#read(asked, owner));
      } finally {
        admitted();
      }
    } finally {
      this.#busy.delete(workspace);
    }
  }

  async #read(asked: QuoteAsked, owner: WorkspaceRecord): Promise<BatchQuote> {
    const { endpoint, bytes, size, workspace, inputFile } = asked;
    if (asked.hasLeft()) throw hungUp();
    const budgets = await QuoteBudgets.load(this.parts, workspace, owner.limits);
    const tally = new Tally(this.parts, asked, owner, budgets);
    const { total, mistakes, models } = await checkLines(
      bytes,
      lineLimitsOf(this.parts, { endpoint }),
      (line, number, end) => tally.add(line, number, end),
    );
    const scale = tally.isCut ? size / Math.max(1, tally.end) : 1;
    const groups = scaled([...tally.groups.values()], scale);
    const plan = await planHandOver(
      this.parts,
      // Each window is looked at by itself.
      { id: makeRequestId(), workspace, endpoint, created: 0, expires: PROVIDER_WINDOW_MS },
      models,
    );
    const lines = Math.round(total * scale);
    const refusedWhole = await this.#refusedWhole(asked, lines);
    const uncovered = tally.uncovered();
    const refused = [...tally.refused.values(), ...uncovered].map((each) => ({
      ...each,
      lines: Math.round(each.lines * scale),
    }));
    const fails = mistakes.length > 0 || refusedWhole.length > 0 || tally.answered === 0;
    // Lines that no budget covers wait until it renews, or fail.
    const inTime = fails ? false : uncovered.length > 0 ? null : undefined;
    const sum = (field: 'input' | 'output') => groups.reduce((all, group) => all + group[field], 0);
    return {
      object: 'batch.quote',
      endpoint: pathOf(endpoint) satisfies BatchEndpoint,
      input_file_id: inputFile,
      lines,
      lines_read: total,
      unpriced_lines: Math.round(tally.unpriced * scale),
      input_tokens: sum('input'),
      output_tokens: sum('output'),
      models: groups.map((group) => ({
        model: group.model,
        provider: group.entry.provider,
        provider_model: group.entry.model,
        ...{ lines: group.lines, input_tokens: group.input, output_tokens: group.output },
        ...{ is_priced: group.isPriced, is_measured: group.isMeasured },
        ...costsOf([group]),
      })),
      windows: await this.#windows(
        owner,
        groups,
        plan && plan.oneByOne === undefined ? plan.provider : undefined,
        asked.window ? [asked.window] : USUAL_WINDOWS,
        inTime,
      ),
      errors: mistakes.length === 0 ? null : { object: 'list', data: mistakes },
      refused: [...refused, ...refusedWhole],
    };
  }

  async #windows(
    owner: WorkspaceRecord,
    groups: readonly Group[],
    handedTo: string | undefined,
    windows: readonly string[],
    /** Undefined: the pace tells. */
    inTime: false | null | undefined,
  ): Promise<BatchQuote['windows']> {
    const { clock, lately, providers } = this.parts;
    const now = clock.now();
    const others = (await this.#underWay()).map(({ left }) => left);
    const paced = groups.map(({ entry: { provider, model }, lines, input, output }) => ({
      ...{ provider, model, lines, input, output },
    }));
    const ms = await paceOf(this.parts, owner.limits, paced, others);
    const factor = providers.get(handedTo ?? '')?.batchPriceFactor ?? 1;
    return windows.map((window) => {
      const windowMs = durationMs(window) ?? 0;
      const isHanded = handedTo !== undefined && windowMs >= PROVIDER_WINDOW_MS;
      // As planLine gives it: twice the time that the lines take is left for them.
      const hasTime = ms !== undefined && 2 * ms + 2 * UNKNOWN_CALL_MS < windowMs;
      const takesMs = isHanded ? PROVIDER_WINDOW_MS : ms;
      return {
        completion_window: window,
        by: isHanded ? ('provider_batch' as const) : ('gateway' as const),
        // Lines that the provider's batch has not answered run one by one, at the normal price.
        ...costsOf(groups, (group) => {
          if (isHanded) return factor * group.expected;
          const refused = hasTime ? lately.refusedShare(group.entry, 'flex') : 1;
          return refused * group.expected + (1 - refused) * group.flex;
        }),
        ...(inTime !== undefined || takesMs === undefined
          ? { ends_at: null, in_time: inTime ?? null }
          : { ends_at: Math.ceil((now + takesMs) / 1000), in_time: takesMs <= windowMs }),
      };
    });
  }

  /** What would keep the batch from being created. */
  async #refusedWhole({ workspace }: QuoteAsked, lines: number): Promise<Refused[]> {
    const { files, maxActiveBatches } = this.parts;
    const found: Refused[] = [];
    const add = ({ code, message }: Pick<Refused, 'code' | 'message'>) =>
      found.push({ code, message, param: null, reason: 'quota', lines, first_line: null });
    const noRoom = await files.requireRoom(workspace, 1).catch((error: unknown) => error);
    if (noRoom instanceof GatewayError) add(noRoom);
    const active = (await this.#underWay()).filter((each) => each.workspace === workspace);
    if (active.length >= maxActiveBatches)
      add({
        code: 'quota_exceeded',
        message: `This workspace may have ${maxActiveBatches} batches under way.`,
      });
    return found;
  }

  /** The batches under way, and how many lines of each are left. */
  async #underWay(): Promise<{ workspace: string; left: number }[]> {
    const { store } = this.parts;
    const batches = await store.findAll((await store.active()).slice(0, MOST_OTHERS));
    return batches
      .filter(({ state }) => !isFinal(state.status))
      .map(({ record: { workspace }, state: { total, completed, failed } }) => ({
        workspace,
        left: Math.max(0, total - completed - failed),
      }));
  }
}

/** Adds up the lines as they are read. */
class Tally {
  readonly groups = new Map<string, Group>();
  readonly refused = new Map<string, Refused>();
  /** Lines that may go to a model without a known price. */
  unpriced = 0;
  /** Where the last line that was read ends. */
  end = 0;
  isCut = false;
  /** Lines that the budgets cover, now or when they renew. */
  answered = 0;
  readonly #began = performance.now();
  readonly #now: number;
  #workMs = 0;
  #breathed = performance.now();

  constructor(
    private readonly parts: QuotesParts,
    private readonly asked: QuoteAsked,
    private readonly owner: WorkspaceRecord,
    private readonly budgets: QuoteBudgets,
  ) {
    this.#now = parts.clock.now();
  }

  /** False when there was work enough. */
  async add(line: BatchLine, number: number, end: number): Promise<boolean> {
    this.end = end;
    await this.#breathe();
    try {
      const prepared = await this.#prepare(line);
      await this.#breathe();
      const cost = await this.#addReady(prepared, line);
      if (this.budgets.book(prepared.spender, prepared.foreseen, cost, number)) this.answered += 1;
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      this.#refuse(error, number);
    }
    await this.#breathe();
    if (this.asked.hasLeft()) throw hungUp();
    const isLong = this.#workMs > MOST_WORK_MS || this.#breathed - this.#began > MOST_MS;
    this.isCut = isLong && end < this.asked.size;
    return !this.isCut;
  }

  /** Other requests get a turn between the steps of a long line, too. */
  async #breathe(): Promise<void> {
    const workMs = performance.now() - this.#breathed;
    if (workMs <= BREATHE_AFTER_MS) return;
    this.#workMs += workMs;
    await new Promise((resolve) => setImmediate(resolve));
    this.#breathed = performance.now();
  }

  /** The lines that a budget does not cover have a cost: they run when it renews. */
  uncovered(): Refused[] {
    return this.budgets
      .lacking()
      .slice(0, MOST_REFUSALS)
      .map(({ words, lines, first }) => ({
        ...{ code: 'budget_exceeded', message: words, param: null, reason: 'budget_too_small' },
        ...{ lines, first_line: first },
      }));
  }

  async #prepare({ body }: BatchLine): Promise<Prepared> {
    const { workspace, endpoint, keyId } = this.asked;
    const { directory, providers } = this.parts;
    const requestId = makeRequestId();
    const ready = await prepareLine(this.parts, { workspace, endpoint }, requestId, body);
    const { request, resolved, tags, user } = ready;
    const spender = { keyId, tags, user };
    const job = {
      ...{ requestId, workspace, ...spender, model: request.model, ...resolved },
      deadline: this.#now + this.parts.deadlineMs,
    };
    const foreseen = await this.parts.admission.foresee(this.owner, job, request, (counter) =>
      this.budgets.leftOf(counter),
    );
    if (foreseen instanceof GatewayError) throw foreseen;
    if (job.route === resolved.route || job.route === null) return { ready, spender, foreseen, mayServe: [] };
    const other = await resolveModel(job.route, workspace, directory, providers, requestId);
    const mayServe = this.budgets.mayRenew(spender, foreseen) ? this.#stepsOf(resolved).flat() : [];
    return { ready: { ...ready, resolved: other }, spender, foreseen, mayServe };
  }

  /** Returns what the line is expected to cost. */
  async #addReady({ ready, mayServe }: Prepared, { body }: BatchLine): Promise<number> {
    const { request, resolved } = ready;
    const ends = { from: this.#now, until: this.#now + this.parts.deadlineMs };
    const measured = { request, body, prompt: measurePrompt(request) };
    const estimateOf = (entry: ChainEntry, past: PastUse | undefined) => {
      const found = this.parts.estimate.ofLine(entry, measured, past, ends);
      return typeof found === 'string' ? undefined : found;
    };
    const steps = this.#stepsOf(resolved);
    const shares: { group: Group; entry: GroupMember; own: LineEstimate | undefined }[] = [];
    const refusals: GatewayError[] = [];
    let isTooLong = false;
    for (const step of steps) {
      // An entry with a condition is for a prompt that was too long for another one.
      for (const entry of isTooLong ? step : step.filter(isForAll)) {
        const refusal = this.#refusalOf(entry, request);
        if (refusal) {
          refusals.push(refusal);
          continue;
        }
        const group = await this.#groupOf(request.model, resolved.route, entry);
        const own = estimateOf(entry, group.past);
        if (own?.isTooLong) {
          refusals.push(tooLong(entry));
          isTooLong = true;
        } else shares.push({ group, entry, own });
      }
      if (shares.length > 0) break;
    }
    const [taken] = shares;
    if (!taken) throw refusals[0];
    const others = [...steps.flat(), ...mayServe].filter(
      (each) => !shares.some(({ entry }) => entry === each),
    );
    const all = [
      ...shares.map(({ own }) => own),
      ...others.map((entry) => estimateOf(entry, taken.group.past)),
    ];
    const known = all.filter((each) => each !== undefined);
    if (known.length < all.length) this.unpriced += 1;
    // Another entry of the chain may serve, and the dearest is the most.
    const most = (field: keyof LineEstimate) => Math.max(...known.map((each) => Number(each[field])));
    const weightOf = (some: typeof shares) =>
      some.reduce((sum, { entry: { weight = 1 } }) => sum + weight, 0);
    const pricedWeight = weightOf(shares.filter(({ own }) => own));
    let cost = 0;
    for (const { group, entry, own } of shares) {
      const { weight = 1 } = entry;
      const share = weight / weightOf(shares);
      group.lines += share;
      if (!own) {
        group.isPriced = false;
        continue;
      }
      cost += share * own.expected;
      group.isMeasured = own.isMeasured;
      for (const field of USUAL_FIELDS) group[field] += share * own[field];
      for (const field of MOST_FIELDS) group[field] += (weight / pricedWeight) * most(field);
    }
    return cost;
  }

  /** The entries of the route, and the members of each of its groups, in its order. */
  #stepsOf({ chain, groups }: ReadyLine['resolved']): GroupMember[][] {
    const isThere = ({ provider }: GroupMember) => this.parts.providers.has(provider);
    return (groups ?? chain).map((entry) => entriesOf([entry]).filter(isThere));
  }

  /** What this entry is known to refuse of the request. */
  #refusalOf(entry: ChainEntry, request: ReadyLine['request']): GatewayError | undefined {
    const provider = this.parts.providers.get(entry.provider);
    const isEmbedding = this.asked.endpoint === 'embeddings';
    const misfit = this.parts.estimate.misfit(entry, isEmbedding);
    if (misfit !== undefined) return new GatewayError('invalid_request', misfit, { param: 'model' });
    const refused = provider && refusedFieldOf(provider, entry, request, isEmbedding);
    if (!refused) return undefined;
    const { field, words } = refused;
    return new GatewayError('invalid_request', `${entry.model} would refuse it: ${field} ${words}.`, {
      param: field,
      reason: 'model_refused_field',
    });
  }

  async #groupOf(model: string, route: string | null, entry: ChainEntry): Promise<Group> {
    const key = JSON.stringify([model, entry.provider, entry.model]);
    const known = this.groups.get(key);
    if (known) return known;
    if (this.groups.size >= MOST_GROUPS)
      throw new GatewayError('invalid_request', `A quote has ${MOST_GROUPS} models at most.`);
    const group: Group = {
      ...{ model, entry, isPriced: true, isMeasured: false, lines: 0, input: 0, output: 0 },
      past: await readPastUse(this.parts, this.asked.workspace, route, entry.provider, entry.model),
      ...{ expected: 0, flex: 0, mostInput: 0, longOutput: 0, longestOutput: 0, bound: 0 },
    };
    this.groups.set(key, group);
    return group;
  }

  #refuse(error: GatewayError, number: number): void {
    const { code, message, param = null } = error;
    const key = `${code} ${message}`;
    const known = this.refused.get(key);
    if (known) known.lines += 1;
    else if (this.refused.size < MOST_REFUSALS)
      this.refused.set(key, { code, message, param, reason: reasonOf(error), lines: 1, first_line: number });
  }
}

function isForAll({ when }: GroupMember): boolean {
  return when === undefined;
}

/** In whole numbers. The lines of all groups together are as many as they were. */
function scaled(groups: readonly Group[], scale: number): Group[] {
  let lines = 0;
  // A group without a line has only refused some.
  const used = groups.filter((group) => group.lines > 0);
  return used.map((group) => {
    const before = Math.round(lines);
    lines += group.lines * scale;
    const numbers = Object.entries(group).filter(([, value]) => typeof value === 'number');
    const whole = Object.fromEntries(numbers.map(([name, value]) => [name, Math.round(value * scale)]));
    return { ...group, ...whole, lines: Math.round(lines) - before };
  });
}

function costsOf(groups: readonly Group[], expectedOf = ({ expected }: Group) => expected) {
  const sum = (of: (group: Group) => number) =>
    formatUsd(groups.reduce((all, each) => all + BigInt(Math.ceil(of(each))), 0n));
  return {
    expected_cost_usd: sum(expectedOf),
    most_cost_usd: sum(mostOf),
    bound_cost_usd: sum(({ bound }) => bound),
  };
}

function tooLong({ model }: ChainEntry): GatewayError {
  const message = `The prompt is most likely longer than the context of ${model}.`;
  return new GatewayError('invalid_request', message, { param: 'messages', reason: 'prompt_too_long' });
}

function busy(): GatewayError {
  return new GatewayError(
    'rate_limited',
    'Another quote of this workspace is under way. Ask again in a moment.',
    {
      retryAfterMs: BUSY_RETRY_MS,
      reason: 'workspace_concurrency',
    },
  );
}
