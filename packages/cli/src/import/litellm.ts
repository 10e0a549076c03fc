/** LiteLLM's config.yaml as gateway.yaml. docs/migrating.md says the same in words. */

import { isGroup } from '@sluice/shared/contract/chain';
import { ID } from '@sluice/shared/contract/common';
import { Draft, type Entry, type Fields, literal, type Routes, toVariable } from './draft.js';
import type { ForeignFile, Place } from './foreign-file.js';
import { readDeployment } from './litellm-deployment.js';
import { type Group, type Member, toGroup } from './litellm-group.js';
import {
  ABOUT_FILE,
  ABOUT_GENERAL,
  ABOUT_INFO,
  ABOUT_PARAMS,
  ABOUT_ROUTER,
  ABOUT_SETTINGS,
  ABOUT_TEAM,
  BUDGET_OF_DEFAULT,
  CALLBACKS_PER_TEAM,
  COOLDOWN,
  DEFAULT_PARAMETER,
  MAX_TOKENS,
} from './litellm-sentences.js';

const SECOND = 1000;
const MONTHS = /^(?:1mo|2[89]d|3[01]d|monthly)$/;
const SERVED_MODES = ['chat', 'completion', 'responses', 'embedding'];

export function importLitellm(file: ForeignFile): Draft {
  const { root } = file;
  const variables = [...file.text.matchAll(/os\.environ\/([A-Za-z_]\w*)/g)].map(([, name]) => name ?? '');
  const draft = new Draft(new Set(variables));
  const settings = root.get('litellm_settings');
  const router = root.get('router_settings');
  const setting = (name: string) => (router.get(name).isThere ? router.get(name) : settings.get(name));

  const seconds = router.get('timeout').number ?? settings.get('request_timeout').number;
  const common = {
    ...draft.timeoutMs(seconds === undefined ? undefined : seconds * SECOND),
    ...draft.retries(setting('num_retries')),
  };
  const groups = readModelList(draft, root.get('model_list'), common);
  const cooldown = router.get('cooldown_time').number;
  if (cooldown !== undefined) {
    router.get('cooldown_time').note(COOLDOWN);
    for (const fields of draft.providers.values())
      fields.cooldown_ms = Math.min(3_600_000, Math.round(cooldown * SECOND));
  }

  const routes: Routes = {};
  const next = readFallbacks(setting('fallbacks'));
  const forTooLong = readFallbacks(setting('context_window_fallbacks'));
  const last = setting('default_fallbacks').texts();
  const chainOf = (name: string, seen = new Set<string>()): Group['chain'] => {
    if (seen.has(name)) return [];
    seen.add(name);
    // They come first: after any other failure they are passed over.
    const longer = (forTooLong.get(name) ?? []).flatMap((each) => groups.get(each)?.chain ?? []);
    const followers = (next.get(name) ?? []).flatMap((each) => chainOf(each, seen));
    return [...(groups.get(name)?.chain ?? []), ...longer.map(whenTooLong), ...followers];
  };
  for (const [name, { place }] of groups)
    draft.route(routes, name, [...chainOf(name), ...last.flatMap((each) => chainOf(each))], place);
  for (const [alias, place] of router.get('model_group_alias').entries()) {
    const name = place.text ?? place.get('model').text ?? '';
    if (groups.has(name)) draft.route(routes, alias, chainOf(name), place);
    else place.note('The model behind this alias is not in model_list. The alias was left out.');
  }
  noteUnknownNames([setting('fallbacks'), setting('context_window_fallbacks')], groups);

  const limits = readBudget(settings);
  const teams = settings.get('default_team_settings').items();
  if (limits.limits && teams.length > 0) settings.get('max_budget').note(BUDGET_OF_DEFAULT);
  draft.workspaces.push({ id: 'default', keys: [key(draft, 'default', 'GATEWAY_KEY')], ...limits, routes });
  for (const team of teams) addTeam(draft, team, routes);
  noteRest(root, settings, router);
  return draft;
}

function readModelList(draft: Draft, list: Place, common: Fields): Map<string, Group> {
  const members = new Map<string, Member[]>();
  // Providers that callers name in the model get the names that they use; the others take what is free.
  const items = list.items().sort((a, b) => Number(isWildcard(b)) - Number(isWildcard(a)));
  for (const item of items) {
    const params = item.get('litellm_params');
    const name = item.get('model_name').text;
    const model = params.get('model').text;
    if (name === undefined || model === undefined) {
      item.note('A deployment without a name or a model cannot be called. It was left out.');
      continue;
    }
    const mode = item.get('model_info').get('mode').text;
    if (mode !== undefined && !SERVED_MODES.includes(mode)) {
      item.note(`Sluice serves chats and embeddings. This ${literal(mode)} deployment was left out.`);
      continue;
    }
    const deployment = readDeployment(draft, params, model);
    if (!deployment) continue;
    if (isWildcard(item)) {
      addWildcard(draft, item, name, deployment.name, deployment.fields);
      continue;
    }
    const member = { ...deployment, entry: { ...common, ...entryFields(draft, params) }, item };
    members.set(name, [...(members.get(name) ?? []), member]);
    noteItem(item, params);
  }
  return new Map([...members].map(([name, each]) => [name, toGroup(draft, each)]));
}

function isWildcard(item: Place): boolean {
  return item.get('litellm_params').get('model').text?.endsWith('*') ?? false;
}

