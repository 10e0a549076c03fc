/**
 * Every Redis key that the gateway uses, and what is in it. All keys of a shard have one hash tag, so that a script may touch
 * several of them on a Redis Cluster, too. `queue/payload.ts` encrypts requests, answers and error texts.
 */
/** Each purpose of files has an order of its own. */
export const FILE_PURPOSES = ['batch', 'batch_output'] as const;

/** The keys that all shards of a cell share: who may do what, what providers are like, which processes there are. */
export interface ControlNames {
  /** Provider, key and model → the limits that the provider announces. All users of deploy/redis may write it. */
  announcedLimits: string;
  /** The latest moment of the cell's time, and what Redis' clock said then. All users of deploy/redis may write it. */
  clock: string;
  /** Counts changes to workspaces, keys and routes. The api's cache is valid while the count stays the same. */
  directoryVersion: string;
  /** Workspace id → record. */
  workspaces: string;
  /** Workspace id that is not free again → when the workspace was deleted, and whether its history is erased. */
  deletedWorkspaces: string;
  /** Keyed digest of a key (directory/key-digests.ts) → record. */
  keys: string;
  /** Key digest → when it was last used. */
  keyUse: string;
  /** Digests of the latest revoked keys, by when they were revoked, so that a revoked value is not issued again. */
  revokedKeys: string;
  /** Digest of a revoked key → its id and its workspace. */
  revokedKeyIds: string;
  /** Alias → chain. */
  routes(workspace: string): string;
  /** Refused requests of an hour by minute, workspace, key and reason. Expires after two days. */
  turnedAway(hour: string): string;
  /** Month → how often invoices have adjusted it, for the copy in PostgreSQL. */
  adjustedMonths: string;
  /** `["provider","day","model"]` → the adjustments of that row, oldest first. */
  adjustments(month: string): string;
  /** `<provider> <month>` → what came of the latest comparison with an invoice; at most 48. */
  reconciliations: string;
  /** That comparison, row by row. */
  reconciliation(provider: string, month: string): string;
  /** Provider, model or tier → until when nobody calls. Changes are published on a channel of that name. */
  coolDowns: string;
  /** State of a provider's circuit breaker. */
  circuit(provider: string): string;
  /** Workspace → when it last called the provider; for the circuit. */
  callers(provider: string): string;
  /** Channel on which changes of circuits are published. */
  circuits: string;
  /** Channel on which all processes are asked to read gateway.yaml again. */
  reloads: string;
  /** Channel on which api processes tell each other when callers may come back. */
  promises: string;
  /** Channel on which the api says that nobody waits for a request any more. */
  cancellations: string;
  /** The budgets that a workspace has had, each from the moment of its id on. */
  budgets(workspace: string): string;
  /** Alert id → record. Addresses and secret are encrypted. */
  alerts: string;
  /** `<alert>:<subject>` → since when it fires, and with which figure. */
  alertFirings: string;
  /** Notice id → what is sent for an alert, and how it went; the newest thousand. */
  alertNotices: string;
  /** The ids of these notices, by when they were made. */
  alertOrder: string;
  /** The ids of those that are to be sent, by when they are due. */
  alertDue: string;
  /** Held for ten seconds by the process that has looked at the figures last. */
  alertTurn: string;
  /** The model registry's document, where it came from, and how the latest refresh went. */
  registry: string;
  /** `<provider>/<model>` → an operator's own entry, which survives refreshes. */
  registryOverrides: string;
  /** Counts changes to the two above. Every process watches it. */
  registryRevision: string;
  /** Held by the process that refreshes the registry by schedule. */
  registryLock: string;
  /** Name of a provider that is not in gateway.yaml → its settings and its keys, each sealed. */
  addedProviders: string;
  /** Process id → when it was last seen. */
  processes: string;
  /** How many shards the cell has. Absent: one. All users of deploy/redis may write it. */
  shardCount: string;
  /** The shards that get no new workspaces. */
  closedShards: string;
  /** What of the ledger of a shard that is given up is in that of the first shard, while it is brought there. */
  ledgerMarks(shard: number): string;
  /** Counts the attempts to move a workspace to another shard. Each has a number of its own. */
  moveCount: string;
  /** Held by the process that moves the workspace. */
  moveLease(workspace: string): string;
  /** Whom an unused sign-in link signs in, by the digest of its secret. Ten minutes. */
  signInLink(digest: string): string;
  /** Digest of a session's secret → who is signed in, and until when. */
  sessions: string;
  /** Keyed digest of an admin token → its name, role, workspaces and end. */
  adminTokens: string;
  /** Id of an admin token → when it was last used. */
  adminTokenUse: string;
  /** `changes`: who changed what, 20,000 entries; `sign_ins`: who signed in or failed to, 5,000. */
  audit(kind: string): string;
}

