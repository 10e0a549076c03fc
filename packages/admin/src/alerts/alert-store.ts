/**
 * Alerts in Redis: what people want to be told of, what fires now, and the notices, which are what is sent. Addresses and
 * secrets are sealed. A change of a firing and its notices are one step, so a notice is neither lost nor made twice.
 */
import { randomBytes } from 'node:crypto';
import type { AlertInput, NoticeType } from '@sluice/shared/contract/alert';
import type { Payloads } from '@sluice/shared/queue/payload';
import type { ControlNames } from '@sluice/shared/redis/key-names';
import { loadScript } from '@sluice/shared/redis/script';
import { makeRequestId } from '@sluice/shared/request-id';
import type { Redis } from 'ioredis';

/** Times are Redis time, in ms. */
export interface Alert extends Omit<AlertInput, 'webhook' | 'mail'> {
  id: string;
  created: number;
  /** Undefined: the targets were sealed with a payload key that is not held any more. */
  targets: Targets | undefined;
}

export interface Targets {
  webhook?: { url: string; secret: string };
  mail?: readonly string[];
}

interface StoredAlert extends Omit<Alert, 'targets'> {
  sealed: string;
}

export interface Firing {
  id: string;
  alert: string;
  /** Empty: the whole gateway. */
  subject: string;
  since: number;
  /** When it was last seen. */
  seen: number;
  value: number | null;
  text: string;
}

export interface Notice {
  id: string;
  /** The id of the message, the same for all targets. */
  event: string;
  alert: string;
  type: NoticeType;
  subject: string;
  value: number | null;
  text: string;
  to: 'webhook' | 'mail';
  at: number;
  state: 'waiting' | 'delivered' | 'failed';
  attempts: number;
  lastAt: number | null;
  nextAt: number | null;
  outcome: string | null;
}

interface NoticeKeys {
  noticesKey: string;
  orderKey: string;
  dueKey: string;
}
interface NoticeArgs {
  at: number;
  notices: readonly string[];
}

const addScript = loadScript<0 | 1, { alertsKey: string }, { most: number; id: string; alert: string }>(
  import.meta.url,
  'add-alert',
);
const changeScript = loadScript<0 | 1, { alertsKey: string }, { id: string; was: string; alert: string }>(
  import.meta.url,
  'change-alert',
);
const removeScript = loadScript<
  0 | 1,
  { alertsKey: string; firingsKey: string },
  { id: string; fields: readonly string[] }
>(import.meta.url, 'remove-alert');
const fireScript = loadScript<
  0 | 1,
  { alertsKey: string; firingsKey: string } & NoticeKeys,
  { id: string; field: string; firing: string } & NoticeArgs
>(import.meta.url, 'fire');
const resolveScript = loadScript<0 | 1, { firingsKey: string } & NoticeKeys, { field: string } & NoticeArgs>(
  import.meta.url,
  'resolve',
);
const noteTestScript = loadScript<1, NoticeKeys, NoticeArgs>(import.meta.url, 'note-test');
const keepScript = loadScript<0 | 1, { firingsKey: string }, { field: string; firing: string }>(
  import.meta.url,
  'keep-firing',
);
const claimScript = loadScript<
  string | null,
  { noticesKey: string; dueKey: string },
  { now: number; heldUntil: number }
>(import.meta.url, 'claim-notice');
const endScript = loadScript<
  0 | 1,
  { noticesKey: string; dueKey: string },
  { id: string; notice: string; nextAt: number | undefined }
>(import.meta.url, 'end-attempt');

const SECRET_BYTES = 32;
export const MOST_ALERTS = 100;

export class AlertStore {
  constructor(
    private readonly redis: Redis,
    private readonly names: ControlNames,
    private readonly payloads: Payloads,
  ) {}

