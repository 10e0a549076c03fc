/**
 * The gateway.yaml that an import writes. It grows while the other file is read: a provider with the same fields is added once,
 * and a secret keeps the variable that was first proposed for it.
 */
import { apiEnv } from '@sluice/api/env';
import { ConfigError, parseConfig, parseConfigText } from '@sluice/shared/config/config';
import { writeYaml } from '@sluice/shared/config/yaml';
import { isGroup } from '@sluice/shared/contract/chain';
import { DURATION_MS, ID, MODEL, WEIGHT } from '@sluice/shared/contract/common';
import { MAX_PROVIDERS } from '@sluice/shared/contract/gateway-file';
import { mistakeText } from '@sluice/shared/contract/mistakes';
import { ALIAS, entryNumbers, MAX_ENTRIES, MAX_MODELS } from '@sluice/shared/contract/route';
import { workerEnv } from '@sluice/worker/env';
import type { Bounds, Place } from './foreign-file.js';

export type Fields = Record<string, unknown>;

export interface Entry extends Fields {
  provider: string;
  model: string;
}

export interface Group {
  one_of: Entry[];
}

export type Routes = Map<string, (Entry | Group)[]>;

export interface Workspace {
  id: string;
  keys: { name: string; value: string }[];
  limits?: Fields;
  models?: string[];
  routes?: Routes;
}

/** Sluice reads these itself. A file of another gateway means something else by them. */
const OWN_VARIABLES = new Set([
  ...Object.keys({ ...apiEnv, ...workerEnv }),
  ...['GATEWAY_KEY', 'ADMIN_URL', 'REDIS_SERVER', 'NODE_OPTIONS', 'PATH'],
]);
const RETRIES = { min: 0, max: Number(entryNumbers.retries.json.maximum) };
export const SECONDS: Bounds = { ...DURATION_MS, factor: 1000, unit: ' ms' };
export const TOO_MANY_PROVIDERS = `Sluice has at most ${MAX_PROVIDERS} providers. The deployment was left out.`;
const MOST_CHECKED = 2 * MAX_PROVIDERS;
const NO_OWN_NAME = '__proto__';
const STANDARD_DEADLINE_MS = 300_000;

export class Draft {
  readonly providers = new Map<string, Fields>();
  readonly workspaces: Workspace[] = [];
  /** The variables that the file reads, each with a value that stands in for it while the file is checked. */
  readonly #variables: Record<string, string> = Object.create(null);
  /** The variables of secrets, by their values, and those for variables that Sluice reads itself, by their names. */
  readonly #secrets = new Map<string, string>();
  readonly #renamed = new Map<string, string>();
  readonly #limits = new Map<string, Map<string, Fields>>();
  readonly #names = new Map<string, string>();
  readonly #mistakes = new Map<string, string | undefined>();
  readonly #variableNames: Names;
  readonly #providerNames = new Names('-');
  #longestMs = STANDARD_DEADLINE_MS;

  /** `reserved`: variables that the other gateway reads. They are never proposed for anything else. */
  constructor(reserved: Iterable<string>) {
    this.#variableNames = new Names('_', [...reserved, ...OWN_VARIABLES]);
  }

