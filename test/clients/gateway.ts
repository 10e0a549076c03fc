/** The gateways that the clients are tried with: the routes of gateway.yaml, with their first entries up, refusing or down. */
import { readFileSync } from 'node:fs';
import type { Action } from '@sluice/simulator/faults';
import { parse } from 'yaml';
import { REPOSITORY } from '../helpers/all-in-one.js';
import { type Gateway, startRealGateway } from '../helpers/gateway.js';
import { type Feature, MODEL_FEATURES, WAY_FEATURES } from './features.js';

interface Entry {
  provider: 'openai' | 'anthropic';
  model: string;
  drop?: string[];
}

/** As they are shipped. */
export const ROUTES: Readonly<Record<string, readonly Entry[]>> = parse(
  readFileSync(`${REPOSITORY}/gateway.yaml`, 'utf8'),
).workspaces[0].routes;
export const ALIASES: readonly string[] = Object.keys(ROUTES);

export const STATES = ['up', 'refusing', 'down'] as const;
export type State = (typeof STATES)[number];

/** A gateway for each: a provider that is down for one alias is what the other one falls back to. */
export interface Round {
  title: string;
  /** How the first entries of the aliases are. */
  state: State;
  aliases: readonly string[];
  /** Without it, all are tried. */
  features?: readonly Feature[];
}

/** LlamaIndex always sends a temperature, which models that reason refuse. */
const drop = ['temperature'];
/** A model of each way to a provider: docs/providers.md says which goes which. */
const WAYS: Readonly<Record<string, readonly Entry[]>> = {
  'by-chat': [{ provider: 'openai', model: 'gpt-5', drop }],
  'by-responses': [{ provider: 'openai', model: 'gpt-5-pro', drop }],
  'with-tools-by-responses': [{ provider: 'openai', model: 'gpt-5.6', drop }],
  'by-messages': [{ provider: 'anthropic', model: 'claude-sonnet-4-6' }],
};

export const ROUNDS: readonly Round[] = [
  { title: 'up', state: 'up', aliases: ALIASES },
  { title: 'each way', state: 'up', aliases: Object.keys(WAYS), features: WAY_FEATURES },
  ...(['refusing', 'down'] as const).flatMap((state) =>
    ALIASES.map((alias) => ({
      title: `${alias} ${state}`,
      state,
      aliases: [alias],
      features: MODEL_FEATURES,
    })),
  ),
];

/** What a model says that does not take a field. */
const REFUSALS: Readonly<Record<Entry['provider'], unknown>> = {
  openai: {
    error: {
      message: "Unsupported parameter: 'temperature' is not supported with this model.",
      type: 'invalid_request_error',
      param: 'temperature',
      code: 'unsupported_parameter',
    },
  },
  anthropic: {
    type: 'error',
    error: { type: 'invalid_request_error', message: '`temperature` is deprecated for this model.' },
  },
};

export function faultOf(state: State, provider: Entry['provider']): Action | undefined {
  if (state === 'up') return undefined;
  return state === 'down' ? { status: 500 } : { status: 400, body: REFUSALS[provider] };
}

/** Longer than any client waits in its programs. */
const SLOW_MS = 8_000;

/** With the routes of gateway.yaml, one that is slow and one that fails at first. */
export async function startClientsGateway({ state, aliases } = ROUNDS[0] as Round): Promise<Gateway> {
  const gateway = await startRealGateway({
    webhooks: { allow_private_addresses: true },
    routes: {
      ...ROUTES,
      ...WAYS,
      embed: [{ provider: 'openai', model: 'text-embedding-3-small' }],
      slow: [{ provider: 'openai', model: 'gpt-slow' }],
      flaky: [{ provider: 'openai', model: 'gpt-flaky' }],
    },
  });
  gateway.simulator.script({ match: { model: 'gpt-slow' }, action: { delayMs: SLOW_MS } });
  for (const [first] of aliases.map((alias) => ROUTES[alias] ?? [])) {
    const action = first && faultOf(state, first.provider);
    if (action) gateway.simulator.script({ match: { model: first.model }, action });
  }
  return gateway;
}

/** Before each program: its first call of `flaky` is rate-limited, with a time to wait. */
export function makeFlaky(gateway: Gateway): void {
  const limited = { status: 429, headers: { 'retry-after': '1' } };
  gateway.simulator.script({ match: { model: 'gpt-flaky' }, times: 1, action: limited });
}

export function environmentFor(
  gateway: Gateway,
  { aliases, features } = ROUNDS[0] as Round,
): Record<string, string> {
  return {
    GATEWAY_URL: `${gateway.url}/v1`,
    GATEWAY_KEY: gateway.key,
    GATEWAY_MODELS: aliases.join(','),
    ...(features && { GATEWAY_FEATURES: features.join(',') }),
  };
}
