/**
 * The gateway.yaml that an import writes. It grows while the other file is read: a provider with the same fields is added once,
 * and a secret keeps the variable that was first proposed for it.
 */
import { isDeepStrictEqual } from 'node:util';
import { parseConfigText } from '@sluice/shared/config/config';
import { writeYaml } from '@sluice/shared/config/yaml';
import { isGroup } from '@sluice/shared/contract/chain';
import { COUNT, DURATION_MS, ID, MODEL, TOKENS, WEIGHT } from '@sluice/shared/contract/common';
import { ALIAS, entryNumbers, MAX_ENTRIES, MAX_MODELS } from '@sluice/shared/contract/route';
import type { Place } from './foreign-file.js';

export type Fields = Record<string, unknown>;

export interface Entry extends Fields {
  provider: string;
  model: string;
}

export interface Group {
  one_of: Entry[];
}

export type Routes = Record<string, (Entry | Group)[]>;

export interface Workspace {
  id: string;
  keys: { name: string; value: string }[];
  limits?: Fields;
  models?: string[];
  routes?: Routes;
}

const MOST_RETRIES = Number(entryNumbers.retries.json.maximum);
const STANDARD_DEADLINE_MS = 300_000;

export class Draft {
  readonly providers = new Map<string, Fields>();
  readonly workspaces: Workspace[] = [];
  /** The variables that the file reads, each with a value that stands in for it while the file is checked. */
  readonly #variables = new Map<string, string>();
  readonly #secrets = new Map<string, string>();
  readonly #limits = new Map<string, Map<string, Fields>>();
  #longestMs = STANDARD_DEADLINE_MS;

  /** `reserved`: variables that the other gateway's file reads. They are never proposed for a secret that it holds. */
  constructor(readonly reserved: ReadonlySet<string>) {}

  get variables(): string[] {
    return [...this.#variables.keys()].sort();
  }

  reference(variable: string, standIn = 'http://stand-in.invalid'): string {
    this.#variables.set(variable, standIn);
    return `\${${variable}}`;
  }

  /** A reference to a variable for a secret that stands in the other file. The secret itself is not copied. */
  secret(place: Place, wanted: string): string {
    const value = String(place.value);
    let name = this.#secrets.get(value);
    if (name === undefined) {
      const taken = new Set([...this.reserved, ...this.#secrets.values()]);
      name = free(wanted, (each) => taken.has(each), '_');
      this.#secrets.set(value, name);
    }
    place.note(`The secret stands in the file and was not copied. Set ${name} to it.`);
    return this.reference(name);
  }

  /** The name of a provider with these fields. Providers that are the same share one. */
  provider(wanted: string, fields: Fields): string {
    const same = [...this.providers].find(([, each]) => isDeepStrictEqual(each, fields));
    if (same) return same[0];
    const name = free(toId(wanted), (each) => this.providers.has(each), '-');
    this.providers.set(name, fields);
    return name;
  }

  /** Limits per minute of one model of a provider. */
  limit(provider: string, model: string, limits: Fields): void {
    if (Object.keys(limits).length === 0) return;
    const models = this.#limits.get(provider) ?? new Map<string, Fields>();
    this.#limits.set(provider, models.set(model, limits));
  }

  /** Adds a route, unless Sluice cannot have it. */
  route(routes: Routes, alias: string, chain: readonly (Entry | Group)[], place: Place): void {
    if (!ALIAS.pattern.test(alias)) {
      place.note(`A route must be named with ${ALIAS.allowed}.`);
      return;
    }
    const different = chain.filter(
      (entry, i) => chain.findIndex((each) => isDeepStrictEqual(each, entry)) === i,
    );
    const fitting = different.filter(
      (_, i) => i < MAX_ENTRIES && countModels(different.slice(0, i + 1)) <= MAX_MODELS,
    );
    if (different.length > fitting.length)
      place.note(
        `A chain has at most ${MAX_ENTRIES} entries and ${MAX_MODELS} models. The further ones were left out.`,
      );
    if (fitting.length > 0) routes[alias] = fitting;
  }

  timeoutMs(ms: number | undefined): Fields {
    if (ms === undefined || ms <= 0) return {};
    const timeout = Math.max(1, Math.min(DURATION_MS.max, Math.round(ms)));
    this.#longestMs = Math.max(this.#longestMs, timeout);
    return { timeout_ms: timeout };
  }

  retries(place: Place): Fields {
    const { number: times } = place;
    if (times === undefined || times < 1) return {};
    if (times > MOST_RETRIES) place.note(`An entry is retried ${MOST_RETRIES} times at most.`);
    return { retries: Math.min(MOST_RETRIES, Math.round(times)) };
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
      workspaces: this.workspaces,
      ...request,
    };
    const variables = this.variables.map((name) => `#   ${name}\n`).join('');
    const text =
      `# Made by \`sluice import ${source}\`. "sluice check" checks it, "sluice start" runs it.\n` +
      `${variables === '' ? '' : `# It reads these variables:\n${variables}`}\n` +
      writeYaml(file);
    parseConfigText(text, Object.fromEntries(this.#variables), 'the gateway.yaml that was made');
    return text;
  }
}

function countModels(chain: readonly (Entry | Group)[]): number {
  return chain.reduce((sum, entry) => sum + (isGroup(entry) ? entry.one_of.length : 1), 0);
}

/** Requests and tokens per minute, as far as Sluice takes them. */
export function ratesOf(requests: number | undefined, tokens: number | undefined): Fields {
  const within = (rate: number | undefined, most: number) =>
    rate === undefined || rate < 1 ? undefined : Math.min(most, Math.round(rate));
  const [rpm, tpm] = [within(requests, COUNT.max), within(tokens, TOKENS.max)];
  return {
    ...(rpm === undefined ? {} : { requests_per_minute: rpm }),
    ...(tpm === undefined ? {} : { tokens_per_minute: tpm }),
  };
}

/** Shares such as 0.3 and 0.7 as the whole numbers that Sluice takes. */
export function weightOf(share: number | undefined): Fields {
  if (share === undefined || share <= 0) return {};
  return { weight: wholeWeight(share < 1 ? share * 100 : share) };
}

function wholeWeight(weight: number): number {
  return Math.max(1, Math.min(WEIGHT.max, Math.round(weight)));
}

/** The entries as one group, each with its share of the requests, if the shares are not all the same. */
export function groupOf(members: readonly { entry: Entry; share: number }[]): Entry | Group | undefined {
  const [first] = members;
  if (!first || members.length === 1) return first?.entry;
  const isEven = members.every(({ share }) => share === first.share);
  const scale = members.every(({ share }) => Number.isInteger(share)) ? 1 : 100;
  return {
    one_of: members.map(({ entry, share }) => ({
      ...entry,
      ...(isEven ? {} : { weight: wholeWeight(share * scale) }),
    })),
  };
}

/** Whether Sluice can call a model of this id. Notes it when it cannot. */
export function isCallable(model: string, place: Place): boolean {
  const isModel = MODEL.pattern.test(model);
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

function free(wanted: string, isTaken: (name: string) => boolean, joint: string): string {
  let name = wanted;
  for (let n = 2; isTaken(name); n++) name = `${wanted}${joint}${n}`;
  return name;
}
