import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

interface FieldProps {
  label: string;
  value: string;
  onInput(value: string): void;
  /** Says what is wrong with the value. */
  fault?: string | undefined;
  hint?: ComponentChildren;
  type?: 'text' | 'search' | 'url' | 'date';
  list?: string;
  placeholder?: string;
  inputMode?: 'decimal' | 'numeric';
  autoFocus?: boolean;
}

export function Field({ label, value, onInput, fault, hint, autoFocus = false, ...rest }: FieldProps) {
  const id = useId();
  const note = fault ?? hint;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        value={value}
        onInput={(event) => onInput(event.currentTarget.value)}
        aria-invalid={fault !== undefined}
        aria-describedby={note === undefined ? undefined : `${id}-note`}
        ref={(input) => {
          if (autoFocus && input && document.activeElement?.tagName !== 'INPUT') input.focus();
        }}
        spellcheck={false}
        autocomplete="off"
        {...rest}
      />
      {note !== undefined && (
        <p id={`${id}-note`} class={fault === undefined ? 'hint' : 'fault'}>
          {note}
        </p>
      )}
    </div>
  );
}

interface SelectProps<T extends string> {
  label: string;
  value: T;
  choices: readonly (readonly [value: T, text: string])[];
  onChange(value: T): void;
  fault?: string | undefined;
}

export function Select<T extends string>({ label, value, choices, onChange, fault }: SelectProps<T>) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value as T)}
        aria-invalid={fault !== undefined}
        aria-describedby={fault === undefined ? undefined : `${id}-note`}
      >
        {choices.map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
      {fault !== undefined && (
        <p id={`${id}-note`} class="fault">
          {fault}
        </p>
      )}
    </div>
  );
}
