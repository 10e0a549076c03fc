/** Texts of gateway.yaml that name variables of the environment. A text that a caller sends never does. */

/** A text such as `https://${HOST:-localhost}`. It is read only where a text or a number is expected. */
export class Reference {
  #text: string | undefined;
  #mistakes: string[] | undefined;

  constructor(
    readonly written: string,
    private readonly lookUp: (mistake: (message: string) => void) => string,
  ) {}

  /** Why the text cannot be had, such as that a variable is not set. */
  get mistakes(): readonly string[] {
    if (this.#mistakes === undefined) {
      const mistakes: string[] = [];
      this.#text = this.lookUp((message) => mistakes.push(message));
      this.#mistakes = mistakes;
    }
    return this.#mistakes;
  }

  /** The value of the text, or the reference itself when the text cannot be had. */
  resolve<T>(toValue: (text: string) => T): T | this {
    return this.mistakes.length > 0 ? this : toValue(this.#text ?? '');
  }
}

/** The variable that holds a secret. The secret itself is not read with the file. */
export class Variable {
  constructor(readonly name: string) {}
}

const SECRET = /^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$/;

/** The variable of a text that is exactly one plain reference. */
export function variableIn(value: unknown): Variable | undefined {
  const written = value instanceof Reference ? value.written : value;
  const name = typeof written === 'string' ? SECRET.exec(written.trim())?.[1] : undefined;
  return name === undefined ? undefined : new Variable(name);
}

/** What a text says, if it can be had. */
export function plainText(value: unknown): string | undefined {
  const text = value instanceof Reference ? value.resolve((each) => each) : value;
  return typeof text === 'string' ? text : undefined;
}

export function isText(value: unknown): value is string | Reference {
  return typeof value === 'string' || value instanceof Reference;
}
