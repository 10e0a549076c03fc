import { readAccess } from './access-schema.js';
import { readArchive } from './archive-schema.js';
import { type ProviderNames, readRoute } from './chain-schema.js';
import { DEFAULT_PROVIDERS } from './defaults.js';
import { readProvider } from './provider-schema.js';
import { readKeyPriority } from './read-key-priority.js';
import { type ConfigReader, isAbsent, join, type NumberRule, shownKey, type TextRule } from './reader.js';
import { COUNT, DURATION_MS, ID, MODEL, TOKENS, WEIGHT } from './rules.js';
import type { GatewayConfig, LimitsConfig, RouteConfig, WorkspaceConfig } from './types.js';
import { LIMIT_FIELDS } from './types.js';

export const ALIAS: TextRule = {
  pattern: /^[A-Za-z0-9._:/@-]{1,128}$/,
  allowed: '1 to 128 characters of letters, digits and . _ - : / @',
};
export const LABEL: TextRule = {
  pattern: /^\P{C}{1,128}$/u,
  allowed: 'a text of 1 to 128 printable characters',
};

const TAG: TextRule = {
  pattern: /^[\w.:/-]{1,64}$/,
  allowed: '1 to 64 letters, digits and _ . : / -',
};

const MODEL_PATTERN: TextRule = {
  pattern: MODEL.pattern,
  allowed: 'a route or model id of 1 to 256 characters without spaces; * stands for any characters',
};
const MAX_PATTERNS = 256;

/** The lower end exceeds any real request. At the upper end, serialising the request does not overflow the stack yet. */
const DEPTH: NumberRule = { min: 16, max: 512 };
const BODY_BYTES: NumberRule = { min: 1024, max: 104_857_600 };
const BYTES_IN_FLIGHT: NumberRule = { min: 1024, max: 68_719_476_736 };
const KEPT_BYTES: NumberRule = { min: 0, max: 68_719_476_736 };
const LOG_ENTRIES: NumberRule = { min: 1, max: 100_000_000 };
const HOUR_MS = 3_600_000;
const BUDGET_USD: NumberRule = { min: 0, max: 1_000_000_000, whole: false };

/**
 * The providers beside the file (docs/adr/0028). `any`: the reader cannot know them, and does not use the routes; whoever
 * brings the routes into the gateway checks them.
 */
export type AddedNames = ProviderNames;

