/** Fields that callers set without a thought, through every alias and every preset. Each has to be answered. */
import type { ServerName } from '@sluice/simulator/dialect';
import { type Gateway, startRealGateway } from '../helpers/gateway.js';
import { ALIASES, ROUNDS, STATES, type State, startClientsGateway, troubleOf } from './gateway.js';

type Fields = Record<string, unknown>;

const hi = { role: 'user', content: 'Hello.' };
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const tool = { type: 'function', function: { name: 'get_weather', parameters } };
const strict = {
  type: 'function',
  function: { name: 'get_weather', strict: true, parameters: { ...parameters, additionalProperties: false } },
};
const call = {
  id: 'call_abcdefghijklmnopqrstuvwx',
  type: 'function',
  function: { name: 'get_weather', arguments: '{"city":"Paris"}' },
};

const FIELDS: Readonly<Record<string, Fields>> = {
  nothing: {},
  temperature: { temperature: 0.2 },
  top_p: { top_p: 0.9 },
  'temperature, top_p': { temperature: 0.2, top_p: 0.9 },
  max_tokens: { max_tokens: 60 },
  max_completion_tokens: { max_completion_tokens: 60 },
  stop: { stop: ['END'] },
  seed: { seed: 7 },
  user: { user: '7b3f2f4e-0a53-4c0e-9f5a-2a3b1c5d6e7f' },
  'user, an e-mail': { user: 'ann@example.com' },
  safety_identifier: { safety_identifier: 'ann@example.com' },
  presence_penalty: { presence_penalty: 0.1 },
  frequency_penalty: { frequency_penalty: 0.1 },
  n: { n: 1 },
  logprobs: { logprobs: false },
  logit_bias: { logit_bias: {} },
  reasoning_effort: { reasoning_effort: 'low' },
  verbosity: { verbosity: 'low' },
  service_tier: { service_tier: 'auto' },
  'service_tier, flex': { service_tier: 'flex' },
  store: { store: false },
  metadata: { metadata: { team: 'x' } },
  prompt_cache_key: { prompt_cache_key: 'x' },
  tools: { tools: [tool] },
  'tools, strict': { tools: [strict] },
  'tool_choice, required': { tools: [tool], tool_choice: 'required' },
  'tool_choice, named': {
    tools: [tool],
    tool_choice: { type: 'function', function: { name: 'get_weather' } },
  },
  parallel_tool_calls: { tools: [tool], parallel_tool_calls: false },
  'a tool’s result': {
    tools: [tool],
    messages: [
      hi,
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: call.id, content: '21 °C' },
    ],
  },
  json_object: {
    messages: [{ role: 'user', content: 'Answer in JSON.' }],
    response_format: { type: 'json_object' },
  },
  json_schema: {
    response_format: {
      type: 'json_schema',
      json_schema: { name: 'city', strict: true, schema: { ...parameters, additionalProperties: false } },
    },
  },
  'system message': { messages: [{ role: 'system', content: 'Be brief.' }, hi] },
  'developer message': { messages: [{ role: 'developer', content: 'Be brief.' }, hi] },
  'name of a message': { messages: [{ ...hi, name: 'ann' }] },
  'assistant last': { messages: [hi, { role: 'assistant', content: 'Well' }] },
};

export interface Tried {
  field: string;
  route: string;
  state: State;
  /** Without it, the field was served. */
  refusal?: string;
  /** It was served by the next entry. */
  usedNext?: boolean;
}

export interface TriedFields {
  failures: Tried[];
  table: string;
}

/** A model of each preset that the simulator can be. Behind each of them is gpt-4o. */
const PRESET_MODELS: Readonly<Partial<Record<ServerName, string>>> = {
  mistral: 'mistral-medium-latest',
  groq: 'llama-3.3-70b-versatile',
  deepseek: 'deepseek-v4-pro',
  xai: 'grok-4.5',
  gemini: 'gemini-3.5-flash',
  fireworks: 'accounts/fireworks/models/gpt-oss-120b',
  bedrock: 'openai.gpt-oss-120b-1:0',
  together: 'openai/gpt-oss-20b',
  openrouter: 'amazon/nova-lite-v1',
};
const SERVER_NAMES = Object.keys(PRESET_MODELS);

/** Newer models of the two, with gpt-4o behind them. They are tried when they are up: the others are about being down. */
const NEWER: Readonly<Record<string, string>> = {
  'gpt-5': 'openai',
  'gpt-5.4': 'openai',
  'gpt-5.6-sol': 'openai',
  'gpt-6.1-sol': 'openai',
  'o4-mini': 'openai',
  'claude-haiku-5-5': 'anthropic',
  'claude-opus-5-5': 'anthropic',
};