  get variables(): string[] {
    return Object.keys(this.#variables).sort();
  }

  reference(variable: string, standIn = 'http://stand-in.invalid'): string {
    this.#variables[variable] = standIn;
    return `\${${variable}}`;
  }

  /** A reference to a variable that the other file names. Sluice's own ones get another name. */
  foreignVariable(place: Place, variable: string, standIn?: string): string {
    place.settle();
    if (!OWN_VARIABLES.has(variable.replace(/_FILE$/, ''))) return this.reference(variable, standIn);
    const name = this.#renamed.get(variable) ?? this.#variableNames.free(`LITELLM_${variable}`);
    this.#renamed.set(variable, name);
    place.note(`Sluice reads ${variable} itself. Set ${name} to what this file means by it.`);
    return this.reference(name, standIn);
  }

  /** A reference to a variable for a secret that stands in the other file. The secret itself is not copied. */
  secret(place: Place, wanted: string, why = 'The secret stands in the file and was not copied.'): string {
    const value = String(place.value);
    const name = this.#secrets.get(value) ?? this.#variableNames.free(wanted);
    this.#secrets.set(value, name);
    place.note(`${why} Set ${name} to it.`);
    return this.reference(name);
  }

  /** The key of a workspace. Two workspaces never share a variable. */
  key(wanted: string): { name: string; value: string } {
    const variable = wanted === 'GATEWAY_KEY' ? wanted : this.#variableNames.free(wanted);
    return { name: 'default', value: this.reference(variable) };
  }

  /**
   * The name of a provider with these fields. Providers that are the same share one, unless callers say the name. Undefined:
   * there are too many.
   */
  provider(wanted: string, fields: Fields, isSaid = false): string | undefined {
    const same = this.#names.get(JSON.stringify(fields));
    if (same !== undefined && (!isSaid || this.providers.has(wanted))) return same;
    if (this.providers.size >= MAX_PROVIDERS) return undefined;
    const name = this.#providerNames.free(toId(wanted));
    this.#names.set(JSON.stringify(fields), name);
    this.providers.set(name, fields);
    return name;
  }

  /** What `sluice check` would find wrong with a provider of these fields. */
  mistakeIn({ api_key: _, ...fields }: Fields): string | undefined {
    const key = JSON.stringify(fields);
    if (!this.#mistakes.has(key) && this.#mistakes.size >= MOST_CHECKED)
      return 'there are too many providers';
    if (!this.#mistakes.has(key)) this.#mistakes.set(key, this.#findMistake(fields));
    return this.#mistakes.get(key);
  }

  #findMistake(fields: Fields): string | undefined {
    try {
      parseConfig({ providers: { 'the-provider': fields } }, this.#variables);
      return undefined;
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      return error.mistakes.map(mistakeText).join('; ').replaceAll('providers.the-provider.', '');
    }
  }

  /** Sets limits per minute of one model of a provider. They cannot be set twice. */
  limit(provider: string, model: string, limits: () => Fields): void {
    const models = this.#limits.get(provider) ?? new Map<string, Fields>();
    if (models.has(model)) return;
    const given = limits();
    if (Object.keys(given).length > 0) this.#limits.set(provider, models.set(model, given));
  }

  /** Adds a route, unless Sluice cannot have it. */
  route(routes: Routes, alias: string, chain: readonly (Entry | Group)[], place: Place): void {
    if (!ALIAS.pattern.test(alias) || alias === NO_OWN_NAME) {
      place.note(`A route must be named with ${ALIAS.allowed}, and not __proto__. It was left out.`);
      return;
    }
    const different = [...new Map(chain.map((entry) => [JSON.stringify(entry), entry])).values()];
    const fitting = different.filter(
      (_, i) => i < MAX_ENTRIES && countModels(different.slice(0, i + 1)) <= MAX_MODELS,
    );
    if (different.length > fitting.length)
      place.remark(
        `A chain has at most ${MAX_ENTRIES} entries and ${MAX_MODELS} models. The further ones were left out.`,
      );
    if (fitting.length > 0) routes.set(alias, fitting);
  }

  timeout(seconds: Place): Fields {
    const ms = seconds.within(SECONDS);
    this.#longestMs = Math.max(this.#longestMs, ms ?? 0);
    return ms === undefined ? {} : { timeout_ms: ms };
  }

  retries(place: Place): Fields {
    const retries = place.within(RETRIES);
    return retries === undefined ? {} : { retries };
  }

  #withLimits(name: string, fields: Fields): Fields {
    const models = this.#limits.get(name);
    return models === undefined ? fields : { ...fields, limits: { models: Object.fromEntries(models) } };
  }

  /** Throws when the result would not pass `sluice check`. */
  toText(source: string): string {
    const request =
      this.#longestMs > STANDARD_DEADLINE_MS ? { request: { deadline_ms: this.#longestMs } } : {};
    const file = {
      ...(this.providers.size > 0
        ? {
            providers: Object.fromEntries(
              [...this.providers].map(([name, fields]) => [name, this.#withLimits(name, fields)]),
            ),
          }
        : {}),
      workspaces: this.workspaces.map(({ routes = new Map(), ...workspace }) => ({
        ...workspace,
        routes: Object.fromEntries(routes),
      })),
      ...request,
    };
    const variables = this.variables.map((name) => `#   ${name}\n`).join('');
    const text =
      `# Made by \`sluice import ${source}\`. "sluice check" checks it, "sluice start" runs it.\n` +
      `${variables === '' ? '' : `# It reads these variables:\n${variables}`}\n` +
      writeYaml(file);
    parseConfigText(text, this.#variables, 'the gateway.yaml that was made');
    return text;
  }
}

function countModels(chain: readonly (Entry | Group)[]): number {
  return chain.reduce((sum, entry) => sum + (isGroup(entry) ? entry.one_of.length : 1), 0);
}

/** Shares such as 0.3 and 0.7 as the whole numbers that Sluice takes. */
export function weightsOf(shares: readonly number[]): number[] {
  const isWhole = shares.every((share) => Number.isInteger(share));
  const scale = Math.min(isWhole ? 1 : 100, WEIGHT.max / Math.max(...shares));
  return shares.map((share) => Math.max(1, Math.round(share * scale)));
}

/** The entries as one group, each with its share of the requests, if the shares are not all the same. */
export function groupOf(members: readonly { entry: Entry; share: number }[]): Entry | Group | undefined {
  const [first] = members;
  if (!first || members.length === 1) return first?.entry;
  const isEven = members.every(({ share }) => share === first.share);
  const weights = weightsOf(members.map(({ share }) => share));
  return {
    one_of: members.map(({ entry }, i) => ({ ...entry, ...(isEven ? {} : { weight: weights[i] }) })),
  };
}

/** Whether Sluice can call a model of this id. Notes it when it cannot. */
export function isCallable(model: string, place: Place): boolean {
  const isModel = MODEL.pattern.test(model) && model !== NO_OWN_NAME;
  if (!isModel) place.note(`Sluice needs ${MODEL.allowed}. This one was left out.`);
  return isModel;
}

/** A text of another file, so that Sluice reads it as it stands. */
export function literal(text: string): string {
  return text.replaceAll('${', () => '$${');
}

export function toId(text: string): string {
  const id = text
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]+/g, '-')
    .replaceAll(/^[^a-z0-9]+|-+$/g, '');
  return ID.pattern.test(id) ? id : id.slice(0, 60) || 'imported';
}

export function toVariable(text: string): string {
  const name = text
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '');
  return /^[A-Z]/.test(name) ? name : `X_${name}`;
}

/** Names that are given out once each. */
class Names {
  readonly #taken: Set<string>;
  readonly #counts = new Map<string, number>();

  constructor(
    private readonly joint: string,
    taken: Iterable<string> = [],
  ) {
    this.#taken = new Set(taken);
  }

  free(wanted: string): string {
    let count = this.#counts.get(wanted) ?? 1;
    let name = count === 1 ? wanted : `${wanted}${this.joint}${count}`;
    while (this.#taken.has(name)) name = `${wanted}${this.joint}${++count}`;
    this.#counts.set(wanted, count);
    this.#taken.add(name);
    return name;
  }
}
