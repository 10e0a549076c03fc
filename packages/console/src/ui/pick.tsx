import { useEffect, useId, useState } from 'preact/hooks';
import { count } from '../format.js';
import { Field, Select } from './field.js';

/** A longer list helps nobody, and is slow to draw. */
const MAX_LISTED = 200;
const MAX_OFFERED = 50;

interface PickProps {
  label: string;
  value: string;
  values: readonly string[];
  /** Text of the choice of none. Without it, one value has to be chosen. */
  none?: string;
  onChange(value: string): void;
}

/** Picks one value: from a list, or, if there are many, by typing a part of it. */
export function Pick(props: PickProps) {
  return props.values.length > MAX_LISTED ? <PickByTyping {...props} /> : <PickFromList {...props} />;
}

function PickFromList({ label, value, values, none, onChange }: PickProps) {
  const known = value === '' || values.includes(value) ? values : [...values, value];
  const first = none === undefined ? [] : [['', none] as const];
  return (
    <Select
      label={label}
      value={value}
      choices={[...first, ...known.map((each) => [each, each] as const)]}
      onChange={onChange}
    />
  );
}

function PickByTyping({ label, value, values, none, onChange }: PickProps) {
  const list = useId();
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  const type = (next: string) => {
    setText(next);
    if (values.includes(next) || (next === '' && none !== undefined)) onChange(next);
  };
  const offered: string[] = [];
  for (const each of values) {
    if (each.includes(text)) offered.push(each);
    if (offered.length === MAX_OFFERED) break;
  }
  const isKnown = text === value || text === '';
  return (
    <>
      <Field
        label={label}
        value={text}
        onInput={type}
        list={list}
        placeholder={none ?? `One of ${count(values.length)}`}
        mistake={isKnown || offered.length > 0 ? undefined : 'There is none with this name'}
      />
      <datalist id={list}>
        {offered.map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
    </>
  );
}