export async function tryFields(states: readonly State[]): Promise<TriedFields> {
  const tried: Tried[] = [];
  for (const alias of ALIASES) {
    for (const round of ROUNDS.filter(({ aliases }) => aliases.includes(alias))) {
      if (!states.includes(round.state)) continue;
      const gateway = await startClientsGateway({ ...round, aliases: [alias] });
      tried.push(...(await tryRoutes(gateway, [alias], round.state).finally(() => gateway.stop())));
    }
  }
  const gateway = await startPresetsGateway();
  try {
    for (const state of STATES.filter((each) => states.includes(each))) {
      gateway.simulator.clearScript();
      const action = troubleOf(state, 'openai');
      for (const model of Object.values(PRESET_MODELS))
        if (action) gateway.simulator.script({ match: { model }, action });
      const routes = state === 'up' ? [...SERVER_NAMES, ...Object.keys(NEWER)] : SERVER_NAMES;
      tried.push(...(await tryRoutes(gateway, routes, state)));
    }
  } finally {
    await gateway.stop();
  }
  return {
    failures: tried.filter(({ refusal }) => refusal !== undefined),
    table: toTable([...ALIASES, ...SERVER_NAMES, ...Object.keys(NEWER)], tried),
  };
}

function startPresetsGateway(): Promise<Gateway> {
  const chain = (provider: string, model: string) => [
    { provider, model },
    { provider: 'openai', model: 'gpt-4o' },
  ];
  return startRealGateway({
    // The simulator is the server of each preset under its name.
    providers: Object.fromEntries(
      SERVER_NAMES.map((preset) => [
        preset,
        { preset, base_url: `\${ANTHROPIC_BASE_URL}/${preset}/v1`, api_key: '${OPENAI_API_KEY}' },
      ]),
    ),
    routes: Object.fromEntries([
      ...Object.entries(PRESET_MODELS).map(([preset, model]) => [preset, chain(preset, model)]),
      ...Object.entries(NEWER).map(([model, provider]) => [model, chain(provider, model)]),
    ]),
  });
}

async function tryRoutes(gateway: Gateway, routes: readonly string[], state: State): Promise<Tried[]> {
  const all: Tried[] = [];
  for (const route of routes) {
    const tried = Object.entries(FIELDS).map(async ([field, body]): Promise<Tried> => {
      const { status, headers, body: answer } = await gateway.chat({ model: route, messages: [hi], ...body });
      if (status !== 200) return { field, route, state, refusal: `${status} ${answer.error?.message}` };
      return { field, route, state, usedNext: headers.get('x-gateway-fallback-used') === 'true' };
    });
    all.push(...(await Promise.all(tried)));
  }
  return all;
}

/** Each refusal once, with the first place where it came. The table has them all. */
export function toLines(failures: readonly Tried[]): string[] {
  const places = new Map<string, string[]>();
  for (const { refusal = '', route, state, field } of failures) {
    // The gateway adds what the entries of the chain said.
    const said = refusal.replace(/ \([^ ()]+\/.*\)$/, '');
    places.set(said, [...(places.get(said) ?? []), `${route} ${state}, ${field}`]);
  }
  return [...places].map(([said, [first, ...others]]) => {
    const more = others.length === 0 ? '' : ` and ${others.length} more`;
    return `${first}${more}: ${said}`;
  });
}

/** The states in which the field was not served, or who served it when the first entry was up. */
function toTable(routes: readonly string[], tried: readonly Tried[]): string {
  const cell = (field: string, route: string) => {
    const own = tried.filter((each) => each.field === field && each.route === route);
    const failed = own.filter(({ refusal }) => refusal !== undefined).map(({ state }) => state);
    if (failed.length > 0) return `**${failed.join(', ')}**`;
    return own.some(({ state, usedNext }) => state === 'up' && usedNext) ? 'next' : 'yes';
  };
  return [
    `| Field | ${routes.join(' | ')} |`,
    `|---|${routes.map(() => '---').join('|')}|`,
    ...Object.keys(FIELDS).map(
      (field) => `| ${field} | ${routes.map((route) => cell(field, route)).join(' | ')} |`,
    ),
    '',
    'yes: by the first entry. next: by the next one. Else the states of the first entry in which nobody served it.',
  ].join('\n');
}