  /** Undefined: there are the most alerts that there may be. */
  async add({ webhook, mail, ...rest }: AlertInput, created: number): Promise<Alert | undefined> {
    const targets = toTargets({ webhook, mail }, undefined);
    const id = `alert_${makeRequestId()}`;
    const after = { ...rest, id, created, targets };
    const keys = { alertsKey: this.names.alerts };
    const added = await addScript(this.redis, keys, { most: MOST_ALERTS, id, alert: this.#close(after) });
    return added === 1 ? after : undefined;
  }

  /** `toInput` is asked again when somebody else has changed the alert meanwhile. Undefined: there is no such alert. */
  async change(
    id: string,
    toInput: (before: Alert) => AlertInput,
  ): Promise<{ before: Alert; after: Alert } | undefined> {
    for (;;) {
      const was = await this.redis.hget(this.names.alerts, id);
      if (was === null) return undefined;
      const before = this.#open(was);
      const { webhook, mail, ...rest } = toInput(before);
      const targets = toTargets({ webhook, mail }, before.targets);
      const after = { ...rest, id, created: before.created, targets };
      const args = { id, was, alert: this.#close(after) };
      if ((await changeScript(this.redis, { alertsKey: this.names.alerts }, args)) === 1)
        return { before, after };
    }
  }

  /** Oldest first. */
  async list(): Promise<Alert[]> {
    const stored = await this.redis.hvals(this.names.alerts);
    return stored.map((text) => this.#open(text)).sort((a, b) => a.created - b.created);
  }

  async find(id: string): Promise<Alert | undefined> {
    const stored = await this.redis.hget(this.names.alerts, id);
    return stored === null ? undefined : this.#open(stored);
  }

  async remove(id: string): Promise<boolean> {
    const fields = (await this.firings()).filter(({ alert }) => alert === id).map(fieldOf);
    const keys = { alertsKey: this.names.alerts, firingsKey: this.names.alertFirings };
    return (await removeScript(this.redis, keys, { id, fields })) === 1;
  }

  /** The longest first. */
  async firings(): Promise<Firing[]> {
    const stored = await this.redis.hvals(this.names.alertFirings);
    return stored.map((text) => JSON.parse(text) as Firing).sort((a, b) => a.since - b.since);
  }

  async fire(firing: Firing, notices: readonly Notice[]): Promise<boolean> {
    const { names } = this;
    const keys = { alertsKey: names.alerts, firingsKey: names.alertFirings, ...this.#noticeKeys() };
    const args = { id: firing.alert, field: fieldOf(firing), firing: JSON.stringify(firing) };
    return (await fireScript(this.redis, keys, { ...args, ...noticeArgs(firing.since, notices) })) === 1;
  }

  async keep(firing: Firing): Promise<void> {
    const args = { field: fieldOf(firing), firing: JSON.stringify(firing) };
    await keepScript(this.redis, { firingsKey: this.names.alertFirings }, args);
  }

  async resolve(firing: Firing, at: number, notices: readonly Notice[]): Promise<boolean> {
    const keys = { firingsKey: this.names.alertFirings, ...this.#noticeKeys() };
    const args = { field: fieldOf(firing), ...noticeArgs(at, notices) };
    return (await resolveScript(this.redis, keys, args)) === 1;
  }

  async noteTest(at: number, notices: readonly Notice[]): Promise<void> {
    await noteTestScript(this.redis, this.#noticeKeys(), noticeArgs(at, notices));
  }

  /** Newest first. */
  async notices(limit: number): Promise<Notice[]> {
    const newest = await this.redis.zrange(this.names.alertOrder, String(-limit), '-1');
    if (newest.length === 0) return [];
    const texts = await this.redis.hmget(this.names.alertNotices, ...newest.reverse());
    return texts.flatMap((text) => (text === null ? [] : (JSON.parse(text) as Notice)));
  }

  /** The next notice that is due. Nobody else gets it until then. */
  async claim(now: number, heldUntil: number): Promise<Notice | undefined> {
    const keys = { noticesKey: this.names.alertNotices, dueKey: this.names.alertDue };
    const text = await claimScript(this.redis, keys, {
      now: Math.floor(now),
      heldUntil: Math.ceil(heldUntil),
    });
    return text === null ? undefined : (JSON.parse(text) as Notice);
  }

  async endAttempt(notice: Notice): Promise<void> {
    const keys = { noticesKey: this.names.alertNotices, dueKey: this.names.alertDue };
    const nextAt = notice.nextAt === null ? undefined : Math.ceil(notice.nextAt);
    await endScript(this.redis, keys, { id: notice.id, notice: JSON.stringify(notice), nextAt });
  }

  #noticeKeys(): NoticeKeys {
    const { alertNotices, alertOrder, alertDue } = this.names;
    return { noticesKey: alertNotices, orderKey: alertOrder, dueKey: alertDue };
  }

  #close({ targets, ...rest }: Alert): string {
    const sealed = this.payloads.seal(JSON.stringify(targets), contextOf(rest.id));
    return JSON.stringify({ ...rest, sealed } satisfies StoredAlert);
  }

  #open(text: string): Alert {
    const { sealed, ...rest } = JSON.parse(text) as StoredAlert;
    const opened = this.payloads.tryOpen(sealed, contextOf(rest.id));
    return { ...rest, targets: opened === undefined ? undefined : (JSON.parse(opened) as Targets) };
  }
}

/** Another address gets another secret: whoever read at the old one must not be able to sign for the new one. */
function toTargets(
  { webhook, mail }: Pick<AlertInput, 'webhook' | 'mail'>,
  before: Targets | undefined,
): Targets {
  const secret =
    before?.webhook?.url === webhook && before?.webhook
      ? before.webhook.secret
      : `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
  return {
    ...(webhook === undefined ? {} : { webhook: { url: webhook, secret } }),
    ...(mail === undefined ? {} : { mail }),
  };
}

function fieldOf({ alert, subject }: Firing): string {
  return `${alert}:${subject}`;
}

function noticeArgs(at: number, notices: readonly Notice[]): NoticeArgs {
  return {
    at: Math.floor(at),
    notices: notices.flatMap((notice) => [notice.id, JSON.stringify(notice)]),
  };
}

function contextOf(id: string): string {
  return `alert\n${id}`;
}
