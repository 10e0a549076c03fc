/**
 * Every Redis key the gateway uses, in one place. All keys of a cell (one Redis with its api and worker
 * processes) share one hash tag, so that a script may touch several of them on a Redis Cluster too.
 */
/** Each purpose of files has an order of its own. */
export const FILE_PURPOSES = ['batch', 'batch_output'] as const;

export interface KeyNames {
  /** Prefix that BullMQ puts before `:<queue>:<key>`. */
  queuePrefix: string;
  /** A key of a provider's queue: `wait`, `active`, `prioritized`, … or a job id. */
  queueKey(provider: string, key: string): string;
  /** Provider, key and model → the limits that the provider announces. All users of deploy/redis may write it. */
  announcedLimits: string;
  /** The latest moment of the cell's time, and what Redis' clock said then. All users of deploy/redis may write it. */
  clock: string;
  /** Counts changes to workspaces, keys and routes. The api's cache is valid while the count stays the same. */
  directoryVersion: string;
  workspaces: string;
  /** Workspace id that is not free again → when the workspace was deleted, and whether its history is erased. */
  deletedWorkspaces: string;
  /** Key digest → key record. */
  keys: string;
  /** Key digest → when it was last used. */
  keyUse: string;
  /** Key digests by when they were revoked, so that a revoked value is not issued again. */
  revokedKeys: string;
  /** Digest of a revoked key → its id and its workspace. */
  revokedKeyIds: string;
  routes(workspace: string): string;
  inbox(api: string): string;
  /** The mark of a settled request. It outlives the request's job. */
  settled(requestId: string): string;
  requestLog: string;
  /** The copies of the log elsewhere, and how far each is. */
  archive: string;
  /** Refusals that are counted, and not logged yet. */
  refusals: string;
  /** Counts of the requests that were refused in an hour. */
  turnedAway(hour: string): string;
  ledger(day: string): string;
  /** Month → how often it was adjusted. */
  adjustedMonths: string;
  /** `["provider","day","model"]` → the adjustments of that row, oldest first. */
  adjustments(month: string): string;
  /** `<provider> <month>` → what came of the latest reconciliation. */
  reconciliations: string;
  /** The latest reconciliation of a provider and month. */
  reconciliation(provider: string, month: string): string;
  coolDowns: string;
  /** State of a provider's circuit breaker. */
  circuit(provider: string): string;
  /** The workspaces that have lately called a provider. */
  callers(provider: string): string;
  /** Channel on which changes of circuits are published. */
  circuits: string;
  /** Channel on which all processes are asked to read gateway.yaml again. */
  reloads: string;
  /** Channel on which api processes tell each other when callers may come back. */
  promises: string;
  /** Channel on which the api says that nobody waits for a request any more. */
  cancellations: string;
  /** The tokens of a workspace in the last minute; only for workspaces with a limit of them. */
  workspaceTokens(workspace: string): string;
  /** When a workspace's latest requests came, newest first; only for workspaces with a limit per minute. */
  requestTimes(workspace: string): string;
  /** Digest of how prompts begin → where such a prompt was served last. With `:order`, the digests by age. */
  prefixes(workspace: string): string;
  /** The requests of a limited workspace that are in flight, by when they are given up for lost. */
  reservations(workspace: string): string;
  /** Sum of what those requests are estimated to cost, in picodollars. */
  reserved(workspace: string): string;
  /** The spend of a workspace by month, in picodollars. */
  spent(workspace: string): string;
  /** Counters of a workspace's budgets beside the monthly one, and the requests that wait for room (lua/parts/room.lua). */
  money(workspace: string, key?: string): string;
  /** The budgets that a workspace has had, each from the moment of its id on. */
  budgets(workspace: string): string;
  /** The request behind a workspace's Idempotency-Key, by the key's digest. */
  idempotency(workspace: string, digest: string): string;
  /** The answers that a workspace has kept for its Idempotency-Keys, oldest first: `<digest>:<bytes>`. */
  keptAnswers(workspace: string): string;
  /** The sum of the bytes of these answers. */
  keptAnswerBytes(workspace: string): string;
  /** A workspace's requests in the background, all of them or those of one status, by when they were accepted. */
  requests(workspace: string, status: string): string;
  /** The requests in the background that are under way, `<workspace>:<digest>`, by when an api process looks at them. */
  requestsDue: string;
  /** How a request ended. Requests that waited for it look here. */
  outcome(requestId: string): string;
  /** File id → record. The bytes are in the store of files. */
  files(workspace: string): string;
  /** How many bytes a workspace has stored. */
  fileBytes(workspace: string): string;
  /** The ids of a workspace's files, or of those with one purpose, by when they were created. */
  fileOrder(workspace: string, purpose?: string): string;
  /** The sum of the bytes of the files in that order. */
  fileOrderBytes(workspace: string): string;
  /** Every object of the store of files, by when it is to be removed. */
  fileObjects: string;
  /** The record of a batch, and how far it has come. */
  batch(id: string): string;
  /** Held by the api process that runs the batch. */
  batchLease(id: string): string;
  /** Request id → line: the lines of a batch that are under way. */
  batchLines(id: string): string;
  /** The outcomes of lines that are not in the store yet. */
  batchResults(id: string): string;
  /** The objects of the store that the files of answers will be made of. */
  batchParts(id: string): string;
  /** The batches of a workspace, by when they were created. */
  batches(workspace: string): string;
  /** All batches that are under way. */
  activeBatches: string;
  /** A part of a batch that is handed to a provider's own batch API. */
  providerBatch(id: string): string;
  /** Held by the worker that does the next step of it. */
  providerBatchLease(id: string): string;
  /** Its lines, until the provider has them. */
  providerBatchLines(id: string): string;
  /** What was changed in its lines for the model, by their request ids. */
  providerBatchAdapted(id: string): string;
  /** All of them, by when a worker looks at them next. */
  providerBatches: string;
  /** Prefix that BullMQ puts before `:webhooks:<key>`, the queue of deliveries. */
  webhookQueuePrefix: string;
  /** A key of that queue. */
  webhookQueueKey(key: string): string;
  /** Webhook id → record. */
  webhooks(workspace: string): string;
  /** The events that are not made into deliveries yet. */
  webhookEvents: string;
  /** Held by the process that makes events into deliveries. */
  webhookLock: string;
  /** Delivery id → record. */
  webhookDeliveries(workspace: string): string;
  /** The ids of these deliveries, by when they were created. */
  webhookOrder(workspace: string): string;
  /** Alert id → record. */
  alerts: string;
  /** `<alert>:<subject>` → what is known of an alert that fires. */
  alertFirings: string;
  /** Notice id → what is or was sent for an alert, and how it went. */
  alertNotices: string;
  /** The ids of these notices, by when they were made. */
  alertOrder: string;
  /** The ids of those that are to be sent, by when they are due. */
  alertDue: string;
  /** Held for a while by the process that has looked at the figures last. */
  alertTurn: string;
  /** The model registry's document, where it came from, and how the latest refresh went. */
  registry: string;
  /** `<provider>/<model>` → an operator's own entry, which survives refreshes. */
  registryOverrides: string;
  /** Counts changes to the two above. */
  registryRevision: string;
  /** Held by the process that refreshes the registry by schedule. */
  registryLock: string;
  /** Name of a provider that is not in gateway.yaml → its settings and its keys, each sealed. */
  addedProviders: string;
  /** Process id → when it was last seen. */
  processes: string;
  /** A sign-in link that nobody has used yet, by the digest of its secret. */
  signInLink(digest: string): string;
  /** Digest of a session's secret → who is signed in. */
  sessions: string;
  /** Keyed digest of an admin token → its record. */
  adminTokens: string;
  /** Id of an admin token → when it was last used. */
  adminTokenUse: string;
  /** The audit trail: `changes` or `sign_ins`. */
  audit(kind: string): string;
}

