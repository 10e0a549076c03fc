/**
 * Tells operators what they asked to be told:
 *
 *   figures ─► a firing, with its notices, in one step ─► each notice is sent, and again until it is delivered
 *
 * Any process with an admin listener may do any step. One looks at the figures at a time, and a notice is held by whoever
 * sends it. A firing is told once, and again only after it has been over for a while.
 */

import { retryWait, TRIED_FOR_MS } from '@sluice/api/webhooks/retry-wait';
import { type SendOptions, type SendOutcome, sendSigned } from '@sluice/api/webhooks/send-message';
import { alertKind, type NoticeType } from '@sluice/shared/contract/alert';
import { Chores } from '@sluice/shared/process/chores';
import type { Logger } from '@sluice/shared/process/logger';
import { type Period, whileIdle } from '@sluice/shared/process/repeat-every';
import type { Clock } from '@sluice/shared/redis/clock';
import type { ControlNames } from '@sluice/shared/redis/key-names';
import { makeRequestId } from '@sluice/shared/request-id';
import type { Redis } from 'ioredis';
import type { Alert, AlertStore, Firing, Notice } from './alert-store.js';
import type { Figures, Found } from './figures.js';
import type { SendMail } from './send-mail.js';

const LOOK_EVERY = whileIdle(6_000, 2_000);
const FIGURES_EVERY_MS = 10_000;
/** What is not seen for so long is over. A figure that goes up and down around a threshold is one firing. */
const OVER_AFTER_MS = 120_000;
/** Longer than an attempt can take. */
const HELD_MS = 120_000;
const AT_ONCE = 4;
/** Of one alert. More would be a flood that nobody reads. */
export const MOST_FIRINGS = 200;

export interface AlertTimes {
  lookMs?: Period;
  figuresMs?: number;
  overAfterMs?: number;
}

export interface AlertParts {
  redis: Redis;
  names: ControlNames;
  clock: Clock;
  logger: Logger;
  store: AlertStore;
  figures: Pick<Figures, 'find' | 'isGone'>;
  webhooks: SendOptions & { firstRetryMs: number };
  /** Undefined: the environment names no SMTP server. */
  sendMail: SendMail | undefined;
  times?: AlertTimes;
}

export class Alerts {
  readonly #chores: Chores;

  constructor(private readonly parts: AlertParts) {
    const { times: { lookMs = LOOK_EVERY } = {}, logger } = parts;
    this.#chores = new Chores(logger);
    this.#chores.every(lookMs, 'looking for what alerts are about', () => this.look(), false);
    this.#chores.every(lookMs, 'sending alerts', () => this.sendDue(), false);
  }

  get store(): AlertStore {
    return this.parts.store;
  }

  get canMail(): boolean {
    return this.parts.sendMail !== undefined;
  }

  close(): void {
    this.#chores.stop();
  }

