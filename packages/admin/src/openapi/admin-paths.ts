import * as s from '@sluice/api/openapi/parts';
import { CHAT_ERRORS, COMPLETION_HEADERS, chatRequestRef } from '@sluice/api/openapi/public-api';
import * as c from '@sluice/shared/contract/all';
import { PERMISSIONS } from '../access/permissions.js';
import { alertPaths } from './alert-paths.js';
import { providerPaths } from './provider-paths.js';
import { webhookPaths } from './webhook-paths.js';

const workspace = s.inPath('id', 'Id of a workspace.');
const key = s.inPath('id', 'Id of a key.');
const alias = s.inPath('alias', 'Name of the route.');
const model = [s.inPath('provider', 'openai or anthropic.'), s.inPath('id', 'Id of the model.')];
const provider = s.inPath('provider', 'Name of a provider.');
const fromConsole = {
  name: 'x-sluice-console',
  in: 'header',
  required: true,
  description: 'Anything. A page of another site cannot send it.',
  schema: c.text().json,
};
const lines = (description: string) => ({
  description,
  content: { 'application/x-ndjson': { schema: c.text().json }, 'text/csv': { schema: c.text().json } },
});

type Paths = Record<string, Record<string, s.Operation>>;

/** Every operation needs a token or a session that may do it, says which, and may find Redis away. */
function guarded(paths: Paths): Paths {
  const always = s.errors('invalid_api_key', 'permission_denied', 'service_unavailable');
  return Object.fromEntries(
    Object.entries(paths).map(([path, operations]) => [
      path,
      Object.fromEntries(
        Object.entries(operations).map(([method, operation]) => [
          method,
          {
            ...operation,
            'x-role': PERMISSIONS[`${method.toUpperCase()} ${path}`]?.role,
            'x-where': PERMISSIONS[`${method.toUpperCase()} ${path}`]?.scope,
            responses: { ...operation.responses, ...always },
          },
        ]),
      ),
    ]),
  );
}

const unreadable = ['invalid_request', 'request_too_large', 'unsupported_media_type'] as const;

