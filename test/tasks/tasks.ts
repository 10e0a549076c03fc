/** The tasks of an operator, each done in the console and with the `sluice` command. */
import { writeFileSync } from 'node:fs';
import { moment } from '@sluice/cli/output/format';
import { createBatch } from '../helpers/batches.js';
import { sdkFor } from '../helpers/sdk.js';
import { until } from '../helpers/until.js';
import type { Hand, Terminal } from './hand.js';
import type { World } from './world.js';

const NEW_KEY = 'sk-the-new-key';

export interface Task {
  title: string;
  /** It asks for what PostgreSQL alone knows. */
  needsArchive?: true;
  /** What has happened before. It is no part of the task. */
  before?(world: World): Promise<void>;
  inConsole(hand: Hand, world: World): Promise<void>;
  inTerminal(terminal: Terminal, world: World): Promise<void>;
}

export const TASKS: readonly Task[] = [
  {
    title: 'Add an Ollama and route to it',
    async inConsole(hand, world) {
      await hand.go('Providers');
      await hand.press('Add a provider');
      await hand.choose('Provider', 'ollama');
      await hand.fill('Base address', world.upstream.baseUrl);
      await hand.press('Add the provider');
      await hand.page.getByRole('article', { name: 'Provider ollama' }).waitFor();
      await hand.go('Routes');
      await hand.press('New route');
      await hand.choose('Workspace', 'team');
      await hand.fill('Name', 'local');
      await hand.choose('Provider', 'ollama');
      await hand.fill('Model', 'llama3.2');
      await hand.press('Save route');
      await hand.page.getByRole('article', { name: 'Route local of team' }).waitFor();
      await expectServed(world, 'local');
    },
    async inTerminal(terminal, world) {
      await terminal.run(`providers set ollama --preset ollama --base-url ${world.upstream.baseUrl}`);
      await terminal.run('routes set team local ollama/llama3.2');
      await expectServed(world, 'local');
    },
  },
  {
    title: 'Limit a team to $50 a month and 5 calls at a time',
    async inConsole(hand, { admin }) {
      await hand.go('Workspaces');
      await hand.click(hand.page.getByRole('link', { name: 'team', exact: true }));
      await hand.press('Change limits');
      await hand.fill('Budget, USD a month', '50');
      await hand.fill('Calls at a time', '5');
      await hand.press('Save the limits');
      await hand.sees('$50.00');
      const { body } = await admin('GET', '/workspaces/team/limits');
      if (body.concurrent_requests !== 5) throw new Error('the limit was not set');
    },
    async inTerminal(terminal) {
      await terminal.run('limits set team --budget-usd-per-month 50 --concurrent-requests 5');
      await terminal.sees('limits list team', /50/);
    },
  },
  {
    title: 'Find out why a request was slow',
    async before({ gateway, ask }) {
      gateway.simulator.script({
        match: { textIncludes: 'slowly, please' },
        times: 2,
        action: { delayMs: 1_500 },
      });
      await ask('fast', 'slowly, please');
    },
    async inConsole(hand) {
      await hand.go('Requests');
      await hand.choose('Order', 'duration');
      await hand.click(hand.page.getByRole('link', { name: /^Request req_/ }).first());
      await hand.sees('Time line');
      await hand.sees('Attempt 1: openai/gpt-4o-mini');
    },
    async inTerminal(terminal) {
      const { out } = await terminal.run('requests --sort duration --limit 1 --json');
      const [{ id }] = JSON.parse(out) as [{ id: string }];
      await terminal.sees(`requests ${id}`, /openai/);
    },
  },
  {
    title: 'Find out why a team’s requests are refused, and since when',
    /** Others are refused at the same time, for other reasons. */
    async before({ gateway, admin, ask }) {
      await ask('nonesuch', 'x');
      await ask('gpt-4o-mini', 'x', `${gateway.key}x`);
      await expectOk(ask('gpt-4o-mini', 'x', gateway.keys.spent));
      await admin('PATCH', '/workspaces/spent/limits', { budget_usd_per_month: 0.000001 });
      await until(
        'a spent budget',
        async () => (await ask('gpt-4o-mini', 'x', gateway.keys.spent)).status === 429,
      );
      await until('the counts', async () => (await admin('GET', '/refusals')).body.data.length >= 3);
    },
    async inConsole(hand, world) {
      await hand.go('Live');
      const row = hand.page.getByRole('table', { name: 'Refusals' }).getByRole('row', { name: /spent/ });
      await row.getByText('A budget of the workspace was spent.').waitFor();
      await hand.click(row.getByRole('link', { name: 'spent', exact: true }));
      const time = await hand.page.evaluate(
        (moment) => new Date(moment).toLocaleTimeString('en', { hourCycle: 'h23' }),
        await refusingSince(world),
      );
      await hand.sees(`requests are refused since ${time}`);
    },
    async inTerminal(terminal, world) {
      await terminal.sees(
        'refusals --workspace spent',
        /budget_spent .* A budget of the workspace was spent/,
      );
      await terminal.sees('limits list spent', new RegExp(moment(await refusingSince(world))));
    },
  },
  {
    title: 'Bill each team for this month',
    async before({ ask }) {
      await ask('fast', 'something to bill');
    },
    async inConsole(hand) {
      await hand.go('Spend');
      const saving = hand.page.waitForEvent('download');
      await hand.press('Download CSV');
      await saving;
    },
    async inTerminal(terminal) {
      const month = new Date().toISOString().slice(0, 7);
      await terminal.sees(`spend --by workspace --month ${month} --csv`, /demo/);
    },
  },
  {
    title: 'Find the most expensive end user',
    needsArchive: true,
    async before({ gateway, ask, admin }) {
      for (const [user, words] of [
        ['ann', 20],
        ['bob', 900],
        ['cy', 100],
      ] as const)
        await expectOk(ask('fast', 'word '.repeat(words), gateway.key, user));
      await until('their sums', async () => {
        const { status, body } = await admin('GET', '/spend?by=end_user');
        return status === 200 && body.complete && body.data.length === 3;
      });
    },
    async inConsole(hand) {
      await hand.go('Spend');
      await hand.choose('Summed by', 'end_user');
      const names = hand.page.getByRole('table', { name: /^Spend/ }).locator('tbody th');
      await names.first().getByText('bob', { exact: false }).waitFor();
    },
    async inTerminal(terminal) {
      await terminal.sees('spend --by end_user', /END_USER[^\n]*\n *bob\b/);
    },
  },
  {
    title: 'Replace a provider’s key without a failed call',
    async before({ admin, upstream }) {
      const settings = { kind: 'openai', base_url: upstream.baseUrl };
      await admin('PUT', '/providers/acme', { ...settings, api_key: 'sk-the-old-key' });
    },
    async inConsole(hand, world) {
      await withoutFailure(world, async () => {
        await hand.go('Providers');
        await hand.press('Replace the key of acme');
        await hand.fill('New key', NEW_KEY);
        await hand.press('Replace the key');
      });
    },
    async inTerminal(terminal, world) {
      await withoutFailure(world, async () => {
        // Somebody puts the key into a file first.
        terminal.steps++;
        writeFileSync(world.newKeyFile, NEW_KEY);
        await terminal.run(`providers rotate acme ${world.newKeyFile}`);
      });
    },
  },
  {
    title: 'Rotate a workspace’s key without a failed call',
    async inConsole(hand, { gateway, ask }) {
      await hand.go('Keys');
      await hand.click(
        hand.page
          .getByRole('row', { name: /team/ })
          .getByRole('button', { name: /^Rotate/ })
          .first(),
      );
      await hand.press('Rotate the key');
      const value = await hand.page.locator('.secret').innerText();
      await hand.press('Copy the key');
      await hand.press('Done');
      for (const key of [gateway.keys.team, value]) await expectOk(ask('gpt-4o-mini', 'x', key));
    },
    async inTerminal(terminal, { admin, gateway, ask }) {
      const { body } = await admin('GET', '/workspaces/demo/keys');
      const { out } = await terminal.run(`keys rotate ${body.data[0].id} --quiet`);
      for (const key of [gateway.key, out.trim()]) await expectOk(ask('gpt-4o-mini', 'x', key));
    },
  },
  {
    title: 'Give somebody read-only access',
    async inConsole(hand) {
      await hand.go('Access');
      await hand.press('Create a token');
      await hand.fill('Name', 'auditor');
      await hand.press('Create the token');
      await hand.press('Copy the token');
      await hand.press('Done');
      await hand.page.getByRole('button', { name: 'Revoke auditor' }).waitFor();
    },
    async inTerminal(terminal) {
      await terminal.sees('tokens create reader --role viewer --quiet', /\S{20}/);
    },
  },
  {
    title: 'See who changed a route',
    async before({ admin }) {
      await admin('PUT', '/workspaces/team/routes/watched', [{ provider: 'openai', model: 'gpt-4o' }]);
    },
    async inConsole(hand) {
      await hand.go('Audit');
      await hand.sees('PUT /workspaces/team/routes/watched');
      await hand.sees('root token');
    },
    async inTerminal(terminal) {
      await terminal.sees('audit', /root token.*PUT \/workspaces\/team\/routes\/watched/);
    },
  },
  {
    title: 'See what was asked in an hour that is over',
    async before({ ask }) {
      await ask('fast', 'in this hour');
    },
    async inConsole(hand) {
      await hand.go('Requests');
      await hand.choose('Time', 'between');
      const [from, to] = around(new Date());
      await hand.click(hand.page.getByLabel(/^From, /));
      await hand.page.getByLabel(/^From, /).fill(from);
      await hand.click(hand.page.getByLabel(/^To, /));
      await hand.page.getByLabel(/^To, /).fill(to);
      await hand.page
        .getByRole('link', { name: /^Request req_/ })
        .first()
        .waitFor();
    },
    async inTerminal(terminal) {
      const [from, to] = around(new Date());
      await terminal.sees(['requests', '--since', from, '--until', to], /gpt-4o-mini/);
    },
  },
  {
    title: 'Undo a change of a route',
    async before({ admin }) {
      for (const model of ['gpt-4o', 'gpt-4.1'])
        await admin('PUT', '/workspaces/team/routes/undone', [{ provider: 'openai', model }]);
    },
    async inConsole(hand, { admin }) {
      await hand.go('Routes');
      await hand.click(hand.page.getByRole('link', { name: 'Changes of undone' }));
      await hand.click(hand.page.getByText('Changed', { exact: true }).first());
      await hand.press(/^Restore/);
      await hand.press('Restore');
      await expectModel(admin, 'gpt-4o');
    },
    async inTerminal(terminal, { admin }) {
      const { out } = await terminal.run('audit --path /workspaces/team/routes/undone --json');
      const [{ cursor }] = JSON.parse(out) as [{ cursor: string }];
      await terminal.run(`audit ${cursor} --restore --yes`);
      await expectModel(admin, 'gpt-4o');
    },
  },
  {
    title: 'Be told when a budget is nearly spent',
    async inConsole(hand, { mail, alerts }) {
      await hand.go('Alerts');
      await hand.press('Add an alert');
      await hand.fill('From how many percent', '90');
      await hand.fill('Mail to', 'ops@example.com');
      await hand.press('Add the alert');
      await hand.press('Done');
      await hand.press(/^Send a test/);
      await until('the mail', () => mail.mails.length > 0);
      await hand.sees('delivered');
      await expectAlert(alerts);
    },
    async inTerminal(terminal, { mail, alerts }) {
      const { out } = await terminal.run('alerts add budget --above 90 --mail ops@example.com');
      await terminal.run(`alerts test ${/alert_[\w-]+/.exec(out)?.[0]}`);
      await until('the mail', () => mail.mails.length > 0);
      await expectAlert(alerts);
    },
  },
  {
    title: 'Take over a provider of gateway.yaml',
    async inConsole(hand) {
      await hand.go('Providers');
      await hand.sees(/Set up in the file: line \d+ of/);
      await hand.press('Take over openai');
      await hand.fill('Key', NEW_KEY);
      await hand.press('Take it over');
      await hand.sees('An added provider with this name waits.');
    },
    async inTerminal(terminal, world) {
      terminal.steps++;
      writeFileSync(world.newKeyFile, NEW_KEY);
      const place = `--kind openai --base-url ${world.upstream.baseUrl} --key-file ${world.newKeyFile}`;
      await terminal.sees(`providers set openai ${place} --take-over`, /Take it out of .*, line \d+/);
    },
  },
  {
    title: 'Find a batch by its name',
    async before({ gateway }) {
      const body = { model: 'fast', messages: [{ role: 'user', content: 'hello' }] };
      const line = { custom_id: '1', method: 'POST', url: '/v1/chat/completions', body };
      await createBatch(sdkFor(gateway), JSON.stringify(line), { metadata: { name: 'Nightly labels' } });
    },
    async inConsole(hand) {
      await hand.go('Batches');
      await hand.fill('Search', 'nightly');
      await hand.sees('Nightly labels');
    },
    async inTerminal(terminal) {
      await terminal.sees('batches list --search nightly', /Nightly labels/);
    },
  },
  {
    title: 'Use a larger model for long prompts only',
    async inConsole(hand, world) {
      await hand.go('Routes');
      await hand.press('New route');
      await hand.choose('Workspace', 'team');
      await hand.fill('Name', 'roomy');
      await hand.choose('Provider', 'openai');
      await hand.fill('Model', 'gpt-4o-mini');
      await hand.press('Add an entry to fall back on');
      const second = hand.page.locator('dialog[open] fieldset').nth(1);
      hand.steps += 3;
      await second.getByLabel('Steps in').selectOption('context_length');
      await second.getByLabel('Provider').selectOption('openai');
      await second.getByLabel('Model').fill('gpt-4.1');
      await hand.press('Save route');
      await hand.page.getByRole('article', { name: 'Route roomy of team' }).waitFor();
      await expectServed(world, 'roomy');
    },
    async inTerminal(terminal, world) {
      await terminal.run('routes set team roomy openai/gpt-4o-mini openai/gpt-4.1,when=context_length');
      await expectServed(world, 'roomy');
    },
  },
];

