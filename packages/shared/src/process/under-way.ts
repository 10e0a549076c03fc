/**
 * A Map for what comes and goes with every request.
 *
 * V8 gives a Map or Set that changes a new table now and then. The former table keeps what it had, and points to the next one.
 * Once a former table is among the old objects, everything in the later tables becomes old too, long after it has ended, and the
 * whole heap is searched every second or two. Here a former table has only empty boxes.
 */
export class UnderWay<T extends object> {
  readonly #boxes = new Map<string, { value: T | undefined }>();

  get size(): number {
    return this.#boxes.size;
  }

  get(id: string): T | undefined {
    return this.#boxes.get(id)?.value;
  }

  has(id: string): boolean {
    return this.#boxes.has(id);
  }

  set(id: string, value: T): void {
    const box = this.#boxes.get(id);
    if (box) box.value = value;
    else this.#boxes.set(id, { value });
  }

  delete(id: string): boolean {
    const box = this.#boxes.get(id);
    if (!box) return false;
    box.value = undefined;
    return this.#boxes.delete(id);
  }

  values(): T[] {
    return [...this.#boxes.values()].flatMap(({ value }) => value ?? []);
  }
}
