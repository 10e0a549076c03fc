import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { PERMISSIONS } from '@sluice/admin/access/permissions';
import { adminPaths } from '@sluice/admin/openapi/admin-paths';
import { startEnv } from '@sluice/cli/start/env';
import { parseConfig, parseConfigText } from '@sluice/shared/config/config';
import { ERROR_STATUS } from '@sluice/shared/errors';
import { describeEnv } from '@sluice/shared/process/env';
import { REASONS } from '@sluice/shared/reasons';
import { keyNames } from '@sluice/shared/redis/key-names';
import { DROPPED_FIELDS, REFUSED_FIELDS, TRANSLATED_FIELDS } from '@sluice/shared/registry/anthropic-fields';
import { MAX_DROPPED, MAX_FACTOR } from '@sluice/shared/registry/diff';
import test from 'ava';

const repository = new URL('../../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, repository), 'utf8');
const readme = read('README.md');
const pagesIn = (folder: string) =>
  readdirSync(new URL(`${folder}/`, repository))
    .filter((name) => name.endsWith('.md'))
    .map((name) => (folder === '.' ? name : `${folder}/${name}`));

/** The entries of the first list after this line, such as "- `name` (`default`): Text.": name, default and text. */
function listAfter(text: string, line: string): [string, string, string][] {
  const after = text.slice(text.indexOf(`\n${line}\n`) + line.length + 2);
  const list = /(?:^- `.*\n)+/m.exec(after)?.[0] ?? '';
  return [...list.matchAll(/^- (`[^`]+`)(?: \((.+?)\))?: (.*)$/gm)].map(
    ([, name = '', standard = '', what = '']) => [name, standard, what],
  );
}

const code = (text: string) => `\`${text}\``;

test('every path that ARCHITECTURE, CONTRIBUTING and the decisions name exists', (t) => {
  const pages = ['ARCHITECTURE.md', 'CONTRIBUTING.md', ...pagesIn('docs/adr')];
  for (const page of pages) {
    const paths = read(page).match(/(?<![\w/])(?:packages|test|docs|\.ci)\/[\w./-]*[\w/](?!<)/g) ?? [];
    const named = paths.filter((path) => !path.startsWith('test/dist'));
    for (const path of named) t.true(existsSync(new URL(path, repository)), `${page} names ${path}`);
  }
});

test('every decision has a number of its own, in its name and in its title', (t) => {
  const pages = pagesIn('docs/adr');
  const numbers = pages.map((page) => Number(/\/(\d{4})-/.exec(page)?.[1]));
  t.deepEqual(numbers, [...new Set(numbers)]);
  for (const [i, page] of pages.entries()) t.true(read(page).startsWith(`# ${numbers[i]}. `), page);
});