  /** Compares the figures with every threshold, unless another process has just done it. */
  async look(): Promise<void> {
    const { redis, names, store, times: { figuresMs = FIGURES_EVERY_MS } = {} } = this.parts;
    const alerts = await store.list();
    if (alerts.length === 0) return;
    const turn = await redis.set(names.alertTurn, '1', 'PX', figuresMs, 'NX');
    if (turn !== 'OK') return;
    const firings = await store.firings();
    for (const alert of alerts)
      await this.#compare(
        alert,
        firings.filter((firing) => firing.alert === alert.id),
      );
  }

  async #compare(alert: Alert, firings: readonly Firing[]): Promise<void> {
    const { store, figures, clock, times: { overAfterMs = OVER_AFTER_MS } = {} } = this.parts;
    const found = new Map((await figures.find(alert)).map((each) => [each.subject, each]));
    const now = clock.now();
    for (const firing of firings) {
      const still = found.get(firing.subject);
      // What fires already keeps its place. The limit is for what is new.
      found.delete(firing.subject);
      if (still) await store.keep({ ...firing, ...still, seen: now });
      else if (now - firing.seen >= overAfterMs) await this.#resolve(alert, firing, now);
    }
    const room = Math.max(0, MOST_FIRINGS - firings.length);
    for (const each of [...found.values()].slice(0, room)) await this.#fire(alert, each, now);
  }

  async #fire(alert: Alert, found: Found, now: number): Promise<void> {
    const id = makeRequestId();
    const firing: Firing = { ...found, id, alert: alert.id, since: now, seen: now };
    await this.parts.store.fire(firing, noticesOf(alert, 'alert.fired', found, now));
  }

  isGone(alert: Alert): Promise<boolean> {
    return this.parts.figures.isGone(alert);
  }

  /** Nobody is told that it is over when its workspace or provider is gone. */
  async #resolve(alert: Alert, firing: Firing, now: number): Promise<void> {
    const { store, figures } = this.parts;
    const over = { ...firing, text: `Over: ${firing.text}` };
    const isGone = await figures.isGone(alert, firing.subject);
    await store.resolve(firing, now, isGone ? [] : noticesOf(alert, 'alert.resolved', over, now));
  }

  /** Sends a test to every target of the alert. */
  async test(alert: Alert): Promise<Notice[]> {
    const { store, clock } = this.parts;
    const text = `This is a test of the alert “${nameOf(alert)}”.`;
    const notices = noticesOf(alert, 'alert.test', { subject: '', value: null, text }, clock.now());
    await store.noteTest(clock.now(), notices);
    // It need not wait for its turn. Should this fail, it gets one.
    this.sendDue().catch(() => {});
    return notices;
  }

  /** Sends everything that is due, some at a time. */
  async sendDue(): Promise<void> {
    // Mostly there is none, and one question says so.
    const first = await this.#claim();
    if (!first) return;
    const others = Array.from({ length: AT_ONCE - 1 }, () => this.#claim());
    await Promise.all(
      [first, ...others].map(async (claimed) => {
        for (let notice = await claimed; notice; notice = await this.#claim()) await this.#attempt(notice);
      }),
    );
  }

  #claim(): Promise<Notice | undefined> {
    const { store, clock } = this.parts;
    return store.claim(clock.now(), clock.now() + HELD_MS);
  }

  async #attempt(notice: Notice): Promise<void> {
    const { store, clock, webhooks } = this.parts;
    const { as, outcome } = await this.#send(notice, await store.find(notice.alert));
    const now = clock.now();
    const attempts = notice.attempts + 1;
    const tried = { ...notice, attempts, outcome, lastAt: now, nextAt: null };
    const waitMs = retryWait(attempts, webhooks.firstRetryMs);
    const isGivenUp = as === 'gone' || now + waitMs > notice.at + TRIED_FOR_MS;
    await store.endAttempt(
      as === 'delivered'
        ? { ...tried, state: 'delivered' }
        : isGivenUp
          ? { ...tried, state: 'failed' }
          : { ...tried, nextAt: now + waitMs },
    );
  }

  async #send(notice: Notice, alert: Alert | undefined): Promise<SendOutcome> {
    if (!alert) return { as: 'gone', outcome: 'removed' };
    if (!alert.targets) return { as: 'failed', outcome: 'unreadable' };
    const { webhook, mail } = alert.targets;
    if (notice.to === 'webhook')
      return webhook
        ? sendSigned(webhook, { id: notice.event, body: messageOf(alert, notice) }, this.parts.webhooks)
        : { as: 'gone', outcome: 'removed' };
    if (!mail) return { as: 'gone', outcome: 'removed' };
    if (!this.parts.sendMail) return { as: 'failed', outcome: 'no_smtp_server' };
    return this.parts.sendMail({
      ...{ id: notice.event, to: mail, text: `${notice.text}\n\nAlert: ${nameOf(alert)}\n` },
      subject: `[Sluice] ${notice.text}`,
    });
  }
}

export function nameOf({ name, when }: Pick<Alert, 'name' | 'when'>): string {
  return name ?? when;
}

/** One for each kind of target. */
function noticesOf(alert: Alert, type: NoticeType, { subject, value, text }: Found, at: number): Notice[] {
  const event = `evt_${makeRequestId()}`;
  const { webhook, mail } = alert.targets ?? {};
  const to = [...(webhook ? (['webhook'] as const) : []), ...(mail ? (['mail'] as const) : [])];
  return to.map((to) => ({
    ...{ id: `${event}-${to}`, event, alert: alert.id, type, subject, value, text, to, at },
    ...{ state: 'waiting', attempts: 0, lastAt: null, nextAt: null, outcome: null },
  }));
}

/** `text` stands at the top, where programs for chat look for it. */
function messageOf(alert: Alert, { event, type, subject, value, text, at }: Notice): string {
  const { id, when, above = alertKind(when).standard } = alert;
  return JSON.stringify({
    id: event,
    object: 'event',
    created_at: Math.floor(at / 1000),
    type,
    text,
    data: { id, name: nameOf(alert), when, subject: subject || null, value, above },
  });
}
