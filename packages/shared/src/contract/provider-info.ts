/** Providers as they are configured, and how they stand. */
import { type List, moment, momentOrNull, textOrNull, wholeOrNull } from './common.js';
import { PRESETS } from './presets.js';
import * as s from './structs.js';

/** What a limit per minute is about. */
export const LIMIT_TYPES = ['requests', 'tokens', 'input_tokens', 'output_tokens'] as const;

/** One limit per minute, and how much of it is used now. */
const limitUse = s.fields({
  type: s.choice(...LIMIT_TYPES),
  models: textOrNull.about('A pattern; null for all models.'),
  limit: s.whole().about('Per minute.'),
  source: s
    .choice('set', 'announced', 'found')
    .about(
      'Set by the operator, announced by the provider while much of it is used, or found by its refusals.',
    ),
  used: s.whole().about('Of the last minute, calls under way included.'),
});
export type LimitUse = s.Infer<typeof limitUse>;

/** One of several keys of a provider. */
const providerKey = s.fields({
  name: s.text(),
  active: s.whole().about('Calls under way.'),
  state: s
    .choice('open', 'limited', 'refused')
    .about('Limited: left alone after a 429. Refused: left alone after a 401 or 403.'),
  /** Until when it is left alone. */
  until: momentOrNull,
  weight: wholeOrNull,
  limits: s.list(limitUse),
});
export type ProviderKeyInfo = s.Infer<typeof providerKey>;

export const providerInfo = s.component('Provider', {
  object: s.literal('provider'),
  name: s.text(),
  kind: s.text(),
  /** Where chat calls go. */
  address: s.text(),
  prices: s.text(),
  source: s
    .choice('file', 'added')
    .about('Added: it is not in gateway.yaml, but was added by PUT /providers/{provider}.'),
  file: s
    .orNull(
      s.fields({
        path: s.text(),
        line: wholeOrNull.about('Null: the file does not name it, and it is there by default.'),
        taken_over: s.flag.about('An added provider takes its place as soon as the file no longer names it.'),
      }),
    )
    .about(
      'Where gateway.yaml has it. Null for an added one, and for those without a role in the whole gateway.',
    ),
  /** Null for a provider of the file, and for those who are no admins. */
  settings: s.orNull(
    s.any<Readonly<Record<string, unknown>>>({
      type: 'object',
      description:
        'The settings of an added provider as they were written, for admins of the gateway. Its keys are not among them, and a header says only that it is set: true.',
    }),
  ),
  credentials: s
    .text()
    .about(
      'The variable of its key, or token_file, token_command, sigv4 or none. Stored: the key of an added provider, which is never shown.',
    ),
  concurrency: wholeOrNull.about('The most calls at a time. Null: as many as the provider is found to take.'),
  max_wait_ms: s.whole(),
  limits: s.list(limitUse),
  keys: s.list(providerKey).about('Empty when it has only one key.'),
});
export type ProviderInfo = s.Infer<typeof providerInfo>;

/** What is told of a provider of the file, as settings of an added one. Its key is not among it, and no path of its own. */
export function settingsOfFile({ name, kind, address, prices, concurrency, limits }: ProviderInfo) {
  const end = kind === 'anthropic' ? '/v1/messages' : '/chat/completions';
  if (!address.endsWith(end)) return {};
  const base_url = address.slice(0, -end.length);
  const set = limits.filter(({ models, source }) => models === null && source === 'set');
  return {
    ...(PRESETS[name]?.base_url === base_url ? { preset: name } : { kind, base_url }),
    prices,
    ...(concurrency === null ? {} : { concurrency }),
    ...(set.length === 0
      ? {}
      : { limits: Object.fromEntries(set.map(({ type, limit }) => [`${type}_per_minute`, limit])) }),
  };
}

export const providerPage = {
  can_add: s.flag.about('False: access.add_providers is false.'),
};
export type ProviderList = List<ProviderInfo> & s.FieldsOf<typeof providerPage>;

/** What came of one real call of a provider. */
export const providerVerdict = s.component('ProviderTest', {
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
});
export type ProviderVerdict = s.Infer<typeof providerVerdict>;

export const coolDown = s.component('CoolDown', {
  object: s.literal('cooldown'),
  provider: s.text(),
  model: textOrNull.about('Null: all models of the provider.'),
  service_tier: textOrNull.about('Null: all tiers.'),
  until: moment,
  remaining_ms: s.whole().about('0: it is probed.'),
  asked_until: moment.about('What the provider asked for.'),
});
export type CoolDown = s.Infer<typeof coolDown>;

export const liftedCoolDowns = s.component('LiftedCoolDowns', {
  object: s.literal('cooldown'),
  provider: s.text(),
  model: textOrNull,
  lifted: s.whole(),
});

export const queue = s.component('Queue', { object: s.literal('queue'), provider: s.text(), paused: s.flag });
