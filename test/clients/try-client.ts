import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Gateway } from '../helpers/gateway.js';
import type { Client } from './clients.js';
import { parseResults, type Result, type Results } from './features.js';
import { environmentFor, makeFlaky, type Round } from './gateway.js';
import { copyPrograms, KITS, type Kit, putSnippet } from './kits.js';
import { type Ended, runProgram } from './run-program.js';
import { snippetOf } from './snippets.js';

const INSTALL_MS = 1_200_000;

/** Outside of the project's own packages, and kept for the next run. */
const CACHE = fileURLToPath(new URL('../../../build/clients', import.meta.url));
export function folderOf(kit: keyof typeof KITS): string {
  return join(CACHE, kit);
}

const installed = new Map<string, Promise<string>>();

/** The folder that the kit's clients are in. */
export function installOnce(name: keyof typeof KITS): Promise<string> {
  const folder = installed.get(name) ?? install(KITS[name], folderOf(name));
  installed.set(name, folder);
  return folder;
}

async function install(kit: Kit, folder: string): Promise<string> {
  mkdirSync(folder, { recursive: true });
  copyPrograms(kit, folder);
  for (const step of kit.install) {
    const { code, stdout, stderr } = await runProgram({ ...step, cwd: folder }, INSTALL_MS);
    if (code !== 0) throw new Error(`${step.program} ${step.args.join(' ')} failed:\n${stdout}${stderr}`);
  }
  return folder;
}

/** The program of the client, with the aliases and the features of the round. */
export async function tryFeatures(
  client: Client,
  folder: string,
  gateway: Gateway,
  round?: Round,
): Promise<Results> {
  const env = { ...environmentFor(gateway, round), ...client.env };
  const features = await runProgram({ ...KITS[client.kit].features(client.program), cwd: folder, env });
  const results = parseResults(features.stdout, round?.features);
  if (results.size === 0) console.log(tailOf(features));
  return results;
}

/** The lines of the page, then the program that tries every feature. */
export async function tryClient(client: Client, folder: string, gateway: Gateway): Promise<Results> {
  const kit: Kit = KITS[client.kit];
  const env = { ...environmentFor(gateway), ...client.env };
  const shown = snippetOf(client.snippet, gateway.url);
  const { snippetImports = client.package } = client;
  putSnippet(kit, folder, shown.replace("from 'openai'", `from '${snippetImports}'`));
  const snippet = await runProgram({ ...kit.snippet, cwd: folder, env });
  makeFlaky(gateway);
  const results = await tryFeatures(client, folder, gateway);
  return results.set('snippet', judgeSnippet(snippet));
}

/** The simulated provider answers with an echo. */
export function judgeSnippet(ended: Ended): Result {
  if (ended.code === 0 && /echo [0-9a-f]{16}|sample/.test(ended.stdout)) return { result: 'yes', note: '' };
  return { result: 'no', note: tailOf(ended) };
}

function tailOf({ stdout, stderr }: Ended): string {
  return `${stdout}${stderr}`.trim().split('\n').slice(-8).join('\n     ');
}
