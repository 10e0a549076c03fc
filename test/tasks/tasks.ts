/** The tasks of an operator, each done in the console and with the `sluice` command. */
import { writeFileSync } from 'node:fs';
import { until } from '../helpers/until.js';
import type { Hand, Terminal } from './hand.js';
import type { World } from './world.js';

export interface Task {
  title: string;
  /** What has happened before. It is no part of the task. */
  before?(world: World): Promise<void>;
  inConsole(hand: Hand, world: World): Promise<void>;
  inTerminal(terminal: Terminal, world: World): Promise<void>;
}

export const TASKS: readonly Task[] = [
  {
    title: 'Route to an Ollama that gateway.yaml names',
    async inConsole(hand, world) {
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
      await terminal.run('routes set team near ollama/llama3.2');
      await expectServed(world, 'near');
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
    title: 'Find out why requests are refused',
    async before({ gateway, ask }) {
      const refused = await until('a refusal', async () => {
        const { status } = await ask('gpt-4o-mini', 'x', gateway.keys.spent);
        return status === 429;
      });
      if (!refused) throw new Error('nothing was refused');
    },
    async inConsole(hand) {
      await hand.go('Live');
      await hand.click(hand.page.getByRole('link', { name: /^budget_/ }).first());
      await hand.page.getByRole('heading', { level: 1, name: 'Requests' }).waitFor();
      await hand.click(hand.page.getByRole('link', { name: /^Request req_/ }).first());
      await hand.sees(/monthly budget/);
    },
    async inTerminal(terminal) {
      await terminal.sees('requests --workspace spent --status 429 --since 1h', /budget/);
      await terminal.sees('limits list spent', /0\.000001/);
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
    title: 'Rotate a provider’s key without a failed call',
    async inConsole(hand, world) {
      hand.steps++;
      await rotateProviderKey(world, 'sk-a-new-key');
    },
    async inTerminal(terminal, world) {
      terminal.steps++;
      await rotateProviderKey(world, 'sk-another-key');
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
];

async function expectOk(asked: Promise<{ status: number }>): Promise<void> {
  const { status } = await asked;
  if (status !== 200) throw new Error(`a call failed with ${status}`);
}

/** An api process knows a new route within two seconds. */
async function expectServed({ ask, gateway }: World, route: string): Promise<void> {
  await until(`${route} served`, async () => (await ask(route, 'hello', gateway.keys.team)).status === 200);
}

/** The processes watch the file. Calls go on all the while, and none fails. */
async function rotateProviderKey({ keyFile, upstream, ask }: World, key: string): Promise<void> {
  writeFileSync(keyFile, key);
  await until('a call with the new key', async () => {
    await expectOk(ask('acme', `with ${key}`));
    return upstream.keys.includes(key);
  });
}