export function keyNames(cell: string): KeyNames {
  const prefix = `{${cell}}`;
  return {
    queuePrefix: `${prefix}:queue`,
    queueKey: (provider, key) => `${prefix}:queue:${provider}:${key}`,
    clock: `${prefix}:queue:clock`,
    announcedLimits: `${prefix}:queue:announced-limits`,
    directoryVersion: `${prefix}:directory-version`,
    workspaces: `${prefix}:workspaces`,
    deletedWorkspaces: `${prefix}:deleted-workspaces`,
    keys: `${prefix}:keys`,
    keyUse: `${prefix}:key-use`,
    revokedKeys: `${prefix}:revoked-keys`,
    revokedKeyIds: `${prefix}:revoked-key-ids`,
    routes: (workspace) => `${prefix}:routes:${workspace}`,
    inbox: (api) => `${prefix}:inbox:${api}`,
    settled: (requestId) => `${prefix}:settled:${requestId}`,
    requestLog: `${prefix}:request-log`,
    archive: `${prefix}:archive`,
    refusals: `${prefix}:refusals`,
    turnedAway: (hour) => `${prefix}:turned-away:${hour}`,
    ledger: (day) => `${prefix}:ledger:${day}`,
    adjustedMonths: `${prefix}:adjusted-months`,
    adjustments: (month) => `${prefix}:adjustments:${month}`,
    reconciliations: `${prefix}:reconciliations`,
    reconciliation: (provider, month) => `${prefix}:reconciliation:${provider}:${month}`,
    coolDowns: `${prefix}:cool-downs`,
    circuit: (provider) => `${prefix}:circuit:${provider}`,
    callers: (provider) => `${prefix}:callers:${provider}`,
    circuits: `${prefix}:circuits`,
    reloads: `${prefix}:reloads`,
    cancellations: `${prefix}:cancellations`,
    promises: `${prefix}:promises`,
    workspaceTokens: (workspace) => `${prefix}:tokens-per-minute:${workspace}`,
    requestTimes: (workspace) => `${prefix}:request-times:${workspace}`,
    prefixes: (workspace) => `${prefix}:prefixes:${workspace}`,
    reservations: (workspace) => `${prefix}:reservations:${workspace}`,
    reserved: (workspace) => `${prefix}:reserved:${workspace}`,
    spent: (workspace) => `${prefix}:spent:${workspace}`,
    money: (workspace, key = '') => `${prefix}:money:${workspace}:${key}`,
    budgets: (workspace) => `${prefix}:budgets:${workspace}`,
    idempotency: (workspace, digest) => `${prefix}:idempotency:${workspace}:${digest}`,
    requests: (workspace, status) => `${prefix}:requests:${status}:${workspace}`,
    requestsDue: `${prefix}:requests-due`,
    keptAnswers: (workspace) => `${prefix}:kept-answers:${workspace}`,
    keptAnswerBytes: (workspace) => `${prefix}:kept-answer-bytes:${workspace}`,
    outcome: (requestId) => `${prefix}:outcome:${requestId}`,
    files: (workspace) => `${prefix}:files:${workspace}`,
    fileBytes: (workspace) => `${prefix}:file-bytes:${workspace}`,
    fileOrder: (workspace, purpose = 'all') => `${prefix}:file-order:${purpose}:${workspace}`,
    fileOrderBytes: (workspace) => `${prefix}:file-order-bytes:${workspace}`,
    fileObjects: `${prefix}:file-objects`,
    batch: (id) => `${prefix}:batch:${id}`,
    batchLease: (id) => `${prefix}:batch-lease:${id}`,
    batchLines: (id) => `${prefix}:batch-lines:${id}`,
    batchResults: (id) => `${prefix}:batch-results:${id}`,
    batchParts: (id) => `${prefix}:batch-parts:${id}`,
    batches: (workspace) => `${prefix}:batches:${workspace}`,
    activeBatches: `${prefix}:active-batches`,
    providerBatch: (id) => `${prefix}:provider-batch:${id}`,
    providerBatchLease: (id) => `${prefix}:provider-batch-lease:${id}`,
    providerBatchLines: (id) => `${prefix}:provider-batch-lines:${id}`,
    providerBatchAdapted: (id) => `${prefix}:provider-batch-lines:${id}:adapted`,
    providerBatches: `${prefix}:provider-batches`,
    webhookQueuePrefix: prefix,
    webhookQueueKey: (key) => `${prefix}:webhooks:${key}`,
    webhooks: (workspace) => `${prefix}:webhook-endpoints:${workspace}`,
    webhookEvents: `${prefix}:webhook-events`,
    webhookLock: `${prefix}:webhook-lock`,
    webhookDeliveries: (workspace) => `${prefix}:webhook-deliveries:${workspace}`,
    webhookOrder: (workspace) => `${prefix}:webhook-order:${workspace}`,
    alerts: `${prefix}:alerts`,
    alertFirings: `${prefix}:alert-firings`,
    alertNotices: `${prefix}:alert-notices`,
    alertOrder: `${prefix}:alert-order`,
    alertDue: `${prefix}:alert-due`,
    alertTurn: `${prefix}:alert-turn`,
    registry: `${prefix}:registry`,
    registryOverrides: `${prefix}:registry-overrides`,
    registryRevision: `${prefix}:registry-revision`,
    registryLock: `${prefix}:registry-lock`,
    addedProviders: `${prefix}:added-providers`,
    processes: `${prefix}:processes`,
    signInLink: (digest) => `${prefix}:sign-in-link:${digest}`,
    sessions: `${prefix}:sessions`,
    adminTokens: `${prefix}:admin-tokens`,
    adminTokenUse: `${prefix}:admin-token-use`,
    audit: (kind) => `${prefix}:audit:${kind}`,
  };
}
