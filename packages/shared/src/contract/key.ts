/** The keys of workspaces. */
import { label, moment, momentOrNull, textOrNull } from './common.js';
import { ownKeyMistake } from './gateway-key.js';
import { classes, classFields, classMistakes } from './priority.js';
import * as s from './structs.js';

const keyFields = {
  id: s.text(),
  object: s.literal('key'),
  workspace: s.text(),
  name: s.text(),
  last_four: s.text().about('The last four characters of the key.'),
  created_at: moment,
  /** The person or token that issued or rotated the key. */
  created_by: textOrNull.about('Who issued or rotated it; null for an old key.'),
  last_used_at: momentOrNull.about('To within a few seconds.'),
  expires_at: momentOrNull,
  ...classFields,
};
export const key = s.component('Key', keyFields);
export type Key = s.Infer<typeof key>;

const value = s.text().about('The key itself. Shown here and never again.');
/** The value is left out when the key was there already. */
export const issuedKey = s.component('IssuedKey', { ...keyFields, value: s.optional(value) });
export type IssuedKey = s.Infer<typeof issuedKey>;

export const rotatedKey = s.component('RotatedKey', { ...keyFields, value, replaced: key });
export type RotatedKey = s.Infer<typeof rotatedKey>;

/** What the gateway knows of a value that somebody wants to use as a key. */
export const keySearch = s.component('KeySearch', {
  object: s.literal('key_search'),
  state: s.choice('unused', 'issued', 'revoked'),
  key: s.orNull(key),
  revoked_at: momentOrNull,
});
export type KeySearch = s.Infer<typeof keySearch>;

const SEARCHED: s.TextRule = { pattern: /^[!-~]{1,200}$/, allowed: 'a key of at most 200 characters' };
export const keyQuestion = s.fields({ values: s.list(s.textOf(SEARCHED), { min: 1, max: 1000 }) });

const ownValue = s
  .ruled<string>({ type: 'string' }, (value) =>
    typeof value === 'string' ? ownKeyMistake(value) : 'must be a text',
  )
  .about('A value of your own, 32 to 200 letters, digits, _ . and -.');
const expiry = s.optional(momentOrNull);

export const keyInput = s.component(
  'KeyInput',
  {
    name: label,
    expires_at: expiry,
    value: s.optional(ownValue),
    ...classes,
  },
  { check: classMistakes },
);

export const keyChange = s.component(
  'KeyChange',
  { name: s.optional(label), expires_at: expiry, ...classes },
  { check: classMistakes },
);

const MAX_GRACE_S = 90 * 24 * 3600;
const DEFAULT_GRACE_S = 24 * 3600;

export const rotation = s.component('Rotation', {
  grace_seconds: s.withDefault(
    s.whole({ min: 0, max: MAX_GRACE_S }).about({ default: DEFAULT_GRACE_S }),
    DEFAULT_GRACE_S,
  ),
  expires_at: expiry.about(
    'When the new key ends; null for never. Left out: when the old one would have ended.',
  ),
});
