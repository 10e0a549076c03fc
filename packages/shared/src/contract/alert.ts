/** "Tell me when …": what an operator wants to be told of, and what was sent. */
import { id, label, moment, momentOrNull, textOrNull, webhookAddress } from './common.js';
import * as s from './structs.js';

interface AlertKind extends s.NumberRule {
  /** Completes "Tell me when …", with `#` for the threshold and `~` for the minutes. */
  text: string;
  /** Of `above`. Absent: the kind has no threshold. */
  unit?: string;
  standard: number;
  /** What the kind can be narrowed down to. */
  of: 'workspace' | 'provider';
  /** Whether it counts over the latest minutes. */
  counts?: true;
}

export const ALERT_KINDS = {
  budget: {
    text: 'a workspace has used # % of its monthly budget',
    ...{ unit: 'percent', standard: 80, min: 1, max: 1_000, of: 'workspace' },
  },
  failure_rate: {
    text: '# % of the requests of ~ minutes fail',
    ...{ unit: 'percent', standard: 5, min: 0.1, max: 100, of: 'workspace', counts: true },
  },
  refusals: {
    text: '# requests are refused in ~ minutes',
    ...{ unit: 'requests', standard: 100, min: 1, max: 1_000_000_000, of: 'workspace', counts: true },
  },
  waiting_time: {
    text: 'a request has waited # seconds for a provider',
    ...{ unit: 'seconds', standard: 30, min: 1, max: 86_400, of: 'provider' },
  },
  provider_down: {
    text: 'a provider fails, and only probes are sent to it',
    ...{ standard: 0, min: 0, max: 0, of: 'provider' },
  },
  batch_late: {
    text: 'a batch has been under way for # hours',
    ...{ unit: 'hours', standard: 12, min: 0.1, max: 720, of: 'workspace' },
  },
} as const satisfies Record<string, AlertKind>;
export type AlertKindName = keyof typeof ALERT_KINDS;
export const ALERT_KIND_NAMES = Object.keys(ALERT_KINDS) as AlertKindName[];

export function alertKind(name: AlertKindName): AlertKind {
  return ALERT_KINDS[name];
}

/** The condition as it is read. Without figures it is open what they are. */
export function alertText(
  name: AlertKindName,
  above: number | null = null,
  minutes: number | null = null,
): string {
  return alertKind(name)
    .text.replace('#', String(above ?? '…'))
    .replace('~', String(minutes ?? '…'));
}

/** What an alert watches, as it is listed. */
export function watchedText({
  workspace,
  provider,
  gone,
}: Pick<AlertView, 'workspace' | 'provider' | 'gone'>): string {
  return `${workspace ?? provider ?? 'all'}${gone ? ' (no longer there)' : ''}`;
}

export const ALERT_MINUTES = { min: 1, max: 60, standard: 15 };
const MOST_ADDRESSES = 10;

/** Of any kind. Each kind has bounds of its own within these. */
const aboveRule = s.number({ min: 0, max: 1_000_000_000 });
const when = s.choice(...ALERT_KIND_NAMES);
/** No quotes, comments or lists: what stands here goes into the head of a mail. */
const MAIL: s.TextRule = {
  pattern: /^[\w.+/=-]{1,64}@[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){0,8}$/i,
  allowed: 'a mail address',
};

const inputFields = {
  name: label,
  above: aboveRule,
  minutes: s.whole(ALERT_MINUTES),
  workspace: id,
  provider: id,
  webhook: webhookAddress,
  mail: s.refined(
    s.list(s.textOf(MAIL), { min: 1, max: MOST_ADDRESSES }),
    (all) => new Set(all.map((each) => each.toLowerCase())).size === all.length,
    'must not have an address twice',
  ),
};

export const alertInput = s.fields(
  {
    name: s.optional(inputFields.name),
    when,
    above: s.optional(inputFields.above),
    minutes: s.optional(inputFields.minutes),
    workspace: s.optional(inputFields.workspace),
    provider: s.optional(inputFields.provider),
    webhook: s.optional(inputFields.webhook),
    mail: s.optional(inputFields.mail),
  },
  {
    *check(value) {
      if (value.webhook === undefined && value.mail === undefined)
        yield { at: 'webhook', message: 'is missing: name webhook, mail or both' };
      if (!when.is(value.when)) return;
      const kind = value.when as AlertKindName;
      const { unit, min, max, of, counts } = alertKind(kind);
      const { above } = value;
      if (unit === undefined && above !== undefined)
        yield { at: 'above', message: `has no meaning for ${kind}` };
      else if (aboveRule.is(above) && (Number(above) < min || Number(above) > max))
        yield { at: 'above', message: `must be a number of ${unit} from ${min} to ${max}` };
      const other = of === 'workspace' ? 'provider' : 'workspace';
      for (const name of [other, ...(counts ? [] : ['minutes'])])
        if (value[name] !== undefined) yield { at: name, message: `has no meaning for ${kind}` };
    },
  },
);
export type AlertInput = s.Infer<typeof alertInput>;

/** Null takes a field away. Another kind is another alert. */
export const alertChange = s.component('AlertChange', {
  name: s.optional(s.orNull(inputFields.name)),
  above: s.optional(s.orNull(inputFields.above)),
  minutes: s.optional(s.orNull(inputFields.minutes)),
  workspace: s.optional(s.orNull(inputFields.workspace)),
  provider: s.optional(s.orNull(inputFields.provider)),
  webhook: s.optional(s.orNull(inputFields.webhook)),
  mail: s.optional(s.orNull(inputFields.mail)),
});
export type AlertChange = s.Infer<typeof alertChange>;

const firing = s.fields({
  subject: textOrNull.about('The workspace, provider or batch. Null: the whole gateway.'),
  since: moment,
  value: s.orNull(s.number()),
  text: s.text(),
});
export type AlertFiring = s.Infer<typeof firing>;

const alertFields = {
  id: s.text(),
  object: s.literal('alert'),
  name: textOrNull,
  when,
  above: s.orNull(s.number()).about('In percent, requests, seconds or hours, as the kind has it.'),
  minutes: s.orNull(s.whole()).about('Over how many of the latest minutes it counts.'),
  workspace: textOrNull.about('Null: any, or all together.'),
  provider: textOrNull,
  gone: s.flag.about('Whether this workspace or provider is no longer there: then nothing is watched.'),
  webhook: textOrNull.about('Host of the address. The rest of it may be a secret.'),
  mail: s.list(s.text()),
  created_at: moment,
  firing: s.list(firing),
};
export const alert = s.component('Alert', alertFields);
export type AlertView = s.Infer<typeof alert>;

export const createdAlert = s.component('CreatedAlert', {
  ...alertFields,
  secret: textOrNull.about('Signs the messages to the webhook. It is shown only now. Null: it is not new.'),
});
export type CreatedAlert = s.Infer<typeof createdAlert>;

export const NOTICE_TYPES = ['alert.fired', 'alert.resolved', 'alert.test'] as const;
export type NoticeType = (typeof NOTICE_TYPES)[number];

export const alertNotice = s.component('AlertNotice', {
  id: s.text(),
  object: s.literal('alert_notice'),
  alert: s.text(),
  type: s.choice(...NOTICE_TYPES),
  text: s.text(),
  to: s.choice('webhook', 'mail'),
  state: s.choice('waiting', 'delivered', 'failed'),
  attempts: s.whole(),
  outcome: textOrNull.about('A status, or a word such as timeout.'),
  created_at: moment,
  last_attempt_at: momentOrNull,
  next_attempt_at: momentOrNull,
});
export type AlertNotice = s.Infer<typeof alertNotice>;
