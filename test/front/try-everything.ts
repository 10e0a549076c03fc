import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { request } from 'node:http';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { Callers } from '../containers/callers.js';
import type { Stage } from './stage.js';

export type Tell = (what: string, seen: string, holds: boolean) => void;

const CALL = fileURLToPath(new URL('call.js', import.meta.url));
const LARGE = 9_000_000;
const TOO_LARGE = 11_000_000;
const CALLERS = 8;
const REPLACEMENTS = 3;

export async function tryCaddy(stage: Stage, slowMs: number, tell: Tell): Promise<void> {
  const plain = await callBySdk(stage, 'fast', 10);
  tell('a chat call with the SDK, by TLS', plain, plain === '1 answer');
  const slow = await callBySdk(stage, 'slow', 10);
  tell(`an answer after ${slowMs / 1000} s`, slow, slow === '1 answer');
  const large = await callBySdk(stage, 'fast', LARGE);
  tell('a body of 9 MB', large, large === '1 answer');
  const tooLarge = await callBySdk(stage, 'fast', TOO_LARGE);
  tell('a body of 11 MB is refused', tooLarge, tooLarge === '413 request_too_large');

  const callers = new Callers(stage.url, stage.gateway.key, stage.authority);
  const body = JSON.stringify({ model: 'fast', messages: [{ role: 'user', content: 'Say hello.' }] });
  const { outcomes } = await callers.sendDuring(CALLERS, body, async () => {
    for (let i = 0; i < REPLACEMENTS; i++) await stage.replaceApi();
  });
  callers.close();
  const { 200: answered, ...failed } = outcomes;
  const isFine = Object.keys(failed).length === 0;
  tell(
    `one of two api processes replaced ${REPLACEMENTS} times, under load`,
    `${answered} answered, ${isFine ? 'none failed' : JSON.stringify(failed)}`,
    isFine,
  );
}

export async function tryOauth2Proxy(stage: Stage, browser: Browser, tell: Tell): Promise<void> {
  const ada = await signIn(stage, browser, 'ada');
  await ada.getByRole('heading', { name: 'Live', level: 1 }).waitFor();
  const nameOf = ({ text }: { text: string }) => JSON.parse(text).person.name;
  const person = nameOf(await ask(ada, '/session'));
  tell('an admin signs in at the provider', person, person === 'ada@example.com');
  const claim = { 'x-forwarded-email': 'root@example.com', 'x-forwarded-groups': 'platform' };
  const claimed = nameOf(await ask(ada, '/session', claim));
  tell('a name in their browser’s own headers is ignored', claimed, claimed === 'ada@example.com');

  const made = await ask(ada, '/workspaces', { 'content-type': 'application/json' }, '{"id":"by-ada"}');
  tell('they make a workspace', String(made.status), made.status === 201);
  const { address, who } = JSON.parse((await ask(ada, '/audit?limit=1')).text).data[0];
  tell('the audit trail names them', `${who} from ${address}`, who === 'ada@example.com');

  const tom = await signIn(stage, browser, 'tom');
  await tom.getByRole('heading', { name: 'Live', level: 1 }).waitFor();
  const seen = JSON.parse((await ask(tom, '/workspaces')).text).data.map(({ id }: { id: string }) => id);
  tell('somebody of one workspace sees only that one', seen.join(', '), seen.join() === 'team-a');
  const spoofedGroups = await ask(tom, '/tokens', { 'x-forwarded-groups': 'platform' });
  tell(
    'a group in a header of their own is refused',
    String(spoofedGroups.status),
    spoofedGroups.status === 403,
  );

  const eve = await signIn(stage, browser, 'eve');
  await eve.getByText('You have no role here.').waitFor();
  tell('somebody without a role is told so', 'You have no role here.', true);

  await ada.goto(`${stage.consoleUrl}/#/keys`);
  await ada.getByRole('heading', { name: 'Keys', level: 1 }).waitFor();
  await ada.context().clearCookies();
  await enter(ada, 'ada');
  await ada.getByRole('heading', { name: 'Keys', level: 1 }).waitFor();
  tell(
    'a sign-in that ends while the console is open is asked for anew',
    'the page asks anew, and is back at Keys',
    true,
  );

  const named = { 'x-forwarded-email': 'ada@example.com', 'x-forwarded-groups': 'platform' };
  const stranger = await askFrom('127.0.0.2', `${stage.gateway.adminUrl}/workspaces`, named);
  tell('headers from an address that is no proxy are refused', String(stranger), stranger === 401);
  const unsigned = await askFrom('127.0.0.2', `${stage.proxyUrl}/workspaces`, named);
  tell('headers at oauth2-proxy without a sign-in are refused', String(unsigned), unsigned === 401);
}

/** What the SDK prints, or the status and code of its error. */
async function callBySdk(stage: Stage, model: string, characters: number): Promise<string> {
  const child = spawn(process.execPath, [CALL, String(characters)], {
    env: {
      PATH: process.env.PATH ?? '',
      NODE_EXTRA_CA_CERTS: stage.authorityFile,
      GATEWAY_URL: `${stage.url}/v1`,
      GATEWAY_KEY: stage.gateway.key,
      MODEL: model,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [out, err] = ['', ''];
  child.stdout.on('data', (part) => {
    out += part;
  });
  child.stderr.on('data', (part) => {
    err += part;
  });
  const [code] = await once(child, 'close');
  if (code === 0) return out;
  const [, status = '', name = ''] = /status: (\d+)[\s\S]*code: '(\w+)'/.exec(err) ?? [];
  return status === '' ? err.slice(-500) : `${status} ${name}`;
}

async function signIn({ consoleUrl }: Stage, browser: Browser, name: string): Promise<Page> {
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  context.setDefaultTimeout(90_000);
  const page = await context.newPage();
  await page.goto(consoleUrl);
  await enter(page, name);
  return page;
}

/** At the provider's own pages. */
async function enter(page: Page, name: string): Promise<void> {
  await page.getByPlaceholder('Enter any login').fill(name);
  await page.getByPlaceholder('and password').fill('x');
  await page.getByRole('button', { name: 'Sign-in' }).click();
  await page.getByRole('button', { name: 'Continue' }).click();
}

/** As the page itself asks. */
function ask(page: Page, path: string, headers: Record<string, string> = {}, body?: string) {
  const fetchIt = async (asked: {
    path: string;
    headers: Record<string, string>;
    body: string | undefined;
  }) => {
    const response = await fetch(asked.path, {
      method: asked.body === undefined ? 'GET' : 'POST',
      headers: { 'x-sluice-console': '1', ...asked.headers },
      ...(asked.body === undefined ? {} : { body: asked.body }),
    });
    return { status: response.status, text: await response.text() };
  };
  return page.evaluate(fetchIt, { path, headers, body });
}

function askFrom(localAddress: string, url: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { localAddress, headers }, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    sent.on('error', reject).end();
  });
}