export const adminPaths: Paths = guarded({
  '/workspaces': {
    get: {
      summary: 'List the workspaces.',
      responses: { '200': s.json('By id.', c.listOf(c.workspaceState)) },
    },
    post: {
      summary: 'Create a workspace.',
      requestBody: s.body(c.workspaceInput),
      responses: {
        '201': s.json('It is there.', c.workspace),
        ...s.errors(...unreadable, 'conflict'),
      },
    },
  },
  '/workspaces/{id}': {
    get: {
      summary: 'One workspace.',
      parameters: [workspace],
      responses: { '200': s.json('The workspace.', c.workspaceState), ...s.errors('not_found') },
    },
    patch: {
      summary: 'Change its name or its limits.',
      parameters: [workspace],
      requestBody: s.body(c.workspaceChange),
      responses: { '200': s.json('Changed.', c.workspace), ...s.errors(...unreadable, 'not_found') },
    },
    delete: {
      summary:
        'Delete it with its keys, routes and kept answers. Its log and ledger stay, unless they are erased too.',
      parameters: [workspace, ...s.query(c.eraseQuery)],
      responses: {
        '200': s.json('Gone.', c.deletedWorkspace),
        ...s.errors('invalid_request', 'not_found', 'service_unavailable'),
      },
    },
  },
  '/workspaces/{id}/move': {
    post: {
      summary:
        'Move it to another shard. Its new requests wait until those that run have ended, and none fails.',
      parameters: [workspace],
      requestBody: s.body(c.moveInput),
      responses: {
        '200': s.json('It lives there.', c.workspaceMove),
        ...s.errors(...unreadable, 'not_found', 'conflict'),
      },
    },
  },
  '/workspaces/{id}/users/{user}': {
    delete: {
      summary: 'Erase an end user of the workspace from the request log. What was spent names no end user.',
      parameters: [workspace, s.inPath('user', 'What callers sent as `user`.')],
      responses: {
        '200': s.json('Erased from Redis; a worker erases it from PostgreSQL within seconds.', c.erasedUser),
        ...s.errors('service_unavailable'),
      },
    },
  },
  '/workspaces/{id}/keys': {
    get: {
      summary: 'List its keys.',
      parameters: [workspace],
      responses: { '200': s.json('Oldest first.', c.listOf(c.key)), ...s.errors('not_found') },
    },
    post: {
      summary: 'Issue a key. Its value is in the answer, and nowhere else.',
      parameters: [workspace],
      requestBody: s.body(c.keyInput),
      responses: {
        '200': s.json('The workspace has a key of this value already.', c.issuedKey),
        '201': s.json('Issued.', c.issuedKey),
        ...s.errors(...unreadable, 'not_found', 'conflict'),
      },
    },
  },
  '/keys/find': {
    post: {
      summary: 'Say of values whether they are keys, were revoked, or are unused. Nothing is changed.',
      requestBody: s.body(c.keyQuestion),
      responses: {
        '200': s.json('In the order of the values.', c.listOf(c.keySearch)),
        ...s.errors(...unreadable),
      },
    },
  },
  '/keys/{id}': {
    patch: {
      summary: 'Change its name, or when it expires.',
      parameters: [key],
      requestBody: s.body(c.keyChange),
      responses: {
        '200': s.json('Changed.', c.key),
        ...s.errors(...unreadable, 'not_found', 'conflict'),
      },
    },
    delete: {
      summary: 'Revoke it. Every api process refuses it within two seconds.',
      parameters: [key],
      responses: { '200': s.json('Gone.', c.deleted('key')), ...s.errors('not_found') },
    },
  },
  '/keys/{id}/rotate': {
    post: {
      summary: 'Issue a second key, and let this one live on for a grace period.',
      parameters: [key],
      requestBody: s.body(c.rotation, false),
      responses: {
        '201': s.json('Issued.', c.rotatedKey),
        ...s.errors(...unreadable, 'not_found', 'conflict'),
      },
    },
  },
  '/workspaces/{id}/routes': {
    get: {
      summary: 'List its routes.',
      parameters: [workspace],
      responses: { '200': s.json('By name.', c.listOf(c.route)), ...s.errors('not_found') },
    },
  },
  '/workspaces/{id}/routes/{alias}': {
    get: {
      summary: 'One route.',
      parameters: [workspace, alias],
      responses: { '200': s.json('The route.', c.route), ...s.errors('not_found') },
    },
    put: {
      summary:
        'Create or replace it. In effect on every api process within two seconds. With if-match and its version in quotes, or with if-none-match: *, it is refused when somebody else was faster.',
      parameters: [workspace, alias],
      requestBody: s.body(c.routeInput),
      responses: {
        '200': s.json('Replaced.', c.route),
        '201': s.json('Created.', c.route),
        ...s.errors(...unreadable, 'not_found', 'conflict'),
      },
    },
    delete: {
      summary: 'Delete it.',
      parameters: [workspace, alias],
      responses: { '200': s.json('Gone.', c.deleted('route')), ...s.errors('not_found') },
    },
  },
  '/workspaces/{id}/limits': {
    get: {
      summary: 'Its limits, and what of them is used.',
      parameters: [workspace],
      responses: { '200': s.json('The limits.', c.limitsInUse), ...s.errors('not_found') },
    },
    put: {
      summary: 'Replace its limits; one that is left out is lifted.',
      parameters: [workspace],
      requestBody: s.body(c.limitsInput, false),
      responses: { '200': s.json('Replaced.', c.limitsInUse), ...s.errors(...unreadable, 'not_found') },
    },
    patch: {
      summary: 'Change some of its limits: one that is left out stays, null lifts it.',
      parameters: [workspace],
      requestBody: s.body(c.limitsInput, false),
      responses: { '200': s.json('Changed.', c.limitsInUse), ...s.errors(...unreadable, 'not_found') },
    },
  },
  '/models': {
    get: {
      summary: 'The model registry: prices, context windows, capabilities.',
      parameters: s.query(c.modelsQuery),
      responses: {
        '200': s.json('By provider and id.', c.listOf(c.model, { registry: c.registry })),
        ...s.errors('invalid_request'),
      },
    },
  },
  '/models/{provider}/{id}': {
    put: {
      summary: 'Override a model. The override survives refreshes.',
      parameters: model,
      requestBody: s.body(c.modelOverride),
      responses: { '200': s.json('In effect.', c.model), ...s.errors(...unreadable, 'not_found') },
    },
    delete: {
      summary: 'Remove the override.',
      parameters: model,
      responses: {
        '200': s.json('Gone.', c.deleted('override', { provider: c.text() })),
        ...s.errors('invalid_request', 'not_found'),
      },
    },
  },
  '/models/refresh': {
    post: {
      summary: 'Replace the registry by a document, uploaded or fetched.',
      requestBody: s.body(c.refreshInput),
      responses: {
        '200': s.json('Done, or what it would do.', c.refresh),
        ...s.errors(...unreadable, 'refresh_failed'),
        '409': s.json('It needs a confirmation.', c.refreshRefused),
      },
    },
  },
  '/requests': {
    get: {
      summary: 'The request log, newest first.',
      parameters: s.query(c.requestsQuery),
      responses: {
        '200': s.json('A page.', c.listOf(c.loggedRequest, c.requestPage), {
          'server-timing': { description: 'What it took.', schema: c.text().json },
        }),
        ...s.errors('invalid_request'),
      },
    },
  },
  '/requests/{id}': {
    get: {
      summary: 'One request.',
      parameters: [s.inPath('id', 'The x-request-id of its answer.')],
      responses: { '200': s.json('The request.', c.loggedRequest), ...s.errors('not_found') },
    },
  },
  '/requests/follow': {
    get: {
      summary: 'The request log as it grows: one JSON object a line, an empty line now and then.',
      parameters: s.query(c.followQuery),
      responses: { '200': lines('Without an end.'), ...s.errors('invalid_request', 'rate_limited') },
    },
  },
  '/requests/export': {
    get: {
      summary: 'The whole request log, oldest first.',
      parameters: s.query(c.requestsExportQuery),
      responses: {
        '200': lines('One request a line.'),
        ...s.errors('invalid_request', 'service_unavailable'),
      },
    },
  },
  '/spend': {
    get: {
      summary: 'The ledger, summed.',
      parameters: s.query(c.spendQuery),
      responses: {
        '200': s.json('The sums.', c.spend),
        ...s.errors('invalid_request', 'service_unavailable'),
      },
    },
  },
  '/reconciliations': {
    get: {
      summary: 'What came of the latest reconciliation of each provider and month, the newest first.',
      responses: {
        '200': s.json('Without their rows.', c.listOf(c.reconciliationSummary)),
        ...s.errors('invalid_request'),
      },
    },
    post: {
      summary:
        'Set a provider’s own account of a month beside the ledger, and adjust the ledger to it if asked to.',
      requestBody: s.body(c.reconcileInput),
      responses: { '200': s.json('Both sides.', c.reconciliation), ...s.errors(...unreadable, 'conflict') },
    },
  },
  '/reconciliations/{provider}/{month}': {
    get: {
      summary: 'The latest reconciliation of a provider and month.',
      parameters: [provider, s.inPath('month', 'A month such as 2026-10.')],
      responses: { '200': s.json('Both sides.', c.reconciliation), ...s.errors('not_found') },
    },
  },
  '/workspaces/{id}/statement': {
    get: {
      summary: 'What a workspace spent in a month, by model, route, key and day.',
      parameters: [workspace, ...s.query(c.statementQuery)],
      responses: {
        '200': s.json('The statement.', c.statement),
        ...s.errors('invalid_request', 'not_found', 'service_unavailable'),
      },
    },
  },
  '/workspaces/{id}/budgets': {
    get: {
      summary:
        'What is left of its budgets, for each value that is counted now; the most used first. And what its routes were found to write, which budgets in `expected` mode reserve by.',
      parameters: [workspace, ...s.query(c.budgetsQuery)],
      responses: {
        '200': s.json(
          'The budgets.',
          c.listOf(c.budgetState, { total: c.whole(), usual_outputs: c.list(c.usualOutput) }),
        ),
        ...s.errors('not_found'),
      },
    },
  },
  '/workspaces/{id}/months': {
    get: {
      summary: 'The months of a workspace, the newest first: the budget that each had, and what was spent.',
      parameters: [workspace],
      responses: {
        '200': s.json('The months, of UTC.', c.listOf(c.budgetMonth)),
        ...s.errors('not_found'),
      },
    },
  },
  '/budgets': {
    get: {
      summary: 'Workspaces with a budget, the most used first, and what each spends a day.',
      parameters: s.query(c.budgetsQuery),
      responses: {
        '200': s.json('The budgets.', c.listOf(c.budget, { total: c.whole() })),
        ...s.errors('invalid_request'),
      },
    },
  },
  '/savings': {
    get: {
      summary:
        'What requests with a deadline have saved in this month (UTC), by workspace, and how many were late.',
      responses: {
        '200': s.json('Workspaces that had any, the one that saved most first.', c.listOf(c.saving)),
        ...s.errors('invalid_request'),
      },
    },
  },
  '/batches': {
    get: {
      summary: 'The batches of all workspaces, the newest first.',
      parameters: s.query(c.batchesQuery),
      responses: { '200': s.json('The batches.', c.listOf(c.batchView)) },
    },
  },
  '/workspaces/{id}/batch-quote': {
    post: {
      summary: 'What a batch of these lines would cost. Nothing is run or kept.',
      parameters: [s.inPath('id', 'Id of the workspace.'), ...s.query(c.quoteQuery)],
      requestBody: {
        required: true,
        content: { 'application/jsonl': { schema: { ...c.text().json, format: 'binary' } } },
      },
      responses: {
        '200': s.json('The quote.', c.batchQuote),
        ...s.errors('invalid_request', 'not_found', 'request_too_large', 'rate_limited'),
      },
    },
  },
  '/workspaces/{id}/batches/{batch}/cancel': {
    post: {
      summary: 'End a batch: what waits is not run, and what runs may end.',
      parameters: [s.inPath('id', 'Id of the workspace.'), s.inPath('batch', 'Id of the batch.')],
      responses: { '200': s.json('The batch.', c.batchView), ...s.errors('not_found', 'conflict') },
    },
  },
  '/workspaces/{id}/background-requests': {
    get: {
      summary:
        'The requests in the background of a workspace, the newest first, without prompts and answers.',
      parameters: [
        s.inPath('id', 'Id of the workspace.'),
        s.inQuery('status', 'Only those of one status: in_progress, completed, failed or cancelled.'),
        s.inQuery('after', 'Id of the last request of the page before.'),
        s.inQuery('limit', 'How many at most, up to 100.'),
      ],
      responses: {
        '200': s.json('The requests.', c.listOf(c.backgroundRequest, { has_more: c.flag })),
        ...s.errors('invalid_request', 'not_found'),
      },
    },
  },
  '/workspaces/{id}/background-requests/{request}': {
    get: {
      summary: 'One of them, with its place in the queue and when it is expected.',
      parameters: [s.inPath('id', 'Id of the workspace.'), s.inPath('request', 'Id of the request.')],
      responses: { '200': s.json('The request.', c.backgroundRequest), ...s.errors('not_found') },
    },
  },
  '/workspaces/{id}/background-requests/{request}/cancel': {
    post: {
      summary: 'Take it off its queue, or stop its call, which a provider may bill.',
      parameters: [s.inPath('id', 'Id of the workspace.'), s.inPath('request', 'Id of the request.')],
      responses: {
        '200': s.json('The request.', c.backgroundRequest),
        ...s.errors('not_found', 'conflict'),
      },
    },
  },
  ...webhookPaths,
  ...alertPaths,
  '/workspaces/{id}/files/{file}/content': {
    get: {
      summary: 'The bytes of a file: the requests of a batch, or its answers.',
      parameters: [s.inPath('id', 'Id of the workspace.'), s.inPath('file', 'Id of the file.')],
      responses: {
        '200': {
          description: 'The bytes.',
          content: { 'application/jsonl': { schema: { ...c.text().json, format: 'binary' } } },
        },
        ...s.errors('not_found'),
      },
    },
  },
  '/queues/{provider}/pause': {
    post: {
      summary: 'Let no worker take its requests. Calls under way end, and new requests wait.',
      parameters: [provider],
      responses: { '200': s.json('Paused.', c.queue), ...s.errors('not_found') },
    },
  },
  '/queues/{provider}/resume': {
    post: {
      summary: 'Let workers take its requests again.',
      parameters: [provider],
      responses: { '200': s.json('Resumed.', c.queue), ...s.errors('not_found') },
    },
  },
  ...providerPaths,
  '/shards': {
    get: {
      summary: 'List the shards, with what each has.',
      responses: { '200': s.json('By number.', c.listOf(c.shard)) },
    },
  },
  '/shards/{shard}': {
    patch: {
      summary: 'Say whether it gets new workspaces.',
      parameters: [s.inPath('shard', 'Number of a shard.')],
      requestBody: s.body(c.shardChange),
      responses: { '200': s.json('Changed.', c.shard), ...s.errors(...unreadable, 'not_found') },
    },
    delete: {
      summary:
        'Remove the log of a shard without workspaces, and bring its spend to shard 0, so that there can be fewer.',
      parameters: [s.inPath('shard', 'Number of a shard.')],
      responses: { '200': s.json('Nothing is left in it.', c.shard), ...s.errors('not_found', 'conflict') },
    },
  },
  '/reload': {
    post: {
      summary: 'Ask every process to read its gateway.yaml again. What came of it is in the status.',
      responses: { '200': s.json('Asked.', c.reload) },
    },
  },
  '/cooldowns': {
    get: {
      summary: 'Which providers and models are left alone, and until when.',
      responses: { '200': s.json('By provider.', c.listOf(c.coolDown)) },
    },
  },
  '/cooldowns/{provider}': {
    delete: {
      summary: 'Let workers call again at once: one model, or the provider and all of its models.',
      parameters: [provider, s.inQuery('model', 'Id of a model; default: all of them.')],
      responses: {
        '200': s.json('Lifted.', c.liftedCoolDowns),
        ...s.errors('invalid_request', 'not_found'),
      },
    },
  },
  '/status': {
    get: {
      summary: 'Processes, queues, cool-downs, circuits and memory.',
      responses: { '200': s.json('The status.', c.status) },
    },
  },
  '/attempts': {
    get: {
      summary:
        'How fast the entries of a route were, or all providers, how often they failed, and why they were passed over.',
      parameters: s.query(c.attemptsQuery),
      responses: {
        '200': s.json('Of the newest 5,000 requests at most.', c.attempts),
        ...s.errors('invalid_request'),
      },
    },
  },
  '/directory': {
    get: {
      summary: 'All workspaces with their routes and keys.',
      parameters: s.query(c.directoryQuery),
      responses: { '200': s.json('The directory.', c.directory), ...s.errors('invalid_request') },
    },
  },
  '/catalogue': {
    get: {
      summary: 'The direct model ids that callers are offered beside their routes.',
      responses: {
        '200': s.json('By provider and id.', c.listOf(c.offeredModel, { base_url: c.text() })),
      },
    },
  },
  '/refusals': {
    get: {
      summary:
        'How many requests were refused, by workspace, key and reason. Most of them are not in the request log.',
      parameters: s.query(c.refusalsQuery),
      responses: { '200': s.json('The counts.', c.refusals), ...s.errors('invalid_request') },
    },
  },
  '/traffic': {
    get: {
      summary: 'Rates, durations, failures, and who served each route, from the request log.',
      parameters: s.query(c.trafficQuery),
      responses: { '200': s.json('The sums.', c.traffic), ...s.errors('invalid_request') },
    },
  },
  '/workspaces/{id}/playground': {
    post: {
      summary:
        'Create a chat completion on behalf of a workspace; logged, limited and billed like any other.',
      parameters: [workspace],
      requestBody: s.body(chatRequestRef),
      responses: {
        '200': s.json('The completion.', c.chatCompletion, COMPLETION_HEADERS),
        ...CHAT_ERRORS,
        ...s.errors('not_found', 'model_not_found'),
      },
    },
  },
  '/sign-in-links': {
    post: {
      summary: 'Make a link that signs a browser in to the console, once and within ten minutes.',
      responses: { '201': s.json('The link.', c.signInLink) },
    },
  },
  '/tokens': {
    get: {
      summary: 'List the tokens for programs.',
      responses: { '200': s.json('Oldest first.', c.listOf(c.adminToken)) },
    },
    post: {
      summary: 'Create a token. Its value is in the answer, and nowhere else.',
      requestBody: s.body(c.tokenInput),
      responses: {
        '201': s.json('Created.', c.issuedToken),
        ...s.errors(...unreadable, 'conflict'),
      },
    },
  },
  '/tokens/{id}': {
    delete: {
      summary: 'Revoke it, and end the sessions that were begun with it.',
      parameters: [s.inPath('id', 'Id of a token.')],
      responses: { '200': s.json('Gone.', c.deleted('token')), ...s.errors('not_found') },
    },
  },
  '/sessions': {
    get: {
      summary: 'List the browsers that are signed in.',
      responses: { '200': s.json('Newest first.', c.listOf(c.openSession)) },
    },
  },
  '/sessions/{id}': {
    delete: {
      summary: 'End it. Its browser has to sign in again.',
      parameters: [s.inPath('id', 'Id of a session.')],
      responses: { '200': s.json('Ended.', c.deleted('open_session')), ...s.errors('not_found') },
    },
  },
  '/audit': {
    get: {
      summary: 'Who has changed what, or who has signed in, newest first.',
      parameters: s.query(c.auditQuery),
      responses: {
        '200': s.json('A page.', c.listOf(c.auditRecord, c.auditPage)),
        ...s.errors('invalid_request'),
      },
    },
  },
  '/audit/export': {
    get: {
      summary: 'The whole audit trail, newest first.',
      parameters: s.query(c.auditExportQuery),
      responses: { '200': lines('One entry a line.'), ...s.errors('invalid_request') },
    },
  },
  '/openapi.json': {
    get: {
      summary: 'This document.',
      responses: { '200': s.json('OpenAPI 3.1.', { type: 'object' }) },
    },
  },
});

