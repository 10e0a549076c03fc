/** A config of Portkey as gateway.yaml: its targets, one below the other, are the chain of one route. */
import { isGroup } from '@sluice/shared/contract/chain';
import { PRESETS } from '@sluice/shared/contract/presets';
import {
  Draft,
  type Entry,
  type Fields,
  type Group,
  groupOf,
  isCallable,
  literal,
  type Routes,
} from './draft.js';
import type { ForeignFile, Place } from './foreign-file.js';

const PROVIDERS: Readonly<Record<string, string>> = {
  openai: 'openai',
  anthropic: 'anthropic',
  google: 'gemini',
  'mistral-ai': 'mistral',
  groq: 'groq',
  deepseek: 'deepseek',
  'x-ai': 'xai',
  'together-ai': 'together',
  'fireworks-ai': 'fireworks',
  openrouter: 'openrouter',
  ollama: 'ollama',
};
const READ = [
  'strategy',
  'targets',
  'retry',
  'request_timeout',
  'provider',
  'api_key',
  'virtual_key',
  'override_params',
  'custom_host',
  'name',
  'weight',
];
const MOST_MEMBERS = 8;
const SENTENCES = {
  cache: 'Sluice keeps answers only for an Idempotency-Key. It has no cache of answers.',
  input_guardrails: 'Sluice has no guardrails.',
  output_guardrails: 'Sluice has no guardrails.',
};

/** `alias`: what callers send as `model`. */
export function importPortkey(file: ForeignFile, alias: string): Draft {
  const draft = new Draft(new Set());
  const chain = readTarget(draft, file.root, {});
  const routes: Routes = {};
  draft.route(routes, alias, chain, file.root);
  const value = draft.reference('GATEWAY_KEY');
  draft.workspaces.push({ id: 'default', keys: [{ name: 'default', value }], routes });
  return draft;
}

function readTarget(draft: Draft, target: Place, inherited: Fields): (Entry | Group)[] {
  const common = {
    ...inherited,
    ...draft.timeoutMs(target.get('request_timeout').number),
    ...draft.retries(target.get('retry').get('attempts')),
  };
  target.noteOthers(READ, SENTENCES);
  target.get('retry').noteOthers(['attempts'], {}, 'Sluice decides by itself which failures it retries.');
  const strategy = target.get('strategy');
  strategy.noteOthers(['mode'], {}, 'Sluice decides by itself which failures go on to the next entry.');
  const targets = target.get('targets').items();
  if (targets.length === 0) return readLeaf(draft, target, common);
  const mode = strategy.get('mode');
  if (mode.text === 'conditional') {
    mode.note(
      'Sluice does not choose by conditions. Make a route of each target; callers choose by its name.',
    );
    return [];
  }
  const read = targets
    .map((each) => ({ chain: readTarget(draft, each, common), each }))
    .filter(({ chain }) => chain.length > 0);
  if (mode.text !== 'loadbalance') return read.flatMap(({ chain }) => chain);
  const members = read.flatMap(({ chain: [entry, ...more], each }) =>
    entry && more.length === 0 && !isGroup(entry) ? { entry, share: shareOf(each) } : [],
  );
  const group = groupOf(members);
  if (read.length === 0) return [];
  if (group && members.length <= MOST_MEMBERS && members.length === read.length) return [group];
  mode.note(
    `A group has at most ${MOST_MEMBERS} members, and each is one model. Sluice tries these targets in the order of the file, not by weight.`,
  );
  return read.flatMap(({ chain }) => chain);
}

function shareOf(target: Place): number {
  const weight = target.get('weight').number;
  return weight === undefined || weight <= 0 ? 1 : weight;
}

function readLeaf(draft: Draft, target: Place, common: Fields): Entry[] {
  const params = target.get('override_params');
  const [, slug, named] = /^@([^/]+)\/(.+)$/.exec(params.get('model').text ?? '') ?? [];
  const provider = target.get('provider').text?.replace(/^@/, '') ?? slug;
  const known = knownProvider(provider ?? target.get('virtual_key').text);
  const preset = known === undefined ? undefined : PROVIDERS[known];
  if (preset === undefined) {
    target.note(
      'Sluice cannot tell the provider of this target. Add it to the chain by hand: docs/providers.md.',
    );
    return [];
  }
  const host = target.get('custom_host');
  const standard = PRESETS[preset]?.api_key;
  const variable = typeof standard === 'string' ? standard.slice(2, -1) : `${preset.toUpperCase()}_API_KEY`;
  const key = target.get('api_key');
  const fields: Fields = { preset };
  if (key.text !== undefined) fields.api_key = draft.secret(key, variable);
  else if (typeof standard === 'string') draft.reference(variable);
  if (target.get('virtual_key').isThere)
    target.get('virtual_key').note(`Portkey holds the key behind this name. Set ${variable} to it.`);
  if (host.text !== undefined) {
    const url = URL.canParse(host.text) ? new URL(host.text) : undefined;
    if (url && url.username + url.password + url.search + url.hash === '')
      fields.base_url = literal(preset === 'anthropic' ? host.text.replace(/\/v1\/?$/, '') : host.text);
    else {
      host.note(
        'Sluice takes an address without user name, password, query and fragment. The target was left out.',
      );
      return [];
    }
  }
  const name = draft.provider(preset, fields);
  const model = named ?? params.get('model').text;
  params.noteOthers(['model', 'max_tokens'], {}, 'Callers send this parameter themselves.');
  if (model === undefined) {
    target.note(`The target names no model, so it is no entry. Callers may send ${name}/<model>.`);
    return [];
  }
  if (!isCallable(model, params.get('model'))) return [];
  const maxTokens = params.get('max_tokens').number;
  return [
    { provider: name, model: literal(model), ...common, ...(maxTokens ? { max_tokens: maxTokens } : {}) },
  ];
}

/** The name of a key often begins with its provider: openai-virtual-key-a1b2. */
function knownProvider(name: string | undefined): string | undefined {
  if (name === undefined) return undefined;
  return Object.keys(PROVIDERS).find((each) => name === each || name.startsWith(`${each}-`));
}
