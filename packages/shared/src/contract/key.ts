/** The keys of workspaces. */
import { label, moment, momentOrNull, textOrNull } from './common.js';
import { ownKeyMistake } from './gateway-key.js';
import { ceilingOf, PRIORITIES, type Priority, rankOf } from './priority.js';
import * as s from './structs.js';

const priority = s.choice(...PRIORITIES);
const classFields = {
  /** The class of the key's requests that name no class. */
  priority: s.described(priority, 'The class of its requests that name none.'),
  /** The highest class that a request may name. */
  max_priority: s.described(
    priority,
    'The highest class that a request may name; by default the one of `priority`.',
  ),
};
/** The classes that a key may be given, in the admin api and in gateway.yaml. */
export const classes = s.partial(classFields);

export function* classMistakes({ priority, max_priority: maxPriority }: s.Unread): Iterable<s.Finding> {
  if (!isPriority(priority) || !(isPriority(maxPriority) || maxPriority === undefined)) return;
  if (rankOf(priority) < rankOf(ceilingOf({ priority, maxPriority })))
    yield { at: 'priority', message: 'cannot be above max_priority' };
}

function isPriority(value: unknown): value is Priority {
  return PRIORITIES.some((each) => each === value);
}

const keyFields = {
  id: s.text(),
  object: s.literal('key'),
  workspace: s.text(),
  name: s.text(),
  last_four: s.described(s.text(), 'The last four characters of the key.'),
  created_at: moment,
  /** The person or token that issued or rotated the key. */
  created_by: s.described(textOrNull, 'Who issued or rotated it; null for an old key.'),
  last_used_at: s.described(momentOrNull, 'To within a few seconds.'),
  expires_at: momentOrNull,
  ...classFields,
};
export const key = s.named('Key', s.fields(keyFields));
export type Key = s.Infer<typeof key>;

const value = s.described(s.text(), 'The key itself. Shown here and never again.');
/** The value is left out when the key was there already. */
export const issuedKey = s.named('IssuedKey', s.fields({ ...keyFields, value: s.optional(value) }));
export type IssuedKey = s.Infer<typeof issuedKey>;

export const rotatedKey = s.named('RotatedKey', s.fields({ ...keyFields, value, replaced: key }));
export type RotatedKey = s.Infer<typeof rotatedKey>;

/** What the gateway knows of a value that somebody wants to use as a key. */
export const keySearch = s.named(
  'KeySearch',
  s.fields({
    object: s.literal('key_search'),
    state: s.choice('unused', 'issued', 'revoked'),
    key: s.orNull(key),
    revoked_at: momentOrNull,
  }),
);
export type KeySearch = s.Infer<typeof keySearch>;

const SEARCHED: s.TextRule = { pattern: /^[!-~]{1,200}$/, allowed: 'a key of at most 200 characters' };
export const keyQuestion = s.fields({ values: s.list(s.textOf(SEARCHED), { min: 1, max: 1000 }) });

const ownValue = s.described(
  s.ruled<string>({ type: 'string' }, (value) =>
    typeof value === 'string' ? ownKeyMistake(value) : 'must be a text',
  ),
  'A value of your own, 32 to 200 letters, digits, _ . and -.',
);
const expiry = s.optional(momentOrNull);

export const keyInput = s.named(
  'KeyInput',
  s.fields(
    {
      name: label,
      expires_at: expiry,
      value: s.optional(ownValue),
      ...classes,
    },
    { check: classMistakes },
  ),
);

export const keyChange = s.named(
  'KeyChange',
  s.fields({ name: s.optional(label), expires_at: expiry, ...classes }, { check: classMistakes }),
);

const MAX_GRACE_S = 90 * 24 * 3600;
const DEFAULT_GRACE_S = 24 * 3600;

export const rotation = s.named(
  'Rotation',
  s.fields({
    grace_seconds: s.withDefault(
      s.described(s.whole({ min: 0, max: MAX_GRACE_S }), { default: DEFAULT_GRACE_S }),
      DEFAULT_GRACE_S,
    ),
    expires_at: s.described(
      expiry,
      'When the new key ends; null for never. Left out: when the old one would have ended.',
    ),
  }),
);