/** The keys of the requests of some workspaces. One request has all its keys in one shard. */
export interface ShardNames {
  /**
   * `<move>:closed`: the workspace has left this shard by that move, is leaving, or is not here yet. `<move>:open`: it came here.
   * Absent: it has not moved. Every script that begins something for a workspace looks here. Only a cell of several shards
   * has the name.
   */
  fence?(workspace: string): string;
  /** Prefix that BullMQ puts before `:<queue>:<key>`. */
  queuePrefix: string;
  /**
   * A key of a provider's queue. Jobs are removed when they end. A job's hash is at `<request>-<entry>`; its `response` is the
   * sealed id of a call in the background. With `:lock` it names the run that has the job, and with `:request` it has a request
   * of more than 12 KB, as bytes. Ours beside BullMQ's: `fair` (virtual time, turns), `limit:…` (what was reserved of a limit
   * per minute), `lanes` and `due` (jobs that wait for a limit), `pool` (calls of each provider key) and `take:<worker>` (the
   * token of a worker's last take). With several shards `grants` has the shard's parts of limits, and the queue `<provider>/all`
   * of the first shard what every shard has (limits/leases.ts).
   */
  queueKey(provider: string, key: string): string;
  /** The latest moment of the cell's time, and what Redis' clock said then. All users of deploy/redis may write it. */
  clock: string;
  /** Replies to one api process, deleted soon after they are read. */
  inbox(api: string): string;
  /** The mark of a settled request: a number of the run that settled it. It outlives the request's job, and expires. */
  settled(requestId: string): string;
  /**
   * One entry per request, without prompt or completion. An entry that replaces one of an erased end user names it (`was`), and
   * the copies that lack it (`lacking`).
   */
  requestLog: string;
  /** The processes that copy the log elsewhere: when each was last seen, how far it is, and when the log was last looked at. */
  archive: string;
  /** Refusals beyond a rate, by minute, workspace, code and reason; logged together later. */
  refusals: string;
  /** Requests, tokens and cost per workspace, route, provider and model; calls whose bill nobody knows apart, with an estimate. */
  ledger(day: string): string;
  /** What was reserved of a workspace's limit of tokens per minute, in each half second. */
  workspaceTokens(workspace: string): string;
  /** When a workspace's latest requests came, newest first; only for workspaces with a limit per minute. */
  requestTimes(workspace: string): string;
  /** Digest of how prompts begin → where such a prompt was served last. With `:order`, the digests by age. */
  prefixes(workspace: string): string;
  /** The requests of a limited workspace that are in flight, by when they are given up for lost. */
  reservations(workspace: string): string;
  /** Sum of what those requests are estimated to cost, in picodollars. */
  reserved(workspace: string): string;
  /**
   * What a workspace spent, in picodollars: `<month>`; `<month>:estimated` for calls whose bill nobody knows; `<month>:refusing`
   * since when the budget refuses.
   */
  spent(workspace: string): string;
  /**
   * Budgets beside the monthly one, and who waits for room (lua/parts/room.lua): `counter:<name>`, `values`, `waiting`,
   * `lane:<name>`.
   */
  money(workspace: string, key?: string): string;
  /** The request behind an Idempotency-Key, by the key's digest, who waits for it, and its answer for a day. */
  idempotency(workspace: string, digest: string): string;
  /** The answers that a workspace has kept for its Idempotency-Keys, oldest first: `<digest>:<bytes>`. */
  keptAnswers(workspace: string): string;
  /** The sum of the bytes of these answers. */
  keptAnswerBytes(workspace: string): string;
  /**
   * A workspace's requests in the background, all of them or those of one status, by when they were accepted. `bytes`: how
   * large those are that wait for a deadline, and their `sum`.
   */
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
  /**
   * The sum of the bytes of the files in that order. When it differs from the one above, another version has changed the files,
   * and the order is made again.
   */
  fileOrderBytes(workspace: string): string;
  /** Every object of the store of files, by when it is to be removed. */
  fileObjects: string;
  /** The record of a batch, and how far it has come; the caller's metadata is encrypted. Expires 30 days after its end. */
  batch(id: string): string;
  /**
   * Held by the api process that runs the batch. When lines are at the provider, it is closed, and the key with `:handed-over`
   * counts.
   */
  batchLease(id: string): string;
  /** Request id → line: the lines of a batch that are under way. */
  batchLines(id: string): string;
  /** The encrypted outcomes of lines that are not in the store yet. */
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
  /** Its encrypted lines, until the provider has them. */
  providerBatchLines(id: string): string;
  /** The jobs that were gathered in a part, by their latest safe starts. */
  providerBatchWaits(id: string): string;
  /** Of the requests that have left it alone: what was booked for their lines. */
  providerBatchLeft(id: string): string;
  /** What was changed in its lines for the model, by their request ids. */
  providerBatchAdapted(id: string): string;
  /** All of them, by when a worker looks at them next. */
  providerBatches: string;
  /** Prefix that BullMQ puts before `:webhooks:<key>`, the queue of deliveries. */
  webhookQueuePrefix: string;
  /** A key of that queue. */
  webhookQueueKey(key: string): string;
  /** Webhook id → record. Address and secret are encrypted. */
  webhooks(workspace: string): string;
  /** The events that are not made into deliveries yet. */
  webhookEvents: string;
  /** Held by the process that makes events into deliveries. */
  webhookLock: string;
  /** Delivery id → how it went; the newest thousand. */
  webhookDeliveries(workspace: string): string;
  /** The ids of these deliveries, by when they were created. */
  webhookOrder(workspace: string): string;
}

