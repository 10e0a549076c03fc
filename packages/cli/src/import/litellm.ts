/** LiteLLM's config.yaml as gateway.yaml. docs/migrating.md says the same in words. */

import { ConfigError } from '@sluice/shared/config/config';
import { COUNT, ID } from '@sluice/shared/contract/common';
import { Draft, type Fields, type Routes, SECONDS, TOO_MANY_PROVIDERS, toVariable } from './draft.js';
import type { ForeignFile, Place } from './foreign-file.js';
import { plainWord, readDeployment, standardVariable } from './litellm-deployment.js';
import { readRoutes } from './litellm-fallbacks.js';
import { addTo, type Group, type Member, readWeight, toGroup } from './litellm-group.js';
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

const MONTHS = /^(?:1mo|2[89]d|3[01]d|monthly)$/;
const SERVED_MODES = ['chat', 'completion', 'responses', 'embedding'];
const SECTIONS = ['model_list', 'litellm_settings', 'router_settings', 'general_settings'];
const BUDGET = { min: 0, max: 1_000_000_000, isWhole: false };
/** max_cooldown_ms of a provider. */
const LONGEST_COOLDOWN_MS = 300_000;
/** Every team gets all routes. */
const MOST_TEAM_ROUTES = 10_000;

/** Throws ConfigError for a file of something else. */
export function importLitellm(file: ForeignFile): Draft {
  const { root } = file;
  refuseOthers(file);
  const variables = [...file.text.matchAll(/os\.environ\/([A-Za-z_]\w*)/g)].map(([, name]) => name ?? '');
  const params = root
    .get('model_list')
    .items()
    .map((item) => item.get('litellm_params'));
  const draft = new Draft([...variables, ...params.flatMap(standardVariable)]);
  const settings = root.get('litellm_settings');
  const router = root.get('router_settings');

  const common = {
    ...draft.timeout(inForce(router.get('timeout'), settings.get('request_timeout'))),
    ...draft.retries(inForce(router.get('num_retries'), settings.get('num_retries'))),
  };
  const groups = readModelList(draft, root.get('model_list'), common);
  setCooldown(draft, router.get('cooldown_time'));
  const routes = readRoutes(draft, groups, router.get('model_group_alias'), (name) =>
    inForce(router.get(name), settings.get(name)),
  );

  const limits = readBudget(settings);
  const teams = settings.get('default_team_settings').items();
  if (limits.limits && teams.length > 0) settings.get('max_budget').note(BUDGET_OF_DEFAULT);
  draft.workspaces.push({ id: 'default', keys: [draft.key('GATEWAY_KEY')], ...limits, routes });
  for (const team of teams) addTeam(draft, team, routes);
  settings.explain(ABOUT_SETTINGS);
  router.explain(ABOUT_ROUTER);
  root.get('general_settings').explain(ABOUT_GENERAL);
  root.explain(ABOUT_FILE);
  root.noteRest();
  return draft;
}

function refuseOthers({ name, root }: ForeignFile): void {
  const list = root.get('model_list');
  const isOfLitellm = SECTIONS.some((section) => root.get(section).isThere);
  if (isOfLitellm && (!list.isThere || Array.isArray(list.value))) return;
  throw new ConfigError(name, [
    { path: '', message: 'this is no config.yaml of LiteLLM, which has a list named model_list' },
  ]);
}

/** LiteLLM goes by router_settings where both have a setting. */
function inForce(ofRouter: Place, ofSettings: Place): Place {
  const isEmpty = Array.isArray(ofRouter.value) && ofRouter.value.length === 0;
  if (!ofRouter.isThere || isEmpty) return ofSettings;
  if (ofSettings.isThere) ofSettings.note(`${ofRouter.path} counts in LiteLLM. This was left out.`);
  return ofRouter;
}

