/** Changes to the product, each with a file of tests that notices it. */
export interface Mutant {
  /** The file of tests, such as `gateway/access`. */
  test: string;
  /** The file of the product, such as `packages/api/src/app.ts`. */
  file: string;
  /** Stands exactly once in the built file, or in the file itself if it is Lua. */
  from: string;
  to: string;
}

export const MUTANTS: readonly Mutant[] = [
  {
    test: 'gateway/access',
    file: 'packages/admin/src/access/guard.ts',
    from: 'refuseUnless(hasRole(principal, role, id));',
    to: "refuseUnless(hasRole(principal, 'viewer', id));",
  },
  {
    test: 'gateway/added-providers',
    file: 'packages/admin/src/routes/added-provider-input.ts',
    from: '[name, true]',
    to: '[name, settings.headers[name]]',
  },
  {
    test: 'gateway/admin-directory',
    file: 'packages/admin/src/routes/workspaces.ts',
    from: 'limits: limits ? toLimits(limits) : workspace.limits',
    to: 'limits: workspace.limits',
  },
  {
    test: 'gateway/admin-log',
    file: 'packages/shared/src/contract/query.ts',
    from: "is === 'end' && DAY.test(text)",
    to: "is === 'never' && DAY.test(text)",
  },
  {
    test: 'gateway/admin-openapi',
    file: 'packages/admin/src/openapi/admin-paths.ts',
    from: "'/catalogue': {",
    to: "'/catalog': {",
  },
  {
    test: 'gateway/admin-registry',
    file: 'packages/api/src/cell/registry-refresh.ts',
    from: 'dryRun || (diff.reasons.length > 0 && !confirm)',
    to: 'dryRun',
  },
  {
    test: 'gateway/alerts',
    file: 'packages/admin/src/alerts/lua/claim-notice.lua',
    from: "redis.call('ZADD', dueKey, heldUntil, id)",
    to: "redis.call('ZADD', dueKey, now, id)",
  },
  {
    test: 'gateway/announced-limits',
    file: 'packages/worker/src/calls/heard-rates.ts',
    from: 'remaining >= FAR * limit',
    to: 'remaining >= 0',
  },
  {
    test: 'gateway/answer-check',
    file: 'packages/worker/src/answer-check/answer-check.ts',
    from: "verdict !== 'unfit'",
    to: "verdict !== ''",
  },
  {
    test: 'gateway/answer-share',
    file: 'packages/worker/src/jobs/chat-worker.ts',
    from: 'return await super.processJob(',
    to: 'return super.processJob(',
  },
  {
    test: 'gateway/archive-hostile',
    file: 'packages/admin/src/log/archive-reader.ts',
    from: 'JSON.stringify({ [name]: value })',
    to: '`{"${name}":"${value}"}`',
  },
  {
    test: 'gateway/archive-row',
    file: 'packages/worker/src/archive/write-entries.ts',
    from: "coalesce((e.served->>'cost')::bigint, 0) AS cost",
    to: "coalesce((e.served->>'cost')::bigint, 0) + 1 AS cost",
  },
  {
    test: 'gateway/background',
    file: 'packages/api/src/chat/lua/begin-in-background.lua',
    from: "'superseded', 'NX'",
    to: "'superseded', 'XX'",
  },
  {
    test: 'gateway/backlog-share',
    file: 'packages/shared/src/queue/lua/parts/is-full.lua',
    from: 'if math.floor(turn * STEP) / STEP >= lastTurn then',
    to: 'if math.floor(turn * STEP) / STEP >= 0 then',
  },
  {
    test: 'gateway/bad-input',
    file: 'packages/api/src/http/read-text.ts',
    from: '{ fatal: true }',
    to: '{ fatal: false }',
  },
  {
    test: 'gateway/batch-input',
    file: 'packages/api/src/batches/batch-run.ts',
    from: 'mistakes: [INPUT_FILE_MISSING]',
    to: 'mistakes: []',
  },
  {
    test: 'gateway/batch-lease',
    file: 'packages/api/src/batches/line-feeder.ts',
    from: "throw new Error('the lease of the batch is lost');",
    to: 'return;',
  },
  {
    test: 'gateway/batch-quote',
    file: 'packages/api/src/batches/quotes.ts',
    from: 'if (BigInt(state.left_picodollars) >= expected)',
    to: 'if (expected >= 0n)',
  },
  {
    test: 'gateway/batch-share',
    file: 'packages/api/src/chat/background-route.ts',
    from: 'state.runsOn = reply;',
    to: 'state.runsOn = undefined;',
  },
  {
    test: 'gateway/bookkeeping',
    file: 'packages/shared/src/providers/lua/cool-down.lua',
    from: '#!lua flags=allow-oom',
    to: '#!lua',
  },
  {
    test: 'gateway/budgets',
    file: 'packages/shared/src/queue/lua/parts/room.lua',
    from: 'tonumber(estimated) + estimate > budget then',
    to: 'tonumber(estimated) > budget then',
  },
  {
    test: 'gateway/bytes-in-flight',
    file: 'packages/api/src/http/bytes-in-flight.ts',
    from: 'if (bytes <= wanted)',
    to: 'if (bytes >= wanted)',
  },
  {
    test: 'gateway/cancellation',
    file: 'packages/api/src/chat/dispatcher.ts',
    from: "this.#failWaiting(pending, hungUp(), 'cancelled')",
    to: 'this.#failWaiting(pending, hungUp())',
  },
  { test: 'gateway/cli', file: 'packages/cli/src/cli.ts', from: '/^y(es)?$/i', to: '/^[yn](es)?$/i' },
  {
    test: 'gateway/cli-apply',
    file: 'packages/cli/src/apply/plan.ts',
    from: '{ ...before, ...mentioned(file) }',
    to: '{ ...mentioned(file) }',
  },
  {
    test: 'gateway/console-quote',
    file: 'packages/console/src/admin-client.ts',
    from: 'body instanceof Blob ? body : ',
    to: '',
  },
  {
    test: 'gateway/console',
    file: 'packages/console/src/permissions.ts',
    from: 'RANK[grant.role] >= RANK[role] &&',
    to: 'RANK[grant.role] >= RANK.viewer &&',
  },
  {
    test: 'gateway/console-forms',
    file: 'packages/console/src/sign-in.tsx',
    from: 'signIn({ token });',
    to: "signIn({ token }, setToken(''));",
  },
  {
    test: 'gateway/console-haste',
    file: 'packages/console/src/sign-in.tsx',
    from: 'useLayoutEffect(() => input',
    to: 'useEffect(() => input',
  },
  {
    test: 'gateway/console-invoices',
    file: 'packages/console/src/pages/invoices/invoices-page.tsx',
    from: "may('admin')",
    to: "may('viewer')",
  },
  {
    test: 'gateway/console-page',
    file: 'packages/admin/src/console/serve-console.ts',
    from: "frame-ancestors 'none'",
    to: "frame-ancestors 'self'",
  },
  {
    test: 'gateway/cooldowns',
    file: 'packages/shared/src/providers/cool-downs.ts',
    from: "subject.split(' ')[0] === subjectOf(provider, model)",
    to: 'subject === subjectOf(provider, model)',
  },
  {
    test: 'gateway/cors',
    file: 'packages/api/src/http/cors.ts',
    from: "allowed.has(origin) ? origin : ''",
    to: 'origin',
  },
  {
    test: 'gateway/cost',
    file: 'packages/shared/src/registry/price.ts',
    from: 'whole(price.cachedInput)',
    to: 'whole(price.input)',
  },
  {
    test: 'gateway/dispatcher',
    file: 'packages/api/src/chat/dispatcher.ts',
    from: '!hasNext || !this.parts.hasWorkers()',
    to: '!hasNext',
  },
  {
    test: 'gateway/embedding-batches',
    file: 'packages/worker/src/providers/openai/batches.ts',
    from: 'endpoint: pathOf(endpoint),',
    to: 'endpoint: pathOf(undefined),',
  },
  {
    test: 'gateway/embeddings',
    file: 'packages/worker/src/calls/model-apis.ts',
    from: 'this.#embeds(upstream, entry) !== false',
    to: 'this.#embeds(upstream, entry) !== null',
  },
  {
    test: 'gateway/erase',
    file: 'packages/shared/src/directory/erase.ts',
    from: 'names.spent(workspace), ',
    to: '',
  },
  {
    test: 'gateway/exact-numbers',
    file: 'packages/shared/src/json/exact.ts',
    from: 'const EXACT_DIGITS = 15;',
    to: 'const EXACT_DIGITS = 99;',
  },
  {
    test: 'gateway/examples',
    file: 'packages/api/src/chat/route.ts',
    from: "ctx.set('idempotent-replayed', 'true')",
    to: "ctx.set('idempotent-replayed', 'false')",
  },
  {
    test: 'gateway/fairness',
    file: 'packages/shared/src/queue/lua/parts/turns.lua',
    from: 'return math.max(start, last), start + share',
    to: 'return math.max(start, last), start',
  },
  {
    test: 'gateway/fallback',
    file: 'packages/worker/src/jobs/fallback.ts',
    from: 'if (failure.fallback && this.hasTime(progress.job))',
    to: 'if (this.hasTime(progress.job))',
  },
  {
    test: 'gateway/file-pages',
    file: 'packages/api/src/files/files.ts',
    from: 'expires > now',
    to: 'expires > 0',
  },
  {
    test: 'gateway/files',
    file: 'packages/api/src/files/receive-upload.ts',
    from: "file.once('limit', () => fail(tooLarge(maxFileBytes)))",
    to: "file.once('limit', () => { })",
  },
  {
    test: 'gateway/first-request',
    file: 'packages/api/src/chat/write-reply.ts',
    from: "'x-gateway-model'",
    to: "'x-gateway-modell'",
  },
  {
    test: 'gateway/found-concurrency',
    file: 'packages/shared/src/queue/lua/wait-again.lua',
    from: "if isCrowded ~= '' then",
    to: "if isCrowded == 'x' then",
  },
  {
    test: 'gateway/heavy-requests',
    file: 'packages/shared/src/contract/gateway-file.ts',
    from: 'max_keys: s.withDefault(s.whole(COUNT), 50_000)',
    to: 'max_keys: s.withDefault(s.whole(COUNT), 40_000)',
  },
  {
    test: 'gateway/helpful-404',
    file: 'packages/api/src/models/suggest-models.ts',
    from: 'far <= most',
    to: 'far < 1',
  },
  {
    test: 'gateway/idempotency',
    file: 'packages/api/src/chat/idempotent-dispatcher.ts',
    from: 'body, replayed: true }',
    to: 'body, replayed: false }',
  },
  {
    test: 'gateway/idempotency-order',
    file: 'packages/shared/src/queue/lua/admit-idempotent.lua',
    from: "if head then return {'answered', head, leader} end",
    to: '',
  },
  {
    test: 'gateway/inbox',
    file: 'packages/api/src/cell/inbox.ts',
    from: 'this.#caughtUpAt = asked',
    to: 'this.#caughtUpAt = 0',
  },
  {
    test: 'gateway/key-pepper',
    file: 'packages/shared/src/directory/key-digests.ts',
    from: "this.#writer ? keyed(this.#writer, value) : hash('sha256', value)",
    to: "hash('sha256', value)",
  },
  {
    test: 'gateway/limits',
    file: 'packages/worker/src/providers/parse-error.ts',
    from: "failure.coolDown = 'provider'",
    to: "failure.coolDown = 'model'",
  },
  {
    test: 'gateway/logs',
    file: 'packages/api/src/http/request-line.ts',
    from: ',"keyId":${JSON.stringify(key.id)}',
    to: '',
  },
  {
    test: 'gateway/metrics',
    file: 'packages/worker/src/jobs/worker-metrics.ts',
    from: 'this.#cost.inc(labels, cost / PICODOLLARS_PER_USD)',
    to: 'this.#cost.inc(labels, (2 * cost) / PICODOLLARS_PER_USD)',
  },
  {
    test: 'gateway/model-facts',
    file: 'packages/worker/src/calls/model-fit.ts',
    from: 'route === null',
    to: 'route !== null',
  },
  {
    test: 'gateway/promises',
    file: 'packages/api/src/chat/promises.ts',
    from: 'due - EARLY_MS > now',
    to: 'due > 0',
  },
  {
    test: 'gateway/rate-limits',
    file: 'packages/worker/src/jobs/provider-calls.ts',
    from: 'waitMs >= 0 && !isDoubted',
    to: 'waitMs > 1e9 && !isDoubted',
  },
  {
    test: 'gateway/responses',
    file: 'packages/worker/src/calls/model-apis.ts',
    from: "needed === 'always' ||",
    to: "needed !== 'always' ||",
  },
  {
    test: 'gateway/models',
    file: 'packages/api/src/models/models-route.ts',
    from: '.filter(({ id }) => !routes.has(id))',
    to: '',
  },
  {
    test: 'gateway/operator-races',
    file: 'packages/admin/src/routes/routes.ts',
    from: 'if (!isSeen)',
    to: 'if (false)',
  },
  {
    test: 'gateway/payloads',
    file: 'packages/shared/src/queue/payload.ts',
    from: 'mapped.param = map(error.param)',
    to: 'mapped.param = error.param',
  },
  {
    test: 'gateway/priorities',
    file: 'packages/shared/src/queue/lua/parts/take.lua',
    from: '[NORMAL] = 4',
    to: '[NORMAL] = 8',
  },
  {
    test: 'gateway/rate-limits',
    file: 'packages/shared/src/queue/lua/parts/rates.lua',
    from: 'finish = start + 1 / weight',
    to: 'finish = start + 1',
  },
  {
    test: 'gateway/raw-http',
    file: 'packages/api/src/http/refuse-unaddressed.ts',
    from: 'found > 1',
    to: 'found > 2',
  },
  {
    test: 'gateway/reconcile',
    file: 'packages/admin/src/reconcile/invoice.ts',
    from: 'known.times++',
    to: 'known.times--',
  },
  {
    test: 'gateway/redis-clock',
    file: 'packages/shared/src/redis/lua/parts/read-clock.lua',
    from: 'if now < clock or now > clock',
    to: 'if true or now > clock',
  },
  {
    test: 'gateway/redis-patience',
    file: 'packages/shared/src/redis/redis.ts',
    from: 'now - due > timeoutMs / 2',
    to: 'now < due - timeoutMs',
  },
  {
    test: 'gateway/redis-server',
    file: 'packages/api/src/cell/worry-gauge.ts',
    from: 'worry.reason === reason',
    to: 'worry.reason !== reason',
  },
  {
    test: 'gateway/reported-cost',
    file: 'packages/worker/src/calls/reported-cost.ts',
    from: 'MOST_TIMES_LISTED = 10',
    to: 'MOST_TIMES_LISTED = 1000',
  },
  {
    test: 'gateway/request-properties',
    file: 'packages/api/src/http/parse-json.ts',
    from: "typeof value !== 'object' || value === null",
    to: 'value === undefined',
  },
  {
    test: 'gateway/scale-out',
    file: 'packages/shared/src/queue/lua/parts/record.lua',
    from: "redis.call('HINCRBY', ledgerKey, ledgerRow .. ':requests', 1)",
    to: "redis.call('HSET', ledgerKey, ledgerRow .. ':requests', 1)",
  },
  {
    test: 'gateway/sdk',
    file: 'packages/worker/src/providers/anthropic/request.ts',
    from: "join('\\n')",
    to: "join(' ')",
  },
  {
    test: 'gateway/sdk-errors',
    file: 'packages/shared/src/errors.ts',
    from: "'not_implemented'",
    to: "'not_found'",
  },
  {
    test: 'gateway/scoped-budgets',
    file: 'packages/shared/src/queue/lua/parts/room.lua',
    from: 'if taken + amount > limit then return',
    to: 'if taken > limit then return',
  },
  {
    test: 'gateway/scoped-budgets',
    file: 'packages/shared/src/queue/lua/parts/book.lua',
    from: "redis.call('HINCRBY', key, 'spent', cost)",
    to: "redis.call('HINCRBY', key, 'spent', 0)",
  },
  {
    test: 'gateway/scoped-budgets',
    file: 'packages/shared/src/queue/workspace-limits.ts',
    from: 'request.inBatch ? BEHIND_CALLERS_MS : 0',
    to: '0',
  },
  {
    test: 'gateway/scoped-budgets',
    file: 'packages/shared/src/queue/usual-output.ts',
    from: 'learns > 0 && output >= learns',
    to: 'false',
  },
  {
    test: 'gateway/budget-scopes',
    file: 'packages/api/src/chat/admission.ts',
    from: 'job.insteadOf ??=',
    to: 'job.trace ??=',
  },
  {
    test: 'gateway/settle',
    file: 'packages/shared/src/queue/lua/settle.lua',
    from: 'if settledBy == run then',
    to: 'if settledBy == nil then',
  },
  {
    test: 'gateway/settle-sequences',
    file: 'packages/shared/src/queue/lua/parts/record.lua',
    from: "if settler == 'worker' then",
    to: "if settler ~= '' then",
  },
  {
    test: 'gateway/shards',
    file: 'packages/api/src/http/by-shard.ts',
    from: 'const serve = serving[shard];',
    to: 'const serve = serving[0];',
  },
  {
    test: 'gateway/shards',
    file: 'packages/shared/src/archive/log-ids.ts',
    from: 'return shard > its',
    to: 'return shard < its',
  },
  {
    test: 'gateway/shares',
    file: 'packages/shared/src/queue/lua/parts/turns.lua',
    from: 'math.max(start, last), start + share',
    to: 'math.max(start, last), start + 1',
  },
  {
    test: 'gateway/resume',
    file: 'packages/worker/src/jobs/provider-calls.ts',
    from: "(param === 'background' || param === 'store')",
    to: "(param === 'store')",
  },
  {
    test: 'gateway/sign-in',
    file: 'packages/admin/src/access/sessions.ts',
    from: 'now >= expires || now - seen >= IDLE_MS',
    to: 'now >= expires',
  },
  {
    test: 'gateway/single-sign-on',
    file: 'packages/admin/src/access/proxy-person.ts',
    from: '!this.config || !this.proxies.sent(ctx)',
    to: '!this.config',
  },
  {
    test: 'gateway/stock-bullmq',
    file: 'packages/shared/src/queue/lua/parts/store.lua',
    from: "'priority', priority}",
    to: "'priority', 0}",
  },
  {
    test: 'gateway/take',
    file: 'packages/shared/src/queue/lua/take.lua',
    from: "'PX', 4 * lockMs, 'GET') == token",
    to: "'PX', 4 * lockMs, 'GET') == worker",
  },
  {
    test: 'gateway/token-habits',
    file: 'packages/shared/src/queue/rates.ts',
    from: 'i: input, o: likely',
    to: 'i: input, o: output',
  },
  {
    test: 'gateway/traces',
    file: 'packages/shared/src/tracing/tracer.ts',
    from: '!own.sampled || this.#spans',
    to: 'this.#spans',
  },
  {
    test: 'gateway/unknown-bills',
    file: 'packages/shared/src/registry/call-estimate.ts',
    from: 'USUAL_BYTES_PER_TOKEN = 3',
    to: 'USUAL_BYTES_PER_TOKEN = 4',
  },
  {
    test: 'gateway/unsupported',
    file: 'packages/worker/src/providers/anthropic/fields.ts',
    from: 'value !== 1',
    to: 'value > 2',
  },
  {
    test: 'gateway/upstream-streams',
    file: 'packages/worker/src/jobs/provider-calls.ts',
    from: "(param === 'stream' || param === 'stream_options')",
    to: "(param === 'stream_options')",
  },
  {
    test: 'gateway/deadlines',
    file: 'packages/shared/src/queue/lua/parts/hold.lua',
    from: "redis.call('ZADD', q .. 'planned', deadline, jobId)",
    to: "redis.call('ZADD', q .. 'planned', 0, jobId)",
  },
  {
    test: 'gateway/gathered',
    file: 'packages/shared/src/queue/lua/collect-part.lua',
    from: "redis.call('HSET', queue .. id, 'at', part)",
    to: '',
  },
  {
    test: 'gateway/planner',
    file: 'packages/worker/src/jobs/planner.ts',
    from: 'plan.withoutFlex = true;\n            return now;\n        }\n        const isFlexTrouble',
    to: 'return now;\n        }\n        const isFlexTrouble',
  },
  {
    test: 'gateway/requests',
    file: 'packages/api/src/chat/request-ends.ts',
    from: 'await this.parts.stopRunning(request.id);',
    to: '',
  },
  {
    test: 'gateway/warm-prefix',
    file: 'packages/shared/src/queue/lua/parts/prefixes.lua',
    from: "if hasFailed then writePrefix(prefix, now, 'o', NOBODY_WAITS_MS, '-') end",
    to: '',
  },
  {
    test: 'gateway/warm-prefix',
    file: 'packages/shared/src/queue/lua/parts/rates.lua',
    from: 'isFirst = starts > 0 and prefixes.isFirst(rate[5], jobId, now)',
    to: 'isFirst = false',
  },
  {
    test: 'gateway/warm-prefix',
    file: 'packages/api/src/batches/line-feeder.ts',
    from: 'claimed.size - lines.followers',
    to: 'claimed.size',
  },
  {
    test: 'gateway/wrong-keys',
    file: 'packages/api/src/http/wrong-keys.ts',
    from: 'this.count(this.listener);',
    to: '',
  },
  {
    test: 'unit/line-estimate',
    file: 'packages/shared/src/registry/line-estimate.ts',
    from: ': longest;',
    to: ': usual;',
  },
];

export function builtFile({ file }: Mutant): string {
  if (file.endsWith('.lua')) return file;
  return file.replace('/src/', '/dist/').replace(/\.tsx?$/, '.js');
}

/** The built text with the change in it. Throws when the place is not there, or not only once. */
export function mutate({ file, from, to }: Mutant, built: string): string {
  const places = built.split(from).length - 1;
  if (places !== 1) throw new Error(`${file} has ${places} places with: ${from}`);
  return built.replace(from, () => to);
}