/** A cell of one shard has all of them under one tag. */
export type KeyNames = ControlNames & ShardNames;

export function keyNames(cell: string): KeyNames {
  return { ...controlNames(cell), ...shardNames(cell) };
}

export function controlNames(cell: string): ControlNames {
  const prefix = `{${cell}}`;
  return {
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
    turnedAway: (hour) => `${prefix}:turned-away:${hour}`,
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
    budgets: (workspace) => `${prefix}:budgets:${workspace}`,
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
    shardCount: `${prefix}:queue:shard-count`,
    closedShards: `${prefix}:closed-shards`,
    ledgerMarks: (shard) => `${prefix}:ledger-marks:${shard}`,
    moveCount: `${prefix}:move-count`,
    moveLease: (workspace) => `${prefix}:move-lease:${workspace}`,
    signInLink: (digest) => `${prefix}:sign-in-link:${digest}`,
    sessions: `${prefix}:sessions`,
    adminTokens: `${prefix}:admin-tokens`,
    adminTokenUse: `${prefix}:admin-token-use`,
    audit: (kind) => `${prefix}:audit:${kind}`,
  };
}

/** `tag`: the hash tag of the shard (shard.ts). */
export function shardNames(tag: string): ShardNames {
  const prefix = `{${tag}}`;
  return {
    queuePrefix: `${prefix}:queue`,
    queueKey: (provider, key) => `${prefix}:queue:${provider}:${key}`,
    clock: `${prefix}:queue:clock`,
    inbox: (api) => `${prefix}:inbox:${api}`,
    settled: (requestId) => `${prefix}:settled:${requestId}`,
    requestLog: `${prefix}:request-log`,
    archive: `${prefix}:archive`,
    refusals: `${prefix}:refusals`,
    ledger: (day) => `${prefix}:ledger:${day}`,
    workspaceTokens: (workspace) => `${prefix}:tokens-per-minute:${workspace}`,
    requestTimes: (workspace) => `${prefix}:request-times:${workspace}`,
    prefixes: (workspace) => `${prefix}:prefixes:${workspace}`,
    reservations: (workspace) => `${prefix}:reservations:${workspace}`,
    reserved: (workspace) => `${prefix}:reserved:${workspace}`,
    spent: (workspace) => `${prefix}:spent:${workspace}`,
    money: (workspace, key = '') => `${prefix}:money:${workspace}:${key}`,
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
    providerBatchWaits: (id) => `${prefix}:provider-batch-lines:${id}:waits`,
    providerBatchLeft: (id) => `${prefix}:provider-batch-lines:${id}:left`,
    providerBatchAdapted: (id) => `${prefix}:provider-batch-lines:${id}:adapted`,
    providerBatches: `${prefix}:provider-batches`,
    webhookQueuePrefix: prefix,
    webhookQueueKey: (key) => `${prefix}:webhooks:${key}`,
    webhooks: (workspace) => `${prefix}:webhook-endpoints:${workspace}`,
    webhookEvents: `${prefix}:webhook-events`,
    webhookLock: `${prefix}:webhook-lock`,
    webhookDeliveries: (workspace) => `${prefix}:webhook-deliveries:${workspace}`,
    webhookOrder: (workspace) => `${prefix}:webhook-order:${workspace}`,
  };
}