/** Reads the whole of gateway.yaml. The result is meaningless when the reader has mistakes. */
export function readGatewayConfig(
  reader: ConfigReader,
  value: unknown,
  added: AddedNames = [],
): GatewayConfig {
  const file = reader.fields(value ?? {}, '', [
    'providers',
    'workspaces',
    'request',
    'request_log',
    'archive',
    'registry',
    'cors',
    'files',
    'batches',
    'webhooks',
    'access',
  ]);

  const providerItems = reader.entries(file?.providers ?? DEFAULT_PROVIDERS, 'providers', 1);
  const providers = providerItems.flatMap(([name, item]) => readProvider(reader, name, item) ?? []);
  // A provider with mistakes is included, since a route may rightly name it.
  const ofFile = providerItems.map(([name]) => name).filter((name) => ID.pattern.test(name));
  const access = readAccess(reader, file?.access);
  const beside = access.addProviders ? added : [];
  const providerNames = beside === 'any' ? beside : [...ofFile, ...beside];

  const ids = new Map<string, string>();
  const workspaces = reader.list(file?.workspaces, 'workspaces').flatMap((item, i) => {
    const workspace = readWorkspace(reader, item, `workspaces[${i}]`, providerNames);
    if (workspace) reader.unique(ids, workspace.id, `workspaces[${i}].id`);
    return workspace ?? [];
  });

  const request = reader.fields(file?.request ?? {}, 'request', [
    'deadline_ms',
    'max_body_bytes',
    'max_bytes_in_flight',
    'max_bytes_in_flight_per_workspace',
    'max_answer_bytes_in_flight',
    'max_kept_answer_bytes',
    'receive_timeout_ms',
    'max_depth',
    'max_keys',
    'max_elements',
    'max_messages',
    'max_parts',
  ]);
  const maxBodyBytes = reader.number(
    request?.max_body_bytes ?? 10_485_760,
    'request.max_body_bytes',
    BODY_BYTES,
  );
  // The total must fit at least one body of the allowed size.
  const inFlightBytes = { ...BYTES_IN_FLIGHT, min: maxBodyBytes };
  const maxBytesInFlight = reader.number(
    request?.max_bytes_in_flight ?? Math.max(33_554_432, maxBodyBytes),
    'request.max_bytes_in_flight',
    inFlightBytes,
  );
  const registry = reader.fields(file?.registry ?? {}, 'registry', [
    'url',
    'refresh_hours',
    'allow_private_addresses',
  ]);
  const log = reader.fields(file?.request_log ?? {}, 'request_log', [
    'max_entries',
    'max_refusals_per_minute',
    'metric_tags',
  ]);
  return {
    providers: new Map(providers.map((provider) => [provider.name, provider])),
    workspaces,
    request: {
      deadlineMs: reader.number(request?.deadline_ms ?? 300_000, 'request.deadline_ms', DURATION_MS),
      maxBodyBytes,
      maxBytesInFlight,
      maxBytesInFlightPerWorkspace: reader.number(
        request?.max_bytes_in_flight_per_workspace ??
          Math.max(maxBodyBytes, Math.floor(maxBytesInFlight / 2)),
        'request.max_bytes_in_flight_per_workspace',
        inFlightBytes,
      ),
      maxAnswerBytesInFlight: reader.number(
        request?.max_answer_bytes_in_flight ?? 16_777_216,
        'request.max_answer_bytes_in_flight',
        BYTES_IN_FLIGHT,
      ),
      maxKeptAnswerBytes: reader.number(
        request?.max_kept_answer_bytes ?? 67_108_864,
        'request.max_kept_answer_bytes',
        KEPT_BYTES,
      ),
      receiveTimeoutMs: reader.number(
        request?.receive_timeout_ms ?? 30_000,
        'request.receive_timeout_ms',
        DURATION_MS,
      ),
      limits: {
        depth: reader.number(request?.max_depth ?? 64, 'request.max_depth', DEPTH),
        keys: reader.number(request?.max_keys ?? 50_000, 'request.max_keys', COUNT),
        elements: reader.number(request?.max_elements ?? 100_000, 'request.max_elements', COUNT),
        messages: reader.number(request?.max_messages ?? 10_000, 'request.max_messages', COUNT),
        parts: reader.number(request?.max_parts ?? 20_000, 'request.max_parts', COUNT),
      },
    },
    archive: readArchive(reader, file?.archive),
    access,
    registry: {
      url: isAbsent(registry?.url) ? undefined : reader.httpUrl(registry.url, 'registry.url'),
      refreshMs:
        HOUR_MS *
        reader.number(registry?.refresh_hours ?? 24, 'registry.refresh_hours', {
          min: 0.001,
          max: 8760,
          whole: false,
        }),
      allowPrivateAddresses: reader.flag(
        registry?.allow_private_addresses,
        'registry.allow_private_addresses',
      ),
    },
    cors: { origins: readOrigins(reader, file?.cors) },
    files: readFiles(reader, file?.files),
    batches: readBatches(reader, file?.batches),
    webhooks: readWebhooks(reader, file?.webhooks),
    requestLog: {
      maxEntries: reader.number(log?.max_entries ?? 100_000, 'request_log.max_entries', LOG_ENTRIES),
      metricTags: reader
        .list(log?.metric_tags, 'request_log.metric_tags', 0, 8)
        .map((tag, i) => reader.text(tag, `request_log.metric_tags[${i}]`, TAG)),
      maxRefusalsPerMinute: reader.number(
        log?.max_refusals_per_minute ?? 60,
        'request_log.max_refusals_per_minute',
        LOG_ENTRIES,
      ),
    },
  };
}

const FILE_BYTES: NumberRule = { min: 1024, max: 209_715_200 };
const STORED_BYTES: NumberRule = { min: 0, max: 1_099_511_627_776 };
const STORED_FILES: NumberRule = { min: 0, max: 10_000 };

function readFiles(reader: ConfigReader, value: unknown): GatewayConfig['files'] {
  const files = reader.fields(value ?? {}, 'files', [
    'max_file_bytes',
    'max_bytes_per_workspace',
    'max_files_per_workspace',
  ]);
  const number = (field: string, standard: number, rule: NumberRule): number =>
    reader.number(files?.[field] ?? standard, `files.${field}`, rule);
  return {
    maxFileBytes: number('max_file_bytes', FILE_BYTES.max, FILE_BYTES),
    maxBytesPerWorkspace: number('max_bytes_per_workspace', 5_368_709_120, STORED_BYTES),
    maxFilesPerWorkspace: number('max_files_per_workspace', 1_000, STORED_FILES),
  };
}

const LINES_IN_FLIGHT: NumberRule = { min: 1, max: 1_000 };
const ACTIVE_BATCHES: NumberRule = { min: 0, max: 1_000 };
const PROVIDER_POLL_MS: NumberRule = { min: 100, max: 600_000 };

function readBatches(reader: ConfigReader, value: unknown): GatewayConfig['batches'] {
  const batches = reader.fields(value ?? {}, 'batches', [
    'lines_in_flight',
    'max_active_per_workspace',
    'provider_poll_ms',
  ]);
  return {
    linesInFlight: reader.number(batches?.lines_in_flight ?? 32, 'batches.lines_in_flight', LINES_IN_FLIGHT),
    maxActivePerWorkspace: reader.number(
      batches?.max_active_per_workspace ?? 20,
      'batches.max_active_per_workspace',
      ACTIVE_BATCHES,
    ),
    providerPollMs: reader.number(
      batches?.provider_poll_ms ?? 30_000,
      'batches.provider_poll_ms',
      PROVIDER_POLL_MS,
    ),
  };
}