function readModelList(draft: Draft, list: Place, common: Fields): Map<string, Group> {
  const members = new Map<string, Member[]>();
  // Providers that callers name in the model get the names that they use; the others take what is free.
  const items = list.items().sort((a, b) => Number(isWildcard(b)) - Number(isWildcard(a)));
  for (const item of items) {
    const params = item.get('litellm_params');
    const name = item.get('model_name').take();
    const model = params.get('model').take();
    if (name === undefined || model === undefined) {
      item.note('A deployment without a name or a model cannot be called. It was left out.');
      continue;
    }
    const mode = item.get('model_info').get('mode').take();
    if (mode !== undefined && !SERVED_MODES.includes(mode)) {
      const called = plainWord(mode) ?? 'other';
      item.note(`Sluice serves chats and embeddings. This ${called} deployment was left out.`);
      continue;
    }
    const deployment = readDeployment(draft, params, model);
    explainItem(item, params);
    if (!deployment) item.settle();
    else if (isWildcard(item)) addWildcard(draft, item, name, deployment);
    else {
      const entry = { ...common, ...entryFields(draft, params) };
      addTo(members, name, { ...deployment, entry, item, weight: readWeight(params) });
    }
  }
  const groups = [...members].map(([name, each]): [string, Group] => [name, toGroup(draft, each)]);
  return new Map(groups.filter(([, { chain }]) => chain.length > 0));
}

function isWildcard(item: Place): boolean {
  return item.get('litellm_params').get('model').text?.endsWith('*') ?? false;
}

/** `groq/*`: Sluice needs no route for it, since `groq/<model>` names a provider and its model. */
function addWildcard(
  draft: Draft,
  item: Place,
  name: string,
  { name: wanted, fields, model }: { name: string; fields: Fields; model: string },
): void {
  const prefix = /^([^/*]+)\/\*$/.exec(name)?.[1] ?? wanted;
  const id = draft.provider(ID.pattern.test(prefix) ? prefix : wanted, fields, true);
  if (id === undefined) item.note(TOO_MANY_PROVIDERS);
  else if (name !== `${id}/*` || !/^(?:google\/)?\*$/.test(model))
    item.remark(`Callers name the models of this provider as ${id}/<model>.`);
}

function entryFields(draft: Draft, params: Place): Fields {
  const maxTokens = params.get('max_tokens').within(COUNT);
  if (maxTokens !== undefined) params.get('max_tokens').note(MAX_TOKENS);
  return {
    ...draft.timeout(params.get('timeout')),
    ...draft.retries(params.get(params.get('max_retries').isThere ? 'max_retries' : 'num_retries')),
    ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
  };
}

function setCooldown(draft: Draft, place: Place): void {
  const ms = place.within({ ...SECONDS, min: 0 });
  if (ms === undefined) return;
  place.note(COOLDOWN);
  const longest = ms > LONGEST_COOLDOWN_MS ? { max_cooldown_ms: ms } : {};
  for (const fields of draft.providers.values()) Object.assign(fields, { cooldown_ms: ms, ...longest });
}

/** The budget of the whole proxy, or of a team. */
function readBudget(of: Place): { limits?: Fields } {
  const budget = of.get('max_budget');
  const usd = budget.within(BUDGET);
  if (usd === undefined) return {};
  if (MONTHS.test(of.get('budget_duration').settle().text ?? ''))
    return { limits: { budget_usd_per_month: usd } };
  budget.note(
    'Set budget_usd_per_month of the workspace by hand, or a budget for another window: sluice budgets set.',
  );
  return {};
}

function addTeam(draft: Draft, team: Place, routes: Routes): void {
  const id = team.get('team_id').settle().scalar ?? '';
  if (!ID.pattern.test(id) || draft.workspaces.some((each) => each.id === id)) {
    team.note(`A workspace must have an id of its own: ${ID.allowed}. The team was left out.`);
    return;
  }
  const keys = [draft.key(`GATEWAY_KEY_${toVariable(id)}`)];
  const hasRoom = routes.size * draft.workspaces.length <= MOST_TEAM_ROUTES;
  if (!hasRoom)
    team.remark('So many teams cannot have so many routes. This one got none: copy those it needs.');
  draft.workspaces.push({ id, keys, ...readBudget(team), ...(hasRoom ? { routes } : {}) });
  team.explain(ABOUT_TEAM, CALLBACKS_PER_TEAM);
}

function explainItem(item: Place, params: Place): void {
  const info = item.get('model_info');
  // LiteLLM itself only shows these.
  for (const name of ['id', 'description', 'type']) info.get(name).settle();
  info.explain(ABOUT_INFO);
  item.explain(ABOUT_PARAMS);
  params.explain(ABOUT_PARAMS, DEFAULT_PARAMETER);
}
