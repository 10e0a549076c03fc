/** gateway.yaml as the gateway uses it, with its defaults. It holds no secret, so every process may load it. */
import type { Role } from '../contract/access.js';
import type { GatewayFile } from '../contract/gateway-file.js';
import { type LimitsConfig, toLimits } from '../contract/limits.js';
import { toCamel } from '../contract/names.js';
import type { KeyPriority } from '../contract/priority.js';
import { type RouteConfig, toRoute } from '../contract/route.js';
import { toProvider } from './provider.js';

const HOUR_MS = 3_600_000;
const LEAST_IN_FLIGHT = 33_554_432;

export type GatewayConfig = ReturnType<typeof toGatewayConfig>;
export type AccessConfig = GatewayConfig['access'];
export type OidcConfig = NonNullable<AccessConfig['oidc']>;
export type ProxyConfig = NonNullable<AccessConfig['proxy']>;
export type ArchiveConfig = GatewayConfig['archive'];
/** The limits of a request's structure. */
export type RequestLimits = GatewayConfig['request']['limits'];

/** A role and the workspaces in which it holds. Without a list it holds in all of them and for the whole gateway. */
export interface Grant {
  role: Role;
  workspaces?: readonly string[];
}

export interface KeyConfig extends KeyPriority {
  name: string;
  /** The variable that holds the key's value; see resolveWorkspaceKeys. */
  valueEnv: string | undefined;
}

export interface WorkspaceConfig {
  id: string;
  name: string | undefined;
  keys: KeyConfig[];
  /** Alias → route. */
  routes: Map<string, RouteConfig>;
  /** The routes and model ids that callers may name as `model`. `*` stands for any characters. Undefined: all. */
  models: string[] | undefined;
  limits: LimitsConfig;
}

export function toGatewayConfig(file: GatewayFile) {
  const { registry, archive, cors } = file;
  return {
    providers: mapOf(file.providers, (provider, name) => toProvider(name, provider)),
    workspaces: file.workspaces.map(toWorkspace),
    request: toRequest(file.request),
    archive: {
      /** Undefined: entries are kept for ever. */
      keepRequestsDays: daysIn(archive.keep_requests),
      keepSpendDays: daysIn(archive.keep_spend),
      maxRedisBytes: archive.max_redis_bytes,
    },
    access: toAccess(file.access),
    registry: {
      url: registry.url,
      refreshMs: HOUR_MS * registry.refresh_hours,
      allowPrivateAddresses: registry.allow_private_addresses,
    },
    cors,
    files: toCamel(file.files),
    batches: toCamel(file.batches),
    webhooks: toCamel(file.webhooks),
    requestLog: toCamel(file.request_log),
  };
}

function mapOf<T, R>(
  record: Readonly<Record<string, T>>,
  toResult: (value: T, name: string) => R,
): Map<string, R> {
  return new Map(Object.entries(record).map(([name, value]) => [name, toResult(value, name)]));
}

function toWorkspace({
  id,
  name,
  keys,
  routes,
  models,
  limits,
}: GatewayFile['workspaces'][number]): WorkspaceConfig {
  return {
    id,
    name,
    keys: keys.map(({ name, value, ...classes }) => ({ name, valueEnv: value?.name, ...toCamel(classes) })),
    routes: mapOf(routes, toRoute),
    models: models ?? undefined,
    limits: toLimits(limits ?? {}),
  };
}

function toRequest(request: GatewayFile['request']) {
  const { max_depth, max_keys, max_elements, max_messages, max_parts, ...others } = request;
  const { maxBodyBytes, ...rest } = toCamel(others);
  const maxBytesInFlight = rest.maxBytesInFlight ?? Math.max(LEAST_IN_FLIGHT, maxBodyBytes);
  return {
    deadlineMs: rest.deadlineMs,
    backgroundDeadlineMs: rest.backgroundDeadlineMs,
    maxBodyBytes,
    maxBytesInFlight,
    maxBytesInFlightPerWorkspace:
      rest.maxBytesInFlightPerWorkspace ?? Math.max(maxBodyBytes, Math.floor(maxBytesInFlight / 2)),
    maxAnswerBytesInFlight: rest.maxAnswerBytesInFlight,
    maxKeptAnswerBytes: rest.maxKeptAnswerBytes,
    receiveTimeoutMs: rest.receiveTimeoutMs,
    limits: {
      depth: max_depth,
      keys: max_keys,
      elements: max_elements,
      messages: max_messages,
      parts: max_parts,
    },
  };
}

function toAccess({ console_url: consoleUrl, oidc, proxy, groups, add_providers }: GatewayFile['access']) {
  const { client_secret: secret, ...others } = oidc ?? {};
  return {
    consoleUrl,
    oidc: oidc && { ...toCamel(others as Omit<typeof oidc, 'client_secret'>), clientSecretEnv: secret?.name },
    proxy: proxy && toCamel(proxy),
    groups: mapOf(groups, ({ role, workspaces }): Grant => ({ role, ...(workspaces ? { workspaces } : {}) })),
    addProviders: add_providers,
  };
}

function daysIn(text: string): number | undefined {
  return text === 'forever' ? undefined : Number(text.slice(0, -1));
}