const WEBHOOKS: NumberRule = { min: 0, max: 100 };
const WEBHOOK_TIMEOUT_MS: NumberRule = { min: 100, max: 60_000 };
const FIRST_RETRY_MS: NumberRule = { min: 10, max: 3_600_000 };

function readWebhooks(reader: ConfigReader, value: unknown): GatewayConfig['webhooks'] {
  const webhooks = reader.fields(value ?? {}, 'webhooks', [
    'allow_private_addresses',
    'max_per_workspace',
    'timeout_ms',
    'first_retry_ms',
  ]);
  const number = (field: string, standard: number, rule: NumberRule): number =>
    reader.number(webhooks?.[field] ?? standard, `webhooks.${field}`, rule);
  return {
    allowPrivateAddresses: reader.flag(webhooks?.allow_private_addresses, 'webhooks.allow_private_addresses'),
    maxPerWorkspace: number('max_per_workspace', 5, WEBHOOKS),
    timeoutMs: number('timeout_ms', 10_000, WEBHOOK_TIMEOUT_MS),
    firstRetryMs: number('first_retry_ms', 5_000, FIRST_RETRY_MS),
  };
}

const ORIGIN: TextRule = {
  pattern: /^(?:\*|https?:\/\/[^\s/?#@]+)$/i,
  allowed: 'an origin such as https://app.example, without a path, or *',
};

function readOrigins(reader: ConfigReader, value: unknown): string[] {
  const cors = reader.fields(value ?? {}, 'cors', ['origins']);
  return reader.list(cors?.origins, 'cors.origins').map((item, i) => {
    const origin = reader.text(item, `cors.origins[${i}]`, ORIGIN);
    // Browsers write an origin in lower case and without the standard port.
    return URL.canParse(origin) ? new URL(origin).origin : origin;
  });
}

function readWorkspace(
  reader: ConfigReader,
  value: unknown,
  path: string,
  providers: ProviderNames,
): WorkspaceConfig | undefined {
  const workspace = reader.fields(value, path, ['id', 'name', 'keys', 'routes', 'models', 'limits']);
  if (!workspace) return undefined;
  const id = reader.text(workspace.id, `${path}.id`, ID);
  const name = isAbsent(workspace.name) ? undefined : reader.text(workspace.name, `${path}.name`, LABEL);

  const keyNames = new Map<string, string>();
  const keys = reader.list(workspace.keys, `${path}.keys`).flatMap((item, i) => {
    const at = `${path}.keys[${i}]`;
    const key = reader.fields(item, at, ['name', 'value', 'priority', 'max_priority']);
    if (!key) return [];
    const keyName = reader.text(key.name, `${at}.name`, LABEL);
    reader.unique(keyNames, keyName, `${at}.name`);
    return {
      name: keyName,
      valueEnv: reader.secret(key.value, `${at}.value`),
      ...readKeyPriority(reader, key, `${at}.`),
    };
  });

  const routes = new Map<string, RouteConfig>();
  for (const [alias, item] of reader.entries(workspace.routes, `${path}.routes`)) {
    const valid = ALIAS.pattern.test(alias);
    const at = join(`${path}.routes`, valid ? alias : shownKey(alias));
    if (!valid) reader.mistake(at, `an alias must be ${ALIAS.allowed}`);
    const route = readRoute(reader, item, at, providers);
    if (route) routes.set(alias, route);
  }
  return {
    id,
    name,
    keys,
    routes,
    models: readModels(reader, workspace.models, `${path}.models`),
    limits: readLimits(reader, workspace.limits, `${path}.limits`),
  };
}

export function readLimits(reader: ConfigReader, value: unknown, path: string): LimitsConfig {
  const limits = reader.fields(value ?? {}, path, Object.keys(LIMIT_FIELDS));
  const number = (field: string, rule: NumberRule): number | undefined =>
    isAbsent(limits?.[field]) ? undefined : reader.number(limits[field], join(path, field), rule);
  const choice = <const T extends string>(field: string, choices: readonly T[]): T | undefined =>
    isAbsent(limits?.[field]) ? undefined : reader.oneOf(limits[field], join(path, field), choices);
  return {
    requestsPerMinute: number('requests_per_minute', COUNT),
    tokensPerMinute: number('tokens_per_minute', TOKENS),
    concurrentRequests: number('concurrent_requests', COUNT),
    budgetUsdPerMonth: number('budget_usd_per_month', BUDGET_USD),
    budget: choice('budget', ['strict', 'expected']),
    unpricedModels: choice('unpriced_models', ['refuse', 'allow']),
    weight: number('weight', WEIGHT),
    batchesOverBudget: choice('batches_over_budget', ['wait', 'fail']),
  };
}

/** Reads what callers of a workspace may name as `model`. */
export function readModels(reader: ConfigReader, value: unknown, path: string): string[] | undefined {
  if (isAbsent(value)) return undefined;
  return reader
    .list(value, path, 1, MAX_PATTERNS)
    .map((pattern, i) => reader.text(pattern, `${path}[${i}]`, MODEL_PATTERN));
}