/** These paths need no sign-in. Changes must come from the console's own page. */
export const sessionPaths: Paths = {
  '/session': {
    get: {
      summary: 'Who is signed in with this browser.',
      security: [],
      responses: {
        '200': s.json('Somebody or nobody.', c.session),
        ...s.errors('service_unavailable'),
      },
    },
    post: {
      summary: 'Sign this browser in with a token or a sign-in link. The answer sets the session’s cookie.',
      security: [],
      parameters: [fromConsole],
      requestBody: s.body(c.signInInput),
      responses: {
        '201': s.json('Signed in.', c.session),
        ...s.errors(
          ...unreadable,
          'invalid_api_key',
          'permission_denied',
          'rate_limited',
          'service_unavailable',
        ),
      },
    },
    delete: {
      summary: 'Sign this browser out.',
      security: [],
      parameters: [fromConsole],
      responses: {
        '200': s.json('Nobody is signed in.', c.session),
        ...s.errors('permission_denied', 'service_unavailable'),
      },
    },
  },
  '/sign-in/oidc': {
    get: {
      summary: 'Sign in by OpenID Connect: leads a browser to the provider.',
      security: [],
      responses: {
        '303': { description: 'To the provider, or back with a failure.' },
        ...s.errors('not_found'),
      },
    },
  },
  '/sign-in/oidc/return': {
    get: {
      summary: 'Where the provider sends a browser back to. The answer sets the session’s cookie.',
      security: [],
      parameters: [s.inQuery('code', 'From the provider.'), s.inQuery('state', 'From the provider.')],
      responses: {
        '303': { description: 'To the console.' },
        ...s.errors('not_found', 'rate_limited', 'service_unavailable'),
      },
    },
  },
};
