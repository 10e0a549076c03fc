import { resolve } from 'node:path';
import type { RouteConfig, RouteEntry } from '@sluice/shared/contract/route';
import { MADE_TOKEN } from '../admin/address.js';
import type { AllInOne } from './all-in-one.js';

/** What a person sees first, ending in a line that can be pasted into another terminal. */
export function welcome({
  apiUrls,
  adminUrl,
  adminTokenFile,
  signInLink,
  key,
  applied,
  config,
  simulated,
  added,
  keyless,
}: AllInOne): string {
  const [url = ''] = apiUrls;
  const workspace = config.workspaces[0];
  const model = firstModel(workspace?.routes ?? new Map(), keyless);
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Say hello.' }] });
  return [
    '',
    `Sluice is ready at ${apiUrls.map((each) => `${each}/v1`).join(' and ')}`,
    `Console: ${signInLink}`,
    '  This link signs you in once, within ten minutes. "npx sluice open" prints another one.',
    `Admin api at ${adminUrl} (token: ${adminTokenFile ?? 'ADMIN_TOKEN'})`,
    ...aboutOtherFolder(adminUrl, adminTokenFile),
    ...(workspace && key ? [`Key of workspace ${workspace.id}: ${key}`] : []),
    ...applied.made.map(
      ({ workspace, name, value }) => `New key "${name}" of workspace ${workspace}, shown only now: ${value}`,
    ),
    ...applied.notes.map((note) => `Note: ${note}`),
    simulated ? aboutSimulated(added) : `Providers: ${[...config.providers.keys(), ...added].join(', ')}`,
    ...(keyless.size > 0 ? [aboutKeyless(keyless, config.providers.size + added.length)] : []),
    '',
    'Try it:',
    `  curl -i ${url}/v1/chat/completions -H 'authorization: Bearer ${key ?? '<key>'}' -H 'content-type: application/json' -d '${body}'`,
    '',
  ].join('\n');
}

/** `sluice` looks into the default folder only. */
function aboutOtherFolder(url: string, tokenFile: string | undefined): string[] {
  return tokenFile === undefined || resolve(tokenFile) === resolve(MADE_TOKEN)
    ? []
    : [`  "npx sluice" needs: export ADMIN_URL=${url} ADMIN_TOKEN_FILE=${resolve(tokenFile)}`];
}

function aboutSimulated(added: readonly string[]): string {
  return added.length === 0
    ? 'No provider key is set: a SIMULATED upstream answers. Set OPENAI_API_KEY or ANTHROPIC_API_KEY for a real one.'
    : `No provider of gateway.yaml has a key: a SIMULATED upstream answers in their place. These were added beside the file, and are really called: ${added.join(', ')}`;
}

/** A route that has an entry whose provider can be called, or else the first one. */
function firstModel(routes: ReadonlyMap<string, RouteConfig>, keyless: ReadonlyMap<string, string>): string {
  const canServe = (entry: RouteEntry) =>
    ('one_of' in entry ? entry.one_of : [entry]).some(({ provider }) => !keyless.has(provider));
  const [first] = [...routes].filter(([, { chain }]) => chain.some(canServe));
  return first?.[0] ?? [...routes.keys()][0] ?? 'gpt-4o-mini';
}

function aboutKeyless(keyless: ReadonlyMap<string, string>, providers: number): string {
  const names = [...keyless].map(([name, variable]) => `${name} (${variable})`).join(', ');
  return keyless.size < providers
    ? `No key is set for ${names}: calls there fail. The simulated upstream only runs while no provider can be called.`
    : `No key is set for ${names}: every call fails until you set one and start again. The simulated upstream stands in only for providers whose base_url reads OPENAI_BASE_URL or ANTHROPIC_BASE_URL.`;
}
