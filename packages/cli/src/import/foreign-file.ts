/** The configuration file of another gateway, read place by place, and what was noted about it on the way. */
import { ConfigError } from '@sluice/shared/config/config';
import type { LineOf } from '@sluice/shared/config/places';
import { parseYaml } from '@sluice/shared/config/yaml';
import type { Mistake } from '@sluice/shared/contract/mistakes';
import { join, shownKey } from '@sluice/shared/contract/path-text';

/** What a field has instead of a counterpart, by its name. */
export type Sentences = Readonly<Record<string, string>>;

export const NO_COUNTERPART = 'This has no counterpart in Sluice.';

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
    const parsed = parseYaml(text, mistakes);
    if (!parsed || mistakes.length > 0) throw new ConfigError(name, mistakes);
    this.#lineOf = parsed.lineOf;
    this.root = new Place(this, '', parsed.value);
  }

  note(path: string, message: string): void {
    this.notes.push({ path, line: this.#lineOf(path), message });
  }
}

/** One value of the file. A value that is not there, or is of another type, reads as undefined or as empty. */
export class Place {
  constructor(
    readonly file: ForeignFile,
    readonly path: string,
    readonly value: unknown,
  ) {}

  get isThere(): boolean {
    return this.value !== undefined && this.value !== null;
  }

  get text(): string | undefined {
    return typeof this.value === 'string' && this.value !== '' ? this.value : undefined;
  }

  /** A number, also one that is written like 20_000. */
  get number(): number | undefined {
    const { value } = this;
    const number =
      typeof value === 'string' && /^\d[\d_]*(?:\.\d+)?$/.test(value)
        ? Number(value.replaceAll('_', ''))
        : value;
    return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
  }

  get(key: string): Place {
    const map = this.#map();
    return new Place(
      this.file,
      join(this.path, shownKey(key)),
      Object.hasOwn(map, key) ? map[key] : undefined,
    );
  }

  entries(): [name: string, place: Place][] {
    return Object.keys(this.#map()).map((key) => [key, this.get(key)]);
  }

  items(): Place[] {
    if (!Array.isArray(this.value)) return [];
    return this.value.map((item, i) => new Place(this.file, `${this.path}[${i}]`, item));
  }

  /** The texts of a list. */
  texts(): string[] {
    return this.items().flatMap(({ text }) => text ?? []);
  }

  note(message: string): void {
    this.file.note(this.path, message);
  }

  /** Notes every field that nobody has read. */
  noteOthers(read: readonly string[], sentences: Sentences = {}, otherwise = NO_COUNTERPART): void {
    for (const [name, place] of this.entries())
      if (!read.includes(name) && place.isThere)
        place.note(Object.hasOwn(sentences, name) ? (sentences[name] ?? otherwise) : otherwise);
  }

  #map(): Record<string, unknown> {
    const { value } = this;
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : {};
  }
}
