import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

interface FieldProps {
  label: string;
  value: string;
  onInput(value: string): void;
  /** Says what is wrong with the value. */
  mistake?: string | undefined;
  hint?: ComponentChildren;
  type?: 'text' | 'search' | 'url' | 'date' | 'datetime-local' | 'password';
  list?: string;
  placeholder?: string | undefined;
  inputMode?: 'decimal' | 'numeric';
  autoFocus?: boolean;
}

export function Field({
  label,
  value,
  onInput,
  mistake,
  hint,
  autoFocus = false,
  type = 'text',
  ...rest
}: FieldProps) {
  const id = useId();
  const note = mistake ?? hint;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        value={value}
        onInput={(event) => onInput(event.currentTarget.value)}
        aria-invalid={mistake !== undefined}
        aria-describedby={note === undefined ? undefined : `${id}-note`}
        ref={(input) => {
          if (autoFocus && input && document.activeElement?.tagName !== 'INPUT') input.focus();
        }}
        spellcheck={false}
        // A browser would fill in the operator's own password otherwise.
        autocomplete={type === 'password' ? 'new-password' : 'off'}
        // Preact's types allow a list for some types only, and the caller has chosen one of those.
        type={type as 'text'}
        {...rest}
      />
      {note !== undefined && (
        <p id={`${id}-note`} class={mistake === undefined ? 'hint' : 'mistake'}>
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
  mistake?: string | undefined;
}

export function Select<T extends string>({ label, value, choices, onChange, mistake }: SelectProps<T>) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value as T)}
        aria-invalid={mistake !== undefined}
        aria-describedby={mistake === undefined ? undefined : `${id}-note`}
      >
        {choices.map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
      {mistake !== undefined && (
        <p id={`${id}-note`} class="mistake">
          {mistake}
        </p>
      )}
    </div>
  );
}
