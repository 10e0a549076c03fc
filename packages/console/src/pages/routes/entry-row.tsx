import type { ProviderStatus } from '@sluice/shared/admin-api';
import { Field, Select } from '../../ui/field.js';
import type { EntryForm, KnownModels } from './route-form.js';

const STEPS_IN = [
  ['', 'after any failure'],
  ['context_length', 'when a prompt is too long'],
] as const;

const READ_AS = [
  ['', 'as the provider says'],
  ['true', 'in pieces, so that silence is noticed'],
  ['false', 'whole'],
] as const;

const DRAGGED = 'application/x-sluice-entry';

interface EntryRowProps {
  number: number;
  count: number;
  title: string;
  /** Requests are split between it and others. */
  isMember: boolean;
  entry: EntryForm;
  mistakeOf(field: string): string | undefined;
  /** An empty field is called wrong only then. */
  isTried: boolean;
  providers: ProviderStatus[];
  known: KnownModels | undefined;
  onChange(entry: EntryForm): void;
  /** Entry `from` of the form was dragged to the place of this one. */
  onDrop(from: number): void;
  onMove(by: -1 | 1): void;
  onRemove(): void;
}

export function EntryRow({
  number,
  count,
  title,
  isMember,
  entry,
  mistakeOf,
  isTried,
  providers,
  known,
  onChange,
  onDrop,
  onMove,
  onRemove,
}: EntryRowProps) {
  const set = (field: keyof EntryForm) => (value: string) => onChange({ ...entry, [field]: value.trim() });
  const setList = (field: 'drop' | 'rename') => (value: string) => onChange({ ...entry, [field]: value });
  const kind = providers.find(({ name }) => name === entry.provider)?.kind;
  const ids = known?.models.filter(({ provider }) => provider === kind).map(({ id }) => id) ?? [];
  const isUnpriced =
    entry.model !== '' && known !== undefined && kind !== undefined && !ids.includes(entry.model);
  const list = `models-of-${entry.key}`;
  const drop = (event: DragEvent) => {
    event.preventDefault();
    const from = Number(event.dataTransfer?.getData(DRAGGED) || Number.NaN);
    if (Number.isInteger(from) && from !== number - 1) onDrop(from);
  };
  return (
    <li class="entry-form" onDragOver={(event) => event.preventDefault()} onDrop={drop}>
      <fieldset>
        <legend>{title}</legend>
        <div class="grid">
          <Select
            label="Provider"
            value={entry.provider}
            choices={choicesOf(entry.provider, providers)}
            onChange={set('provider')}
            mistake={entry.provider === '' && !isTried ? undefined : mistakeOf('provider')}
          />
          <Field
            label="Model"
            value={entry.model}
            onInput={set('model')}
            list={list}
            mistake={entry.model === '' && !isTried ? undefined : mistakeOf('model')}
            hint={
              isUnpriced
                ? 'The registry has no model with this name. Check the name, or set a price.'
                : undefined
            }
          />
          <datalist id={list}>
            {ids.map((id) => (
              <option key={id} value={id} />
            ))}
          </datalist>
          <Field
            label="Timeout, ms"
            value={entry.timeout_ms}
            onInput={set('timeout_ms')}
            mistake={mistakeOf('timeout_ms')}
            inputMode="numeric"
            placeholder="provider’s"
          />
          <Select
            label="Answers are read"
            value={entry.upstream_stream}
            choices={READ_AS}
            onChange={set('upstream_stream')}
          />
          {(entry.upstream_stream === 'true' ||
            entry.first_token_timeout_ms !== '' ||
            entry.stall_timeout_ms !== '') && (
            <>
              <Field
                label="First token within, ms"
                value={entry.first_token_timeout_ms}
                onInput={set('first_token_timeout_ms')}
                mistake={mistakeOf('first_token_timeout_ms')}
                inputMode="numeric"
                placeholder="provider’s"
              />
              <Field
                label="Longest silence, ms"
                value={entry.stall_timeout_ms}
                onInput={set('stall_timeout_ms')}
                mistake={mistakeOf('stall_timeout_ms')}
                inputMode="numeric"
                placeholder="provider’s"
              />
            </>
          )}
          <Field
            label="Max tokens"
            value={entry.max_tokens}
            onInput={set('max_tokens')}
            mistake={mistakeOf('max_tokens')}
            inputMode="numeric"
            placeholder="caller’s"
          />
          <Field
            label="Retries"
            value={entry.retries}
            onInput={set('retries')}
            mistake={mistakeOf('retries')}
            inputMode="numeric"
            placeholder="0"
          />
          <Field
            label="Leaves out"
            value={entry.drop}
            onInput={setList('drop')}
            mistake={mistakeOf('drop')}
            placeholder="nothing"
            hint="Fields that it does not get"
          />
          <Field
            label="Sends as"
            value={entry.rename}
            onInput={setList('rename')}
            mistake={mistakeOf('rename')}
            placeholder="nothing"
            hint="Fields: seed=random_seed"
          />
          {number > 1 && (
            <Select
              label="Steps in"
              value={entry.isForTooLong ? 'context_length' : ''}
              choices={STEPS_IN}
              onChange={(when) => onChange({ ...entry, isForTooLong: when !== '' })}
            />
          )}
          {isMember && (
            <Field
              label="Weight"
              value={entry.weight}
              onInput={set('weight')}
              mistake={mistakeOf('weight')}
              inputMode="numeric"
              placeholder="1"
              hint="Its share of the requests, among those it is split with"
            />
          )}
        </div>
        {number > 1 && (
          <label class="check">
            <input
              type="checkbox"
              checked={entry.joins}
              onChange={({ currentTarget }) => onChange({ ...entry, joins: currentTarget.checked })}
            />
            Split requests with the entry before it, by weight
          </label>
        )}

        {count > 1 && (
          <div class="row">
            <span
              class="handle"
              draggable
              title="Drag it to another place, or use the buttons"
              aria-hidden="true"
              onDragStart={(event) => event.dataTransfer?.setData(DRAGGED, String(number - 1))}
            >
              ⠿
            </span>
            <button type="button" class="small" disabled={number === 1} onClick={() => onMove(-1)}>
              Earlier<span class="sr-only">: entry {number}</span>
            </button>
            <button type="button" class="small" disabled={number === count} onClick={() => onMove(1)}>
              Later<span class="sr-only">: entry {number}</span>
            </button>
            <button type="button" class="small danger" onClick={onRemove}>
              Remove<span class="sr-only"> entry {number}</span>
            </button>
          </div>
        )}
      </fieldset>
    </li>
  );
}

/** One that was taken out of the configuration still stands in its routes. */
function choicesOf(provider: string, providers: ProviderStatus[]): (readonly [string, string])[] {
  const known = providers.map(({ name }) => [name, name] as const);
  const isKnown = provider === '' || known.some(([name]) => name === provider);
  return [
    ['', 'Choose …'],
    ...known,
    ...(isKnown ? [] : [[provider, `${provider} (not configured)`] as const]),
  ];
}