test('every link between the pages leads somewhere', (t) => {
  for (const page of [...pagesIn('.'), ...pagesIn('docs'), ...pagesIn('docs/adr')]) {
    const links = [...read(page).matchAll(/\]\((?!https?:|#)([^)#]+)(?:#[^)]*)?\)/g)].map(
      ([, target]) => target ?? '',
    );
    for (const target of links)
      t.true(
        existsSync(fileURLToPath(new URL(target, new URL(page, repository)))),
        `${page} links to ${target}`,
      );
  }
});

test('the first lines of the README are those of docs/clients.md', (t) => {
  for (const language of ['js', 'python']) {
    const code = (page: string) => new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 's').exec(read(page))?.[1];
    t.truthy(code('README.md'), language);
    t.is(code('README.md'), code('docs/clients.md'), language);
  }
});

test('the page of errors is the table of the code', (t) => {
  const rows = listAfter(read('docs/errors.md'), '<!-- errors -->').map(([name, status]) => [name, status]);
  t.deepEqual(
    rows,
    Object.entries(ERROR_STATUS).map(([name, status]) => [code(name), String(status)]),
  );
});

test('the page of errors has every reason of each kind, in the words of the code or by its name alone', (t) => {
  const page = read('docs/errors.md');
  for (const kind of new Set(Object.values(REASONS).map(({ kind }) => kind))) {
    const reasons = Object.entries(REASONS).filter(([, row]) => row.kind === kind);
    const explained = listAfter(page, `**${kind}**`);
    for (const [name, , words] of explained)
      t.is(reasons.find(([reason]) => code(reason) === name)?.[1].words as string | undefined, words, name);
    const [, plain = ''] =
      /\nSelf-explanatory: ([^.]+)\./.exec(page.slice(page.indexOf(`**${kind}**`))) ?? [];
    t.deepEqual(
      [...explained.map(([name]) => name), ...plain.split(/,\s+/)].sort(),
      reasons.map(([name]) => code(name)).sort(),
    );
  }
});

test('the page of the environment is what npm start reads', (t) => {
  t.deepEqual(
    listAfter(read('docs/environment.md'), '<!-- environment -->'),
    describeEnv(startEnv).map(({ name, description, default: standard }) => [
      code(name),
      standard === undefined ? '' : code(standard),
      description,
    ]),
  );
});

test('the first gateway.yaml of docs/configuration.md is valid and says the defaults', (t) => {
  const snippet = /```yaml\n([^`]+)```/.exec(read('docs/configuration.md'))?.[1] ?? '';
  const config = parseConfigText(snippet, {});
  t.deepEqual([...config.providers.keys()], ['openai', 'anthropic']);
  t.is(config.workspaces[0]?.routes.get('careful')?.onCrash, 'fail');
  const standard = parseConfigText('{}', {});
  t.deepEqual(config.providers, standard.providers);
  t.deepEqual(config.request, standard.request);
  t.deepEqual(config.requestLog, standard.requestLog);
});

test('the gateway.yaml of the README is valid, and no table there is longer than ten rows', (t) => {
  const snippet = /```yaml\n([^`]+)```/.exec(readme)?.[1] ?? '';
  t.is(parseConfigText(snippet, {}).workspaces[0]?.routes.get('fast')?.chain.length, 2);
  const tables = readme.match(/(?:^\|.*\n)+/gm) ?? [];
  t.true(tables.length > 0);
  for (const table of tables) t.true(table.trim().split('\n').length - 2 <= 10, table);
});

test('docs/translation.md lists every field with its reason', (t) => {
  const page = read('docs/translation.md');
  t.deepEqual(
    listAfter(page, '## Translated').map(([field]) => field),
    TRANSLATED_FIELDS.map(code),
  );
  t.deepEqual(
    listAfter(page, '## Refused').map(([field, , why]) => [field, why]),
    Object.entries(REFUSED_FIELDS).map(([field, { reason }]) => [code(field), reason]),
  );
  t.deepEqual(
    listAfter(page, '## Dropped').map(([field, , why]) => [field, why]),
    Object.entries(DROPPED_FIELDS).map(([field, reason]) => [code(field), reason]),
  );
});

test('docs/operating.md says what makes a refresh need a confirmation', (t) => {
  const page = read('docs/operating.md').replaceAll('\n', ' ');
  t.true(page.includes(`drops more than ${MAX_DROPPED} models`));
  t.true(page.includes(`by more than a factor of ${MAX_FACTOR} `));
});

/** What gateway.yaml may have at a place, as its reader says when it finds something else there. */
function fieldsAt(nest: (mistake: object) => unknown): string[] {
  try {
    parseConfig(nest({ 'no-such-field': 1 }), {});
  } catch (error) {
    const allowed = /no-such-field: unknown field; allowed: ([\w, ]+)/.exec(String(error))?.[1];
    return allowed?.split(', ') ?? [];
  }
  return [];
}

test('docs/configuration.md has every field of gateway.yaml, and the defaults', (t) => {
  const page = read('docs/configuration.md');
  const workspace = (more: object) => ({ workspaces: [{ id: 'x', ...more }] });
  const places: Record<string, (mistake: object) => unknown> = {
    'Top level': (mistake) => mistake,
    Provider: (mistake) => ({ providers: { x: mistake } }),
    Auth: (auth) => ({ providers: { x: { kind: 'openai', base_url: 'http://x', auth } } }),
    Workspace: workspace,
    'Chain entry': (mistake) => workspace({ routes: { x: [mistake] } }),
    Limits: (limits) => workspace({ limits }),
    Request: (request) => ({ request }),
    'Request log': (log) => ({ request_log: log }),
    Registry: (registry) => ({ registry }),
    Webhooks: (webhooks) => ({ webhooks }),
    CORS: (cors) => ({ cors }),
    Files: (files) => ({ files }),
    Batches: (batches) => ({ batches }),
    Access: (access) => ({ access }),
    '# OpenID Connect': (oidc) => ({ access: { oidc } }),
    '# Proxy': (proxy) => ({ access: { proxy } }),
  };
  for (const [section, nest] of Object.entries(places))
    t.deepEqual(
      listAfter(page, `## ${section}`.replace('## #', '###')).map(([field]) => field),
      fieldsAt(nest).map(code),
      section,
    );

  const { providers, request, requestLog, archive, registry, webhooks } = parseConfig({}, {});
  const defaults = (section: string) =>
    listAfter(page, `## ${section}`).flatMap(([, value]) => value.replaceAll('`', '') || []);
  const {
    concurrency,
    maxWaitMs,
    maxBacklog,
    timeoutMs,
    upstreamStream,
    firstTokenTimeoutMs,
    stallTimeoutMs,
    cooldownMs,
    maxCooldownMs,
    circuitFailures,
    circuitOpenMs,
    checkAnswers,
    batchPriceFactor,
    cost,
  } = providers.get('openai') ?? {};
  t.deepEqual(
    defaults('Provider'),
    [
      concurrency,
      maxWaitMs,
      maxBacklog,
      timeoutMs,
      upstreamStream,
      firstTokenTimeoutMs,
      stallTimeoutMs,
      cooldownMs,
      maxCooldownMs,
      circuitFailures,
      circuitOpenMs,
      checkAnswers,
      batchPriceFactor,
      cost,
    ].map(String),
  );
  const { limits, ...times } = request;
  t.deepEqual(defaults('Request'), Object.values({ ...times, ...limits }).map(String));
  t.deepEqual(defaults('Request log'), [
    String(requestLog.maxEntries),
    String(requestLog.maxRefusalsPerMinute),
  ]);
  const keep = (days: number | undefined) => (days === undefined ? 'forever' : `${days}d`);
  t.deepEqual(defaults('Archive'), [
    keep(archive.keepRequestsDays),
    keep(archive.keepSpendDays),
    String(archive.maxRedisBytes),
  ]);
  t.deepEqual(
    defaults('Registry'),
    [registry.refreshMs / 3_600_000, registry.allowPrivateAddresses].map(String),
  );
  t.deepEqual(defaults('Webhooks'), Object.values(webhooks).map(String));
});

test('the admin api says of every path who may use it', (t) => {
  const described = Object.entries(adminPaths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { 'x-role': role, 'x-where': scope }]) => [
      `${method.toUpperCase()} ${path}`,
      { role, scope },
    ]),
  );
  // The board of the queues is a page of its own.
  const { 'GET /queues': _, ...rest } = PERMISSIONS;
  const allowed = Object.entries(rest).map(([name, { role, scope }]) => [name, { role, scope }]);
  t.deepEqual(Object.fromEntries(described), Object.fromEntries(allowed));
});

test('every Redis key says what is in it', (t) => {
  const source = read('packages/shared/src/redis/key-names.ts');
  const undescribed = Object.keys(keyNames('sluice')).filter(
    (name) => !new RegExp(` \\*/\\n  ${name}[(:]`).test(source),
  );
  t.deepEqual(undescribed, []);
});

test('CI runs the test command of the README, and then the rest of the suite', (t) => {
  const command = 'npm ci && npm test';
  t.true(readme.includes(`\n\`\`\`sh\n${command}\n\`\`\`\n`));
  const lines = read('.ci/run').trim().split('\n');
  const commands = lines.filter((line) => !/^(?:#|set |cd )/.test(line));
  t.deepEqual(commands, [command, 'npm run test:all']);
});
