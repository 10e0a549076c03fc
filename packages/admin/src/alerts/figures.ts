/** Reads what alerts are about: each kind from the figures that the pages of the console show, too. */
import type { Batch } from '@sluice/api/batches/batch-record';
import type { QueueReading } from '@sluice/api/cell/read-queue';
import { ALERT_MINUTES, type AlertKindName, alertKind } from '@sluice/shared/contract/alert';
import type { CircuitBreakers } from '@sluice/shared/providers/circuit-breakers';
import { toBudgetPicodollars } from '@sluice/shared/queue/budgets';
import type { TurnedAway } from '@sluice/shared/queue/turned-away';
import type { Clock } from '@sluice/shared/redis/clock';
import type { DirectorySnapshot } from '../directory-snapshot.js';
import type { TrafficReader } from '../log/traffic-reader.js';
import type { LimitUse } from '../spend/budget.js';
import type { Alert } from './alert-store.js';

/** Of fewer requests a share says nothing. */
export const LEAST_REQUESTS = 10;
const AT_ONCE = 250;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** Something that is above an alert's threshold. */
export interface Found {
  subject: string;
  value: number | null;
  text: string;
}

export interface FigureParts {
  clock: Clock;
  snapshot: Pick<DirectorySnapshot, 'read'>;
  traffic: Pick<TrafficReader, 'read'>;
  refused: Pick<TurnedAway, 'read'>;
  circuits: Pick<CircuitBreakers, 'get'>;
  readActiveBatches(): Promise<Batch[]>;
  providers: Pick<ReadonlyMap<string, unknown>, 'keys'>;
  readLimitUse(workspace: string): Promise<LimitUse>;
  readQueue(provider: string): Promise<QueueReading>;
}

type Question = Pick<Alert, 'when' | 'above' | 'minutes' | 'workspace' | 'provider'>;

export class Figures {
  readonly #readers: Record<AlertKindName, (question: Question, above: number) => Promise<Found[]>> = {
    budget: (question, above) => this.#budgets(question, above),
    failure_rate: (question, above) => this.#failures(question, above),
    refusals: (question, above) => this.#refusals(question, above),
    waiting_time: (question, above) => this.#waiting(question, above),
    provider_down: (question) => this.#down(question),
    batch_late: (question, above) => this.#late(question, above),
  };

  constructor(private readonly parts: FigureParts) {}

  /** Everything that is above the threshold now. */
  find(question: Question): Promise<Found[]> {
    const { when, above = alertKind(when).standard } = question;
    return this.#readers[when](question, above);
  }

  /** Whether the workspace or provider that the alert watches, or that it found, is no longer there. */
  async isGone({ when, workspace, provider }: Question, subject?: string): Promise<boolean> {
    // The subject of other kinds is a name of what they watch, or the whole gateway.
    const watched = workspace ?? provider ?? (when === 'batch_late' ? undefined : subject);
    if (!watched) return false;
    const { providers, snapshot } = this.parts;
    return alertKind(when).of === 'provider'
      ? ![...providers.keys()].includes(watched)
      : !(await snapshot.read()).some(({ id }) => id === watched);
  }

  async #budgets({ workspace: only }: Question, above: number): Promise<Found[]> {
    const { snapshot, readLimitUse } = this.parts;
    const limited = (await snapshot.read()).flatMap(({ id, limits: { budgetUsdPerMonth: usd } }) =>
      usd === undefined || (only !== undefined && only !== id) ? [] : [{ id, usd }],
    );
    const found: Found[] = [];
    for (let i = 0; i < limited.length; i += AT_ONCE)
      for (const each of await Promise.all(limited.slice(i, i + AT_ONCE).map((one) => read(one)))) {
        const { id, usd, month, percent } = each;
        if (percent >= above)
          found.push({
            subject: id,
            value: tenth(percent),
            text: `Workspace ${id} has used ${tenth(percent)} % of its budget of ${usd} USD for ${month}.`,
          });
      }
    return found;

    async function read({ id, usd }: { id: string; usd: number }) {
      const { month, spent, estimated } = await readLimitUse(id);
      const amount = Number(toBudgetPicodollars(usd));
      const percent = amount === 0 ? 100 : (100 * Number(spent + estimated)) / amount;
      return { id, usd, month, percent };
    }
  }

  async #failures(
    { workspace, minutes = ALERT_MINUTES.standard }: Question,
    above: number,
  ): Promise<Found[]> {
    const until = Math.floor(this.parts.clock.now());
    const bucketMs = minutes * MINUTE_MS;
    const { traffic } = await this.parts.traffic.read({
      ...{ since: until - bucketMs, until, bucketMs, buckets: 1 },
      workspaces: workspace === undefined ? undefined : new Set([workspace]),
    });
    const { requests, failed } = traffic.all;
    const percent = requests === 0 ? 0 : (100 * failed) / requests;
    if (requests < LEAST_REQUESTS || percent < above) return [];
    const whose = workspace === undefined ? '' : ` of workspace ${workspace}`;
    const text = `${failed} of ${requests} requests${whose} have failed in the last ${minutes} minutes (${tenth(percent)} %).`;
    return [{ subject: workspace ?? '', value: tenth(percent), text }];
  }

  async #refusals(
    { workspace, minutes = ALERT_MINUTES.standard }: Question,
    above: number,
  ): Promise<Found[]> {
    const now = this.parts.clock.now();
    const rows = await this.parts.refused.read(now - minutes * MINUTE_MS, now);
    const count = rows
      .filter((row) => workspace === undefined || row.workspace === workspace)
      .reduce((sum, { requests }) => sum + requests, 0);
    if (count < above) return [];
    const whose = workspace === undefined ? '' : ` of workspace ${workspace}`;
    const text = `${count} requests${whose} were refused in the last ${minutes} minutes.`;
    return [{ subject: workspace ?? '', value: count, text }];
  }

  async #waiting({ provider }: Question, above: number): Promise<Found[]> {
    const names = [...this.parts.providers.keys()].filter(
      (name) => provider === undefined || name === provider,
    );
    const oldest = await Promise.all(
      names.map(async (name) => ({ name, seconds: (await this.parts.readQueue(name)).oldestMs / 1000 })),
    );
    return oldest
      .filter(({ seconds }) => seconds >= above)
      .map(({ name, seconds }) => ({
        subject: name,
        value: tenth(seconds),
        text: `A request has waited ${Math.round(seconds)} s for provider ${name}.`,
      }));
  }

  async #down({ provider }: Question): Promise<Found[]> {
    return [...this.parts.providers.keys()]
      .filter((name) => provider === undefined || name === provider)
      .filter((name) => this.parts.circuits.get(name).state === 'open')
      .map((name) => ({
        subject: name,
        value: null,
        text: `Provider ${name} fails: only probes are sent to it.`,
      }));
  }

  async #late({ workspace }: Question, above: number): Promise<Found[]> {
    const { readActiveBatches, clock } = this.parts;
    const underWay = await readActiveBatches();
    return underWay.flatMap(({ record }) => {
      const hours = (clock.now() - record.created) / HOUR_MS;
      if (hours < above || (workspace !== undefined && record.workspace !== workspace)) return [];
      const text = `Batch ${record.id} of workspace ${record.workspace} has been under way for ${tenth(hours)} hours.`;
      return [{ subject: record.id, value: tenth(hours), text }];
    });
  }
}

function tenth(value: number): number {
  return Math.round(value * 10) / 10;
}
