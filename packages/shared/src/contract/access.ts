/** The people and programs that may use the admin api, and what they did. */
import { id, type List, label, moment, momentOrNull, textOrNull } from './common.js';
import * as s from './structs.js';

/** A viewer looks, an operator keeps the gateway running, an admin decides who uses it. Each includes those before. */
export const ROLES = ['viewer', 'operator', 'admin'] as const;
export type Role = (typeof ROLES)[number];

const role = s.choice(...ROLES);
const workspaces: s.Shape<readonly string[]> = s.list(s.text());
const granted = {
  role,
  workspaces: s.orNull(workspaces).about('Null: all of them, and the gateway as a whole.'),
};
const grant = s.fields(granted);
export type PresentedGrant = s.Infer<typeof grant>;

/** A grant as it is written. Without workspaces it holds in all of them and for the whole gateway. */
export const grantInput = {
  role,
  workspaces: s.optional(s.orNull(s.list(id, { min: 1, max: 100 }))),
};

const tokenFields = {
  id: s.text(),
  object: s.literal('token'),
  name: s.text(),
  ...granted,
  last_four: s.text(),
  created_at: moment,
  created_by: s.text(),
  last_used_at: momentOrNull.about('To within a minute.'),
  expires_at: momentOrNull,
};
export const adminToken = s.component('AdminToken', tokenFields);
export type AdminToken = s.Infer<typeof adminToken>;

export const issuedToken = s.component('IssuedToken', {
  ...tokenFields,
  value: s.text().about('The token itself. Shown here and never again.'),
});
export type IssuedToken = s.Infer<typeof issuedToken>;

export const tokenInput = s.component('TokenInput', {
  name: label,
  ...grantInput,
  expires_at: s.optional(momentOrNull),
});

export const TOKEN: s.TextRule = { pattern: /^[!-~]+(?: [!-~]+)*$/, allowed: 'printable ASCII' };
const LINK: s.TextRule = { pattern: /^[\w-]{1,200}$/, allowed: 'the last part of a sign-in link' };

export const signInInput = s.component(
  'SignInInput',
  s.partial({ token: s.textOf(TOKEN), link: s.textOf(LINK) }),
  {
    *check({ token, link }) {
      if ((token === undefined) === (link === undefined)) yield { message: 'must have either token or link' };
    },
  },
);

export const signInLink = s.component('SignInLink', {
  object: s.literal('sign_in_link'),
  path: s.text().about('To be put behind the console’s address.'),
  expires_at: moment,
});
export type SignInLink = s.Infer<typeof signInLink>;

/** The person who is signed in with a browser. */
export const session = s.component('Session', {
  object: s.literal('session'),
  /** Null: nobody is signed in. */
  person: s.orNull(
    s.fields({
      name: s.text(),
      way: s.choice('token', 'link', 'oidc', 'proxy'),
      grants: s.list(grant),
      signed_in_at: momentOrNull.about('Null for somebody whom a proxy has signed in.'),
      expires_at: momentOrNull,
    }),
  ),
  oidc: textOrNull.about('What the button says that leads to /sign-in/oidc. Null: there is no such sign-in.'),
});
export type SignedIn = s.Infer<typeof session>;

/** A browser that is signed in. */
export const openSession = s.component('OpenSession', {
  id: s.text().about('The audit trail names it as `credential`.'),
  object: s.literal('open_session'),
  name: s.text(),
  way: s.choice('token', 'link', 'oidc'),
  grants: s.list(grant),
  address: s.text().about('Where the sign-in came from.'),
  signed_in_at: moment,
  seen_at: moment.about('To within a minute.'),
  expires_at: moment,
  own: s.flag.about('It is the one that asks.'),
});
export type OpenSession = s.Infer<typeof openSession>;

/** A change, a sign-in, or an attempt at one of them. */
export const auditRecord = s.component('Audit', {
  object: s.literal('audit'),
  /** The record's place in the audit trail. */
  cursor: s.text(),
  at: moment,
  /** `PUT /workspaces/{id}/routes/{alias}`, or `sign in by token`. */
  action: s.text(),
  path: s.text(),
  who: textOrNull.about('Null: nobody knows.'),
  via: textOrNull,
  credential: textOrNull.about('Id of a session or a token.'),
  address: s.text(),
  request_id: s.text(),
  workspace: textOrNull,
  status: s.whole().about('2xx: it was done.'),
  before: s.orNull(s.any<unknown>({ type: 'object' })),
  after: s.orNull(s.any<unknown>({ type: 'object' })),
});
export type AuditRecord = s.Infer<typeof auditRecord>;

export const auditPage = { has_more: s.flag, next_before: textOrNull };
export type AuditPage = List<AuditRecord> & s.FieldsOf<typeof auditPage>;
