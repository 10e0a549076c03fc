/**
 * Reads server-sent events from bytes that may be cut anywhere: in a character, in a line, between the two characters that end
 * a line. It keeps no more than the event that is not complete yet. Who feeds it limits the bytes.
 */
export interface SseEvent {
  /** The text after `event:`. Empty when there is none. */
  name: string;
  data: string;
}

/** An empty line takes memory, too. */
const LINE_BYTES = 16;
const LINE_END = /\r\n|\n|\r/g;

export class SseReader {
  // It leaves out a byte order mark, and holds back the bytes of a character that is not complete.
  readonly #decoder = new TextDecoder();
  #line = '';
  #name = '';
  #data: string[] = [];
  #dataHeld = 0;
  /** The text so far ended in a carriage return, so a line feed at the beginning of the next one ends no other line. */
  #afterReturn = false;

  constructor(private readonly onEvent: (event: SseEvent) => void) {}

  /** How much is held of the event that is not complete. */
  get held(): number {
    return this.#dataHeld + this.#line.length;
  }

  push(bytes: Uint8Array): void {
    this.#read(this.#decoder.decode(bytes, { stream: true }));
  }

  /** Many servers leave out the empty line after the last event. */
  end(): void {
    this.#read(this.#decoder.decode());
    if (this.#line !== '') this.#take(this.#line);
    this.#take('');
  }

  #read(text: string): void {
    if (text === '') return;
    let from = this.#afterReturn && text.startsWith('\n') ? 1 : 0;
    LINE_END.lastIndex = from;
    for (let end = LINE_END.exec(text); end; end = LINE_END.exec(text)) {
      const line = this.#line + text.slice(from, end.index);
      from = LINE_END.lastIndex;
      this.#line = '';
      this.#take(line);
      LINE_END.lastIndex = from;
    }
    this.#line += text.slice(from);
    this.#afterReturn = text.endsWith('\r');
  }

  /** A line that begins with a colon is a comment, which servers send to keep a connection alive. */
  #take(line: string): void {
    if (line === '') this.#give();
    else if (line.startsWith('data:')) {
      this.#data.push(valueIn(line, 5));
      this.#dataHeld += line.length + LINE_BYTES;
    } else if (line.startsWith('event:')) this.#name = valueIn(line, 6);
  }

  #give(): void {
    const [first, ...more] = this.#data;
    const name = this.#name;
    this.#name = '';
    if (first === undefined) return;
    this.#data = [];
    this.#dataHeld = 0;
    this.onEvent({ name, data: more.length > 0 ? [first, ...more].join('\n') : first });
  }
}

function valueIn(line: string, from: number): string {
  return line.slice(line[from] === ' ' ? from + 1 : from);
}
