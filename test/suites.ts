/** Which files `npm test` runs, which `npm run test:all` adds, and in which order. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * `first` is `npm test`, and `rest` is what `npm run test:all` runs after it. `cluster` is `npm run test:cluster`: files of both
 * once more, on a Redis Cluster.
 */
export const SUITES = ['first', 'rest', 'cluster'] as const;
export type Suite = (typeof SUITES)[number];

/**
 * The files of test/gateway that `npm test` runs: one of each kind, so that whoever breaks something hears of it within
 * minutes. A file that is not named here is part of `npm run test:all`. The files of test/unit are all part of `npm test`.
 */
export const FIRST: readonly string[] = [
  // The way of a request.
  'first-request',
  'sdk',
  'sdk-errors',
  'models',
  'fallback',
  'cost',
  'unsupported',
  'model-facts',
  'responses',
  'upstream-streams',
  'exact-numbers',
  'idempotency-order',
  'dispatcher',
  'settle',
  'take',
  'hand-over',
  'background',
  'settle-sequences',
  'shares',
  'backlog-share',
  'answer-share',
  'answer-check',
  'fairness',
  'limits',
  'budgets',
  // What goes wrong.
  'crash',
  'bad-input',
  'raw-http',
  'request-properties',
  'helpful-404',
  'leaks',
  // Beside the request.
  'batch-input',
  'batch-lease',
  'two-versions',
  'archive-row',
  'access',
  'admin-openapi',
  'admin-log',
  'cli',
  'console-page',
  'examples',
  'start',
  'logs',
];

/** What differs on a Redis Cluster: queues, limits, budgets, batches, and what reads and writes beside them. */
const ON_CLUSTER: readonly string[] = [
  ...[
    'first-request',
    'fallback',
    'cost',
    'dispatcher',
    'settle',
    'settle-sequences',
    'take',
    'hand-over',
    'crash',
    'cancellation',
  ],
  ...['idempotency', 'idempotency-order', 'background', 'requests', 'deadlines', 'planner', 'gathered'],
  ...[
    'shares',
    'backlog-share',
    'fairness',
    'priorities',
    'warm-prefix',
    'limits',
    'rate-limits',
    'promises',
  ],
  ...['found-concurrency', 'announced-limits', 'token-habits', 'cooldowns', 'circuit'],
  ...['budgets', 'admin-budget', 'budget-scopes', 'scoped-budgets', 'unknown-bills', 'bookkeeping'],
  ...[
    'batch-input',
    'batch-lease',
    'batch-share',
    'batches',
    'provider-batches',
    'batch-quote',
    'files',
    'webhooks',
  ],
  ...['admin-log', 'admin-directory', 'erase', 'metrics'],
];

/**
 * The files of test/unit that run in one process, because starting a process takes longer than most of them. Those that are not
 * named here run alone: they measure time, or start processes themselves.
 */
export const ROOMS: Readonly<Record<string, readonly string[]>> = {
  providers: [
    ...[
      'anthropic-adapter',
      'anthropic-schema',
      'exact-numbers',
      'fit-request',
      'large-requests',
      'list-models',
      'outcomes',
    ],
    ...['presets', 'provider-calls', 'provider-errors', 'responses-adapter', 'retry-wait', 'translation'],
  ],
  registry: [
    ...['allowed-models', 'choose-members', 'cost-estimate', 'model-registry', 'openai-adapter', 'price'],
    ...['prices', 'providers', 'registry-litellm'],
  ],
  config: ['cli', 'config', 'config-plan', 'env', 'find-redis', 'gateway-key', 'import', 'redis-address'],
  api: [
    ...[
      'access',
      'congestion',
      'file-store',
      'inbox-message',
      'log-index',
      'oidc',
      'parse-chat-request',
      'payload',
      'protocol',
    ],
    ...['public-addresses', 'remember-keys', 'request-schema', 'slow-readers', 'tags', 'traffic', 'webhooks'],
    ...['whole-file', 'wrong-keys'],
  ],
  processes: ['chores', 'clock', 'ended-call', 'logger', 'metrics', 'tracer', 'under-way'],
  simulator: [
    'simulator',
    'simulator-batches',
    'simulator-faults',
    'simulator-refusals',
    'simulator-refused-fields',
  ],
  repository: [
    'alerts',
    'bench',
    'console-imports',
    'deploy',
    'docs',
    'helm',
    'lua',
    'mutants',
    'release',
    'route-form',
    'site',
    'user-packages',
  ],
};

