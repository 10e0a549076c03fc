/** gateway.yaml. */
import { isIP } from 'node:net';
import { grantInput } from './access.js';
import { COUNT, DURATION_MS, ID, id, LONGEST_DEADLINE_MS, label } from './common.js';
import { classes, classMistakes } from './priority.js';
import { provider } from './provider.js';
import { ALIAS, routeInputFor } from './route.js';
import * as s from './structs.js';
import { workspaceChanges } from './workspace.js';

/** A part of the file that may be left out, when all of its fields may. */
function section<const S extends s.Schema>(schema: S, options?: ConstructorParameters<typeof s.Fields>[1]) {
  return s.withDefault(s.fields(schema, options), {});
}

const BYTES_IN_FLIGHT: s.NumberRule = { min: 1024, max: 68_719_476_736 };
const maxBodyBytes = s.withDefault(s.whole({ min: 1024, max: 104_857_600 }), 10_485_760);
/** The total must fit at least one body of the allowed size. */
const bodiesInFlight = s.optional(
  s.chosen<number>({}, (_, context) => {
    const { max_body_bytes: given } = (context.branch.at(-2) ?? {}) as s.Unread;
    const least = maxBodyBytes.coercer(given, context);
    return s.whole({ ...BYTES_IN_FLIGHT, min: maxBodyBytes.is(least) ? Number(least) : 0 });
  }),
);

const request = section({
  deadline_ms: s.withDefault(s.whole(DURATION_MS), 300_000),
  /** The same for a request in the background that names no deadline. */
  background_deadline_ms: s.withDefault(s.whole({ min: 1, max: LONGEST_DEADLINE_MS }), 3_600_000),
  max_body_bytes: maxBodyBytes,
  /** The most bytes of bodies that an api process has accepted and not yet answered. */
  max_bytes_in_flight: bodiesInFlight,
  /** The most of these bytes that one workspace may have. */
  max_bytes_in_flight_per_workspace: bodiesInFlight,
  /** The most bytes of large answers that a worker process holds at a time. */
  max_answer_bytes_in_flight: s.withDefault(s.whole(BYTES_IN_FLIGHT), 16_777_216),
  /** The most bytes of answers to Idempotency-Keys that a workspace keeps in Redis. */
  max_kept_answer_bytes: s.withDefault(s.whole({ ...BYTES_IN_FLIGHT, min: 0 }), 67_108_864),
  /** How long a caller may take to send a request, its body included. */
  receive_timeout_ms: s.withDefault(s.whole(DURATION_MS), 30_000),
  /**
   * Levels of nested arrays and objects. The lower end exceeds any real request. At the upper end, serialising the request
   * does not overflow the stack yet.
   */
  max_depth: s.withDefault(s.whole({ min: 16, max: 512 }), 64),
  /** Keys of objects, over the whole body. So are the next counts. */
  max_keys: s.withDefault(s.whole(COUNT), 50_000),
  max_elements: s.withDefault(s.whole(COUNT), 100_000),
  max_messages: s.withDefault(s.whole(COUNT), 10_000),
  /** Content parts of messages. */
  max_parts: s.withDefault(s.whole(COUNT), 20_000),
});

const LOG_ENTRIES: s.NumberRule = { min: 1, max: 100_000_000 };
const TAG: s.TextRule = { pattern: /^[\w.:/-]{1,64}$/, allowed: '1 to 64 letters, digits and _ . : / -' };
const requestLog = section({
  max_entries: s.withDefault(s.whole(LOG_ENTRIES), 100_000),
  /** The refusals of a workspace that an api process logs one by one. Further ones are counted and logged together. */
  max_refusals_per_minute: s.withDefault(s.whole(LOG_ENTRIES), 60),
  /** The tags whose values are labels of metrics. */
  metric_tags: s.withDefault(s.list(s.textOf(TAG), { max: 8 }), []),
});

const days = s.textOf({
  pattern: /^(?:[1-9]\d{0,4}d|forever)$/,
  allowed: 'a number of days such as 90d, or forever',
});
/** How the request log is kept in PostgreSQL. */
const archive = section({
  keep_requests: s.withDefault(days, '400d'),
  keep_spend: s.withDefault(days, 'forever'),
  /** The largest log in Redis while PostgreSQL is away. Further entries go to disk. */
  max_redis_bytes: s.withDefault(s.whole({ min: 1024, max: 1_099_511_627_776 }), 268_435_456),
});

/** Where the model registry is refreshed from, and how often. */
const registry = section({
  url: s.optional(s.httpUrl),
  refresh_hours: s.withDefault(s.number({ min: 0.001, max: 8760 }), 24),
  allow_private_addresses: s.withDefault(s.flag, false),
});

