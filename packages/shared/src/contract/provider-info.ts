/** Providers as they are configured, and how they stand. */
import { type List, moment, momentOrNull, textOrNull, wholeOrNull } from './common.js';
import * as s from './structs.js';

/** One limit per minute, and how much of it is used now. */
const limitUse = s.fields({
  type: s.choice('requests', 'tokens', 'input_tokens', 'output_tokens'),
  models: s.described(textOrNull, 'A pattern; null for all models.'),
  limit: s.described(s.whole(), 'Per minute.'),
  used: s.described(s.whole(), 'Of the last minute, calls under way included.'),
});
export type LimitUse = s.Infer<typeof limitUse>;

/** One of several keys of a provider. */
const providerKey = s.fields({
  name: s.text(),
  active: s.described(s.whole(), 'Calls under way.'),
  state: s.described(
    s.choice('open', 'limited', 'refused'),
    'Limited: left alone after a 429. Refused: left alone after a 401 or 403.',
  ),
  /** Until when it is left alone. */
  until: momentOrNull,
  weight: wholeOrNull,
  limits: s.list(limitUse),
});
export type ProviderKeyInfo = s.Infer<typeof providerKey>;

export const providerInfo = s.named(
  'Provider',
  s.fields({
    object: s.literal('provider'),
    name: s.text(),
    kind: s.text(),
    /** Where chat calls go. */
    address: s.text(),
    prices: s.text(),
    source: s.described(
      s.choice('file', 'added'),
      'Added: it is not in gateway.yaml, but was added by PUT /providers/{provider}.',
    ),
    /** Null for a provider of the file, and for those who are no admins. */
    settings: s.orNull(
      s.any<Readonly<Record<string, unknown>>>({
        type: 'object',
        description:
          'The settings of an added provider as they were written, for admins of the gateway. Its keys are not among them, and a header says only that it is set: true.',
      }),
    ),
    credentials: s.described(
      s.text(),
      'The variable of its key, or token_file, token_command, sigv4 or none. Stored: the key of an added provider, which is never shown.',
    ),
    concurrency: s.whole(),
    max_wait_ms: s.whole(),
    limits: s.list(limitUse),
    keys: s.described(s.list(providerKey), 'Empty when it has only one key.'),
  }),
);
export type ProviderInfo = s.Infer<typeof providerInfo>;

export const providerPage = {
  can_add: s.described(s.flag, 'False: access.add_providers is false.'),
};
export type ProviderList = List<ProviderInfo> & s.FieldsOf<typeof providerPage>;

/** What came of one real call of a provider. */
export const providerVerdict = s.named(
  'ProviderTest',
  s.fields({
    object: s.literal('provider_test'),
    provider: s.text(),
    /** Null when none is known to try. */
    model: textOrNull,
    works: s.flag,
    /** In words; null when it works. */
    problem: textOrNull,
    /** The status of the answer. Null when there was none. */
    status: wholeOrNull,
    ms: s.whole(),
  }),
);
export type ProviderVerdict = s.Infer<typeof providerVerdict>;

export const coolDown = s.named(
  'CoolDown',
  s.fields({
    object: s.literal('cooldown'),
    provider: s.text(),
    model: s.described(textOrNull, 'Null: all models of the provider.'),
    service_tier: s.described(textOrNull, 'Null: all tiers.'),
    until: moment,
    remaining_ms: s.described(s.whole(), '0: it is probed.'),
    asked_until: s.described(moment, 'What the provider asked for.'),
  }),
);
export type CoolDown = s.Infer<typeof coolDown>;

export const liftedCoolDowns = s.named(
  'LiftedCoolDowns',
  s.fields({ object: s.literal('cooldown'), provider: s.text(), model: textOrNull, lifted: s.whole() }),
);

export const queue = s.named(
  'Queue',
  s.fields({ object: s.literal('queue'), provider: s.text(), paused: s.flag }),
);