/** The same for quick files of test/gateway. Loading the gateway takes most of their time. */
const GATEWAY_ROOMS: Readonly<Record<'first' | 'rest', Readonly<Record<string, readonly string[]>>>> = {
  first: {
    answers: ['cost', 'exact-numbers', 'helpful-404', 'model-facts', 'models', 'sdk-errors', 'unsupported'],
    queues: [
      ...['answer-share', 'batch-lease', 'budgets', 'dispatcher', 'hand-over', 'idempotency-order'],
      ...['settle', 'settle-sequences', 'shares', 'take'],
    ],
    shapes: ['admin-openapi', 'answer-check', 'batch-input', 'responses'],
  },
  rest: {
    archive: ['archive-edges', 'archive-hostile', 'archive-shards', 'file-pages', 'traces'],
    directory: ['added-providers', 'admin-registry', 'cors', 'erase', 'import', 'sign-in'],
    limits: ['cooldowns', 'found-rates', 'heavy-requests', 'inbox', 'move-fence', 'promises', 'token-habits'],
    lines: ['batch-quote', 'embedding-batches', 'embeddings', 'files', 'planner'],
    operators: ['alerts', 'live-registry', 'operator-races', 'refusals', 'wrong-keys'],
    money: ['budget-scopes', 'reconcile', 'reported-cost', 'scoped-budgets', 'unknown-bills'],
  },
};

/** The files that take longest, longest first. They begin first, so that none of them runs alone at the end. */
export const SLOWEST: readonly string[] = [
  ...['gathered', 'hostile', 'console', 'console-trouble', 'console-forms', 'console-keyboard'],
  ...[
    'provider-batches',
    'lines',
    'operators',
    'chaos',
    'redis-clock',
    'move-workspace',
    'resume',
    'key-pepper',
  ],
  ...['cluster', 'console-haste', 'drain', 'directory', 'money', 'queues', 'batches', 'archive'],
  ...['bytes-in-flight', 'admin-budget', 'log-files', 'redis-patience', 'clients', 'admin-directory'],
  ...['redis-acl', 'redis-server', 'batch-share', 'live-providers', 'circuit', 'payloads', 'start'],
  ...['two-versions', 'bad-input', 'limits', 'api', 'fallback', 'request-properties', 'admin-log', 'cli'],
  ...['raw-http', 'config', 'processes', 'access', 'shapes', 'schema-checker', 'console-page'],
];

/** Those that were once red on a busy machine, beside the slowest: `npm run steady` runs both. */
export const UNSTEADY: readonly string[] = [
  ...['announced-limits', 'crash', 'descriptors', 'found-concurrency', 'leaks', 'leases'],
  ...['log-trim-after-standstill', 'metrics', 'observability', 'priorities'],
  ...['rate-limits', 'scale-out', 'scrape-trouble', 'sdk', 'stock-bullmq', 'webhooks'],
];

const GATEWAY = fileURLToPath(new URL('gateway/', import.meta.url));
const UNIT = fileURLToPath(new URL('unit/', import.meta.url));

export function filesOf(suite: Suite): string[] {
  if (suite === 'cluster') return testFiles(GATEWAY).filter((file) => ON_CLUSTER.includes(nameOf(file)));
  const gateway = testFiles(GATEWAY).filter((file) => FIRST.includes(nameOf(file)) === (suite === 'first'));
  const files = inRooms('gateway', gateway, GATEWAY_ROOMS[suite]);
  return suite === 'rest' ? files : [...files, ...inRooms('unit', testFiles(UNIT), ROOMS)];
}

/** The files that run alone, and one for each room, which has the tests of several. */
function inRooms(
  of: string,
  files: readonly string[],
  rooms: Readonly<Record<string, readonly string[]>>,
): string[] {
  const joined = Object.values(rooms).flat();
  const alone = files.filter((file) => !joined.includes(nameOf(file)));
  const folder = fileURLToPath(new URL(`rooms/${of}/`, import.meta.url));
  mkdirSync(folder, { recursive: true });
  const written = Object.entries(rooms).map(([room, names]) => {
    const file = `${folder}${room}.test.js`;
    writeFileSync(file, names.map((name) => `import '../../${of}/${name}.test.js';\n`).join(''));
    return file;
  });
  return [...alone, ...written];
}

function testFiles(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.test.js'))
    .map((name) => folder + name);
}

/** Throws when no file and no room is called so: it was renamed, or moved into a room. */
export function demandFiles(names: readonly string[]): void {
  const known = [...filesOf('first'), ...filesOf('rest')].map(nameOf);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) throw new Error(`No file and no room is called ${unknown.join(', ')}.`);
}

export function nameOf(file: string): string {
  return basename(file, '.test.js');
}

export function slowestFirst(a: string, b: string): number {
  const rank = (file: string) => (SLOWEST.indexOf(nameOf(file)) + SLOWEST.length + 1) % (SLOWEST.length + 1);
  return rank(a) - rank(b) || a.localeCompare(b);
}
