/** Bifrost's config.json as gateway.yaml: its providers, and a workspace for each virtual key. */

import { ID } from '@sluice/shared/contract/common';
import { PRESETS } from '@sluice/shared/contract/presets';
import { Draft, type Fields, literal, ratesOf, toId, toVariable, weightOf } from './draft.js';
import type { ForeignFile, Place } from './foreign-file.js';

const PROVIDERS: Readonly<Record<string, string>> = {
  openai: 'openai',
  anthropic: 'anthropic',
  gemini: 'gemini',
  mistral: 'mistral',
  groq: 'groq',
  xai: 'xai',
  openrouter: 'openrouter',
  ollama: 'ollama',
  vllm: 'vllm',
  fireworks: 'fireworks',
};
const STORE = 'Sluice keeps its state in Redis, and its log in PostgreSQL where DATABASE_URL is set.';
const ABOUT_FILE = {
  config_store: STORE,
  logs_store: STORE,
  vector_store: 'Sluice has no cache of answers.',
  mcp: 'Sluice is no MCP gateway.',
  plugins: 'Sluice has no plugins.',
  client: 'gateway.yaml has settings of its own: docs/configuration.md.',
  encryption_key: 'Sluice encrypts with the key in PAYLOAD_KEY: docs/environment.md.',
};
const MONTHS = /^(?:1M|30d|31d)$/;

export function importBifrost(file: ForeignFile): Draft {
  const variables = [...file.text.matchAll(/env\.([A-Za-z_]\w*)/g)].map(([, name]) => name ?? '');
  const draft = new Draft(new Set(variables));
  for (const [name, place] of file.root.get('providers').entries()) addProviders(draft, name, place);
  const governance = file.root.get('governance');
  for (const key of governance.get('virtual_keys').items()) addWorkspace(draft, key, governance);
  if (draft.workspaces.length === 0)
    draft.workspaces.push({
      id: 'default',
      keys: [{ name: 'default', value: draft.reference('GATEWAY_KEY') }],
    });
  governance.noteOthers(['virtual_keys', 'budgets', 'rate_limits'], {
    routing_rules: 'Sluice does not choose by rules. Write a route with its chain for each outcome.',
    teams: 'Sluice has no level above the workspace. Give each team a workspace.',
    customers: 'Sluice has no level above the workspace. Give each customer a workspace.',
    auth_config: 'ADMIN_TOKEN and docs/access.md say who may operate Sluice.',
  });
  file.root.noteOthers(['$schema', 'providers', 'governance'], ABOUT_FILE);
  return draft;
}

/** Callers write `openai/<model>` in both gateways. */
function addProviders(draft: Draft, name: string, place: Place): void {
  const preset = PROVIDERS[name];
  if (preset === undefined) {
    place.note('Sluice cannot import this provider. Add it by hand: docs/providers.md.');
    return;
  }
  const network = place.get('network_config');
  const common: Fields = { preset, ...sizeOf(place), ...draft.timeoutMs(toMs(network)) };
  const base = network.get('base_url');
  if (base.text !== undefined) {
    const url = URL.canParse(base.text) ? new URL(base.text) : undefined;
    if (!url || url.username + url.password + url.search + url.hash !== '') {
      base.note('Sluice takes an address without user name, password, query and fragment.');
      return;
    }
    common.base_url = literal(
      preset === 'anthropic' ? base.text : `${base.text.replace(/\/+$|\/v1\/*$/, '')}/v1`,
    );
  }
  network.noteOthers(['base_url', 'default_request_timeout_in_seconds'], {
    max_retries: 'retries belong to an entry of a chain. Write a route to retry.',
    extra_headers: 'Headers may hold secrets, so they were not copied.',
  });
  place.noteOthers(['keys', 'network_config', 'concurrency_and_buffer_size']);
  const standard = PRESETS[preset]?.api_key;
  const keys = place.get('keys').items();
  const wanted = `${preset.toUpperCase()}_API_KEY`;
  const pool = keys.filter(isEnabled).map((key, i) => {
    key.noteOthers(['name', 'id', 'value', 'models', 'weight', 'enabled']);
    if (
      !key
        .get('models')
        .texts()
        .every((each) => each === '*')
    )
      key
        .get('models')
        .note('A key of Sluice serves every model of its provider. Make a provider of its own for it.');
    const api_key = readKey(draft, key.get('value'), wanted) ?? draft.reference(wanted);
    return { name: `key-${i + 1}`, api_key, ...weightOf(key.get('weight').number) };
  });
  const [first] = pool;
  if (first === undefined && typeof standard === 'string') draft.reference(standard.slice(2, -1));
  if (pool.length > 1) draft.provider(name, { ...common, keys: pool });
  else draft.provider(name, first ? { ...common, api_key: first.api_key } : common);
}