/** `groq/*`: Sluice needs no route for it, since `groq/<model>` names a provider and its model. */
function addWildcard(draft: Draft, item: Place, name: string, wanted: string, fields: Fields): void {
  const prefix = /^([^/*]+)\/\*$/.exec(name)?.[1] ?? wanted;
  const id =
    ID.pattern.test(prefix) && !draft.providers.has(prefix) ? prefix : draft.provider(wanted, fields);
  if (!draft.providers.has(id)) draft.providers.set(id, fields);
  if (name !== `${id}/*`) item.note(`Callers name the models of this provider as ${id}/<model>.`);
}

function entryFields(draft: Draft, params: Place): Fields {
  const seconds = params.get('timeout').number;
  const maxTokens = params.get('max_tokens').number;
  if (maxTokens !== undefined) params.get('max_tokens').note(MAX_TOKENS);
  return {
    ...draft.timeoutMs(seconds === undefined ? undefined : seconds * SECOND),
    ...draft.retries(params.get(params.get('max_retries').isThere ? 'max_retries' : 'num_retries')),
    ...(maxTokens === undefined || maxTokens < 1
      ? {}
      : { max_tokens: Math.min(1_000_000, Math.round(maxTokens)) }),
  };
}

/** Name → the names that come after it. */
function readFallbacks(list: Place): Map<string, string[]> {
  const next = new Map<string, string[]>();
  for (const item of list.items())
    for (const [name, followers] of item.entries())
      next.set(name, [...(next.get(name) ?? []), ...followers.texts()]);
  return next;
}

/** The entry for prompts alone that the models before it found too long. */
function whenTooLong(entry: Group['chain'][number]): Group['chain'][number] {
  const conditional = (each: Entry): Entry => ({ ...each, when: 'context_length' });
  return isGroup(entry) ? { one_of: entry.one_of.map(conditional) } : conditional(entry);
}

function noteUnknownNames(lists: readonly Place[], groups: ReadonlyMap<string, unknown>): void {
  for (const [name, followers] of lists.flatMap((list) => list.items().flatMap((item) => item.entries()))) {
    if (!groups.has(name)) followers.note('The model that these follow is not in model_list.');
    else if (followers.texts().some((each) => !groups.has(each)))
      followers.note('One of these is not in model_list. It was left out of the chain.');
  }
}

/** The budget of the whole proxy, or of a team. */
function readBudget(of: Place): { limits?: Fields } {
  const budget = of.get('max_budget');
  const duration = of.get('budget_duration');
  if (budget.number === undefined) return {};
  if (MONTHS.test(duration.text ?? '')) return { limits: { budget_usd_per_month: budget.number } };
  budget.note(
    'Set budget_usd_per_month of the workspace by hand, or a budget for another window: sluice budgets set.',
  );
  return {};
}

function addTeam(draft: Draft, team: Place, routes: Routes): void {
  const id = team.get('team_id').text ?? '';
  if (!ID.pattern.test(id) || draft.workspaces.some((each) => each.id === id)) {
    team.note(`A workspace must have an id of its own: ${ID.allowed}. The team was left out.`);
    return;
  }
  const keys = [key(draft, 'default', `GATEWAY_KEY_${toVariable(id)}`)];
  draft.workspaces.push({ id, keys, ...readBudget(team), routes });
  team.noteOthers(['team_id', 'max_budget', 'budget_duration'], ABOUT_TEAM, CALLBACKS_PER_TEAM);
}

function key(draft: Draft, name: string, variable: string): { name: string; value: string } {
  return { name, value: draft.reference(variable) };
}

function noteItem(item: Place, params: Place): void {
  item.noteOthers(['model_name', 'litellm_params', 'model_info', 'rpm', 'tpm']);
  item.get('model_info').noteOthers(READ_INFO, ABOUT_INFO);
  params.noteOthers(READ_PARAMS, ABOUT_PARAMS, DEFAULT_PARAMETER);
}

/** What LiteLLM itself only shows, besides the mode. */
const READ_INFO = ['mode', 'id', 'description', 'type'];

const READ_PARAMS = [
  'model',
  'custom_llm_provider',
  'api_key',
  'api_base',
  'base_url',
  'api_version',
  'organization',
  'timeout',
  'max_retries',
  'num_retries',
  'max_tokens',
  'vertex_project',
  'vertex_location',
  'aws_region_name',
  'aws_access_key_id',
  'aws_secret_access_key',
  'aws_session_token',
  'rpm',
  'tpm',
  'weight',
];

function noteRest(root: Place, settings: Place, router: Place): void {
  settings.noteOthers(
    [
      'num_retries',
      'request_timeout',
      'fallbacks',
      'context_window_fallbacks',
      'default_fallbacks',
      'max_budget',
      'budget_duration',
      'default_team_settings',
    ],
    ABOUT_SETTINGS,
  );
  router.noteOthers(
    [
      'num_retries',
      'timeout',
      'fallbacks',
      'context_window_fallbacks',
      'default_fallbacks',
      'cooldown_time',
      'model_group_alias',
    ],
    ABOUT_ROUTER,
  );
  root.get('general_settings').noteOthers([], ABOUT_GENERAL);
  root.noteOthers(['model_list', 'litellm_settings', 'router_settings', 'general_settings'], ABOUT_FILE);
}
