/** How long the lines of a batch would take at today's pace. */
import type { ProviderConfig, ProviderLimits, RateLimits } from '@sluice/shared/config/provider';
import type { LimitsConfig } from '@sluice/shared/contract/limits';
import { isAllowed } from '@sluice/shared/directory/allowed-models';
import type { ChatQueue } from '@sluice/shared/queue/chat-queue';
import type { Lately } from '@sluice/shared/queue/lately';
import { slotsForBatches } from './provider-room.js';

const MINUTE_MS = 60_000;

/** Lines that go to one model of a provider. */
export interface PacedLines {
  provider: string;
  model: string;
  lines: number;
  input: number;
  output: number;
}

export interface PaceParts {
  lately: Pick<Lately, 'refresh' | 'meanMs'>;
  queue: Pick<ChatQueue, 'look'>;
  providers: ReadonlyMap<string, ProviderConfig>;
  linesInFlight: number;
}

/**
 * Returns milliseconds. Undefined when nobody has called one of the models lately. `others`: how many lines the batches
 * under way have left. By the time this one ends, each of them has run as many lines as this one at most.
 */
export async function paceOf(
  { lately, queue, providers, linesInFlight }: PaceParts,
  limits: LimitsConfig,
  groups: readonly PacedLines[],
  others: readonly number[],
): Promise<number | undefined> {
  const all = groups.reduce((sum, { lines }) => sum + lines, 0);
  const ahead = others.reduce((sum, left) => sum + Math.min(left, all), 0);
  /** Models of one provider share its slots and limits, and all lines share those of the workspace. */
  const minutesAt = new Map<string, number>();
  let minutesOfWorkspace = 0;
  await lately.refresh();
  for (const group of groups) {
    const { provider, model, lines } = group;
    // A member of a group that gets less than half a line.
    if (lines === 0) continue;
    const config = providers.get(provider);
    const latencyMs = lately.meanMs({ provider, model });
    if (!config || latencyMs === undefined) return undefined;
    const { waiting, prioritized, active, concurrency = 1 } = await queue.look(provider);
    // The lines of other batches are among those that wait and run.
    const busy = others.length > 0 ? 0 : waiting + prioritized + active;
    const free = Math.max(1, slotsForBatches(concurrency) - busy);
    const own = Math.max(1, Math.floor((limits.concurrentRequests ?? Number.POSITIVE_INFINITY) / 2));
    const byTime = (slots: number) => (Math.min(slots, linesInFlight) * MINUTE_MS) / Math.max(1, latencyMs);
    const perLine = { input: group.input / lines, output: group.output / lines };
    const perMinute = Math.min(
      byTime(free),
      mostPerMinute(config.limits, model, perLine),
      mostPerMinuteOfKeys(config, model, perLine),
    );
    const count = lines + (ahead * lines) / all;
    minutesAt.set(provider, (minutesAt.get(provider) ?? 0) + count / perMinute);
    minutesOfWorkspace += count / Math.min(byTime(own), mostOf(limits, perLine));
  }
  return Math.ceil(MINUTE_MS * Math.max(minutesOfWorkspace, ...minutesAt.values()));
}

type Tokens = Pick<PacedLines, 'input' | 'output'>;

function mostOf(limits: RateLimits, { input, output }: Tokens): number {
  const { requestsPerMinute, tokensPerMinute, inputTokensPerMinute, outputTokensPerMinute } = limits;
  const lines = (limit: number | undefined, each: number) =>
    limit === undefined ? Number.POSITIVE_INFINITY : limit / Math.max(1, each);
  return Math.min(
    lines(requestsPerMinute, 1),
    lines(tokensPerMinute, input + output),
    lines(inputTokensPerMinute, input),
    lines(outputTokensPerMinute, output),
  );
}

function mostPerMinute(limits: ProviderLimits | undefined, model: string, tokens: Tokens): number {
  if (!limits) return Number.POSITIVE_INFINITY;
  const ofModel = limits.models.filter(({ pattern }) => isAllowed([pattern], model));
  return Math.min(mostOf(limits, tokens), ...ofModel.map((own) => mostOf(own, tokens)));
}

function mostPerMinuteOfKeys({ keys = [] }: ProviderConfig, model: string, tokens: Tokens): number {
  if (keys.length === 0) return Number.POSITIVE_INFINITY;
  return keys.reduce((sum, { limits }) => sum + mostPerMinute(limits, model, tokens), 0);
}