const ORIGIN: s.TextRule = {
  pattern: /^(?:\*|https?:\/\/[^\s/?#@]+)$/i,
  allowed: 'an origin such as https://app.example, without a path, or *',
};
/** Browsers write an origin in lower case and without the standard port. */
const origin = s.textOf(ORIGIN, (text) => (URL.canParse(text) ? new URL(text).origin : text));
/** Origins whose pages may call the gateway from a browser; `*` is any. */
const cors = section({ origins: s.withDefault(s.list(origin), []) });

const FILE_BYTES: s.NumberRule = { min: 1024, max: 209_715_200 };
/** What a workspace may store for its batches. */
const files = section({
  max_file_bytes: s.withDefault(s.whole(FILE_BYTES), FILE_BYTES.max),
  max_bytes_per_workspace: s.withDefault(s.whole({ min: 0, max: 1_099_511_627_776 }), 5_368_709_120),
  max_files_per_workspace: s.withDefault(s.whole({ min: 0, max: 10_000 }), 1_000),
});

const batches = section({
  /** The most lines of one batch that wait or run at a time. */
  lines_in_flight: s.withDefault(s.whole({ min: 1, max: 1_000 }), 32),
  max_active_per_workspace: s.withDefault(s.whole({ min: 0, max: 1_000 }), 20),
  /** How long after its creation a provider's batch is first asked for. Later waits grow. */
  provider_poll_ms: s.withDefault(s.whole({ min: 100, max: 600_000 }), 30_000),
});

const webhooks = section({
  /** Whether a webhook may lead into a private network, or have an address without TLS. */
  allow_private_addresses: s.withDefault(s.flag, false),
  max_per_workspace: s.withDefault(s.whole({ min: 0, max: 100 }), 5),
  timeout_ms: s.withDefault(s.whole({ min: 100, max: 60_000 }), 10_000),
  /** The wait after the first failure. Later waits grow. */
  first_retry_ms: s.withDefault(s.whole({ min: 10, max: 3_600_000 }), 5_000),
});

const words = s.textOf({
  pattern: /^\P{C}{1,256}$/u,
  allowed: 'a text of 1 to 256 printable characters',
});
const claim = s.textOf({ pattern: /^\S{1,256}$/, allowed: 'the name of a claim' });
const header = s.textOf({ pattern: /^[\w-]{1,64}$/, allowed: 'the name of a header' }, (name) =>
  name.toLowerCase(),
);
const NETWORK: s.TextRule = {
  pattern: /^\S+$/,
  allowed: 'an IP address or a network such as 10.0.0.0/8',
};
const network = s.refined(s.textOf(NETWORK), isNetwork, `must be ${NETWORK.allowed}`);

function isNetwork(text: string): boolean {
  const [address = '', bits = '0', ...rest] = text.split('/');
  const most = isIP(address) === 4 ? 32 : 128;
  return isIP(address) !== 0 && rest.length === 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= most;
}

function isSafeIssuer(issuer: string): boolean {
  return !issuer.startsWith('http:') || /^http:\/\/(?:localhost|127\.|\[::1\])/.test(issuer);
}

const oidc = s.fields({
  issuer: s.refined(s.httpUrl, isSafeIssuer, 'must be an https address'),
  client_id: words,
  client_secret: s.optional(s.secret),
  scopes: s.withDefault(words, 'openid profile email groups'),
  /** A claim, or a path such as `realm_access.roles`. */
  groups_claim: s.withDefault(claim, 'groups'),
  /** On the button: "Sign in with …". */
  label: s.withDefault(words, 'single sign-on'),
});

const proxy = s.fields({
  /** Addresses and networks that are believed. */
  addresses: s.list(network, { min: 1, max: 100 }),
  user_header: s.withDefault(header, 'x-forwarded-email'),
  groups_header: s.withDefault(header, 'x-forwarded-groups'),
});

/** The people who may use the console, and how they sign in, beside ADMIN_TOKEN. */
const access = section(
  {
    /** Where people reach the console. */
    console_url: s.optional(
      s.refined(
        s.httpUrl,
        (url) => new URL(url).pathname === '/',
        'must have no path; the console is at the root of its host',
      ),
    ),
    oidc: s.optional(oidc),
    proxy: s.optional(proxy),
    /** What the members of a group may do, by the name of the group. */
    groups: s.withDefault(s.record(s.fields(grantInput)), {}),
    /** Whether admins may add providers beside those of gateway.yaml. */
    add_providers: s.withDefault(s.flag, true),
  },
  {
    *check({ console_url: url, oidc, proxy, groups }) {
      if (oidc !== undefined && url === undefined)
        yield {
          at: 'console_url',
          message: 'is missing; the provider of access.oidc sends people back to it',
        };
      if ((oidc ?? proxy) !== undefined && s.isMap(groups) && Object.keys(groups).length === 0)
        yield { at: 'groups', message: 'is missing; without a group nobody who signs in has a role' };
    },
  },
);

const workspaceKey = s.fields(
  { name: label, value: s.optional(s.secret), ...classes },
  { check: classMistakes },
);

/** Each has a queue, which every process watches. */
export const MAX_PROVIDERS = 1_000;

const { name, models, limits } = workspaceChanges;

/** `providers`: the names that an entry may have. `any`: every name, because they are not known here. */
export function gatewayFile(providers: readonly string[] | 'any') {
  const routes = s.record(routeInputFor(providers), {
    nameMistake: (alias) => (ALIAS.pattern.test(alias) ? undefined : `an alias must be ${ALIAS.allowed}`),
  });
  const workspace = s.fields({
    id,
    name,
    keys: s.withDefault(s.list(workspaceKey, { unique: 'name' }), []),
    routes: s.withDefault(routes, {}),
    models,
    limits,
  });
  return s.fields({
    providers: s.record(provider, {
      nameMistake: (name) =>
        ID.pattern.test(name) ? undefined : `the name of a provider must be ${ID.allowed}`,
      atLeastOne: 'leave it out for the defaults',
      max: MAX_PROVIDERS,
    }),
    workspaces: s.withDefault(s.list(workspace, { unique: 'id' }), []),
    request,
    request_log: requestLog,
    archive,
    registry,
    cors,
    files,
    batches,
    webhooks,
    access,
  });
}

export type GatewayFile = s.Infer<ReturnType<typeof gatewayFile>>;
