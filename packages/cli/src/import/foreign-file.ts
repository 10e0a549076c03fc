/** The configuration file of another gateway, read place by place, and what was noted about it on the way. */
import { ConfigError } from '@sluice/shared/config/config';
import type { LineOf } from '@sluice/shared/config/places';
import { parseYaml } from '@sluice/shared/config/yaml';
import type { Mistake } from '@sluice/shared/contract/mistakes';
import { join, shownKey } from '@sluice/shared/contract/path-text';
import { isMap } from '@sluice/shared/contract/structs';
import { mergeKeys } from './merge-keys.js';

/** What a field has instead of a counterpart, by its name. */
export type Sentences = Readonly<Record<string, string>>;

const NO_COUNTERPART = 'This has no counterpart in Sluice.';
/** A file may give many models the same defaults. */
const MOST_ALIASES = 10_000;

/** The numbers that Sluice takes in a place. `factor`: how many of its units are one of the other file's. */
export interface Bounds {
  min: number;
  max: number;
  factor?: number;
  unit?: string;
  isWhole?: boolean;
}

export class ForeignFile {
  readonly notes: Mistake[] = [];
  readonly root: Place;
  readonly #lineOf: LineOf;

  /** JSON is YAML, too. Throws ConfigError when it is neither. */
  constructor(
    readonly name: string,
    readonly text: string,
  ) {
    const mistakes: Mistake[] = [];
    const parsed = parseYaml(text, mistakes, MOST_ALIASES);
    const value = mergeKeys(parsed?.value, mistakes);
    if (!parsed || mistakes.length > 0) throw new ConfigError(name, mistakes);
    this.#lineOf = parsed.lineOf;
    this.root = new Place(this, '', value);
  }

  note(path: string, message: string): void {
    this.notes.push({ path, line: this.#lineOf(path), message });
  }
}

/**
 * One value of the file. A value that is not there, or is of another type, reads as undefined or as empty. A place is settled
 * when it was taken over or noted; `noteRest` notes all others, so that nothing is dropped in silence.
 */
export class Place {
  readonly #children = new Map<string | number, Place>();
  #isSettled = false;
  /** Whether a place within it is settled. */
  #isOpen = false;
  #sentences: Sentences = {};
  #otherwise = NO_COUNTERPART;

  constructor(
    readonly file: ForeignFile,
    readonly path: string,
    readonly value: unknown,
    private readonly parent?: Place,
  ) {}

  get isThere(): boolean {
    return this.value !== undefined && this.value !== null && this.value !== '';
  }

  get text(): string | undefined {
    return typeof this.value === 'string' && this.value !== '' ? this.value : undefined;
  }

  /** Takes the text over. */
  take(): string | undefined {
    if (this.text !== undefined) this.settle();
    return this.text;
  }

  /** A text, or a number or the like as it would be written. */
  get scalar(): string | undefined {
    return this.isThere && typeof this.value !== 'object' ? String(this.value) : undefined;
  }

  /** A number, also one that is written like 20_000. */
  get #number(): number | undefined {
    const { value } = this;
    const number =
      typeof value === 'string' && /^\d[\d_]*(?:\.\d+)?$/.test(value)
        ? Number(value.replaceAll('_', ''))
        : value;
    return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
  }

  /** Takes the number over, as far as Sluice has it. Notes what it cannot have. */
  within({ min, max, factor = 1, unit = '', isWhole = true }: Bounds): number | undefined {
    if (!this.isThere) return undefined;
    const wanted = this.#number === undefined ? undefined : this.#number * factor;
    if (wanted === undefined) {
      this.note('Sluice cannot read this as a number. Set it by hand.');
      return undefined;
    }
    const allowed = `Sluice takes ${min} to ${max}${unit} here.`;
    if (wanted < min) {
      this.note(`${allowed} This was left out.`);
      return undefined;
    }
    const number = Math.min(max, isWhole ? Math.round(wanted) : wanted);
    // 0.07 * 1000 is not quite 70.
    if (Math.abs(number - wanted) > 1e-6) this.note(`${allowed} This became ${number}.`);
    this.settle();
    return number;
  }

  get(key: string): Place {
    const map = this.#map();
    return this.#child(key, join(this.path, shownKey(key)), Object.hasOwn(map, key) ? map[key] : undefined);
  }

  entries(): [name: string, place: Place][] {
    return Object.keys(this.#map()).map((key) => [key, this.get(key)]);
  }

  items(): Place[] {
    if (!Array.isArray(this.value)) return [];
    return this.value.map((item, i) => this.#child(i, `${this.path}[${i}]`, item));
  }

  /** Says something about a place whose parts are taken over or noted one by one. */
  remark(message: string): void {
    this.file.note(this.path, message);
  }

  /** Says what became of the whole place. */
  note(message: string): void {
    this.remark(message);
    this.settle();
  }

  /** The place was taken over as it stands, or a note elsewhere tells what became of it. */
  settle(): this {
    this.#isSettled = true;
    for (let around = this.parent; around && !around.#isOpen; around = around.parent) around.#isOpen = true;
    return this;
  }

  /** The sentences about the fields of this map that are not taken over. */
  explain(sentences: Sentences, otherwise = NO_COUNTERPART): void {
    this.#sentences = sentences;
    this.#otherwise = otherwise;
    this.#isOpen = true;
  }

  /** Notes everything that is not settled. */
  noteRest(sentence = NO_COUNTERPART): void {
    if (this.#isSettled || !this.isThere || isEmpty(this.value)) return;
    if ((!this.#isOpen && this.parent) || typeof this.value !== 'object') {
      this.note(sentence);
      return;
    }
    for (const item of this.items()) item.noteRest(this.#otherwise);
    for (const [name, place] of this.entries())
      place.noteRest(Object.hasOwn(this.#sentences, name) ? this.#sentences[name] : this.#otherwise);
  }

  #child(key: string | number, path: string, value: unknown): Place {
    const known = this.#children.get(key);
    if (known) return known;
    const child = new Place(this.file, path, value, this);
    this.#children.set(key, child);
    return child;
  }

  #map(): Record<string, unknown> {
    return isMap(this.value) ? this.value : {};
  }
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}