/** A minute before and after, as the clock of this machine shows them, which the browser's zone is, too. */
function around(now: Date): [from: string, to: string] {
  const shown = (ms: number) => {
    const [day, time = ''] = moment(new Date(ms).toISOString()).split(' ');
    return `${day}T${time.slice(0, 5)}`;
  };
  return [shown(now.getTime() - 60_000), shown(now.getTime() + 60_000)];
}

async function expectModel(admin: World['admin'], model: string): Promise<void> {
  await until(`${model} again`, async () => {
    const { body } = await admin('GET', '/workspaces/team/routes/undone');
    return body.chain[0].model === model;
  });
}

async function expectOk(asked: Promise<{ status: number }>): Promise<void> {
  const { status } = await asked;
  if (status !== 200) throw new Error(`a call failed with ${status}`);
}

/** An api process knows a new route within two seconds. */
async function expectServed({ ask, gateway }: World, route: string): Promise<void> {
  await until(`${route} served`, async () => (await ask(route, 'hello', gateway.keys.team)).status === 200);
}

/** Calls go on while the key is replaced, from the old key to the new one, and none fails. */
async function withoutFailure({ upstream, ask }: World, replace: () => Promise<void>): Promise<void> {
  const callUntil = (key: string) =>
    until(`a call with ${key}`, async () => {
      await expectOk(ask('acme/gpt-4o-mini', 'hello'));
      return upstream.keys.includes(key);
    });
  await until('acme served', async () => (await ask('acme/gpt-4o-mini', 'hello')).status === 200);
  await callUntil('sk-the-old-key');
  await Promise.all([replace(), callUntil(NEW_KEY)]);
}

async function refusingSince({ admin }: World): Promise<string> {
  const { body } = await admin('GET', '/workspaces/spent/limits');
  return body.used.refusing_since;
}

async function expectAlert(alerts: World['alerts']): Promise<void> {
  const [alert] = await alerts();
  if (alert?.when !== 'budget' || alert.above !== 90) throw new Error('the alert was not set');
}