function isEnabled(key: Place): boolean {
  const isOff = key.get('enabled').value === false;
  if (isOff) key.note('This key is switched off. It was left out.');
  return !isOff;
}

function sizeOf(place: Place): Fields {
  const size = place.get('concurrency_and_buffer_size');
  const [concurrency, backlog] = [size.get('concurrency').number, size.get('buffer_size').number];
  return {
    ...(concurrency === undefined || concurrency < 1 ? {} : { concurrency }),
    ...(backlog === undefined || backlog < 1 ? {} : { max_backlog: backlog }),
  };
}

function toMs(network: Place): number | undefined {
  const seconds = network.get('default_request_timeout_in_seconds').number;
  return seconds === undefined ? undefined : seconds * 1000;
}

function readKey(draft: Draft, place: Place, wanted: string): string | undefined {
  if (place.text === undefined) return undefined;
  const [, variable] = /^env\.([A-Za-z_]\w*)$/.exec(place.text) ?? [];
  return variable === undefined ? draft.secret(place, wanted) : draft.reference(variable);
}

function addWorkspace(draft: Draft, key: Place, governance: Place): void {
  const id = toId(key.get('id').text ?? key.get('name').text ?? '');
  if (!ID.pattern.test(id) || draft.workspaces.some((each) => each.id === id)) {
    key.note('The workspace for this key would have an id that is taken or not allowed. It was left out.');
    return;
  }
  if (key.get('is_active').value === false) {
    key.note('This key is switched off. It was left out.');
    return;
  }
  const value = readKey(draft, key.get('value'), `GATEWAY_KEY_${toVariable(id)}`);
  const limits = { ...budgetOf(key, governance), ...rateOf(key, governance) };
  draft.workspaces.push({
    id,
    keys: [{ name: 'default', value: value ?? draft.reference(`GATEWAY_KEY_${toVariable(id)}`) }],
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
  });
  key.noteOthers(['id', 'name', 'value', 'is_active', 'budget_id', 'rate_limit_id', 'description'], {
    provider_configs: 'Set models of the workspace to what its callers may name.',
    team_id: 'Sluice has no level above the workspace. The limits of the team were not taken over.',
    customer_id: 'Sluice has no level above the workspace. The limits of the customer were not taken over.',
  });
}

function byId(list: Place, id: string | undefined): Place | undefined {
  return id === undefined ? undefined : list.items().find((each) => each.get('id').text === id);
}

function budgetOf(key: Place, governance: Place): Fields {
  const budget = byId(governance.get('budgets'), key.get('budget_id').text);
  const most = budget?.get('max_limit').number;
  if (budget === undefined || most === undefined) return {};
  if (MONTHS.test(budget.get('reset_duration').text ?? '')) return { budget_usd_per_month: most };
  budget.note(
    'A budget of Sluice is for a calendar month. Set budget_usd_per_month of the workspace by hand.',
  );
  return {};
}

function rateOf(key: Place, governance: Place): Fields {
  const rate = byId(governance.get('rate_limits'), key.get('rate_limit_id').text);
  const perMinute = (what: 'request' | 'token') => {
    const most = rate?.get(`${what}_max_limit`);
    if (most?.number === undefined || rate?.get(`${what}_reset_duration`).text === '1m') return most?.number;
    most.note('A limit of Sluice is for a minute. Set the limits of the workspace by hand.');
    return undefined;
  };
  return ratesOf(perMinute('request'), perMinute('token'));
}
