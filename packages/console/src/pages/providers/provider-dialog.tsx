import type { ProviderInfo } from '@sluice/shared/admin-api';
import { PRESETS_WITHOUT_TOKEN } from '@sluice/shared/contract/presets';
import { settingsOfFile } from '@sluice/shared/contract/provider-info';
import { useState } from 'preact/hooks';
import { path } from '../../admin-client.js';
import { Dialog } from '../../ui/dialog.js';
import { Field, Select } from '../../ui/field.js';
import { explainFailure, Notice } from '../../ui/small.js';
import { useAction } from '../../ui/use-action.js';
import { useSubmit } from '../../ui/use-submit.js';
import {
  addressOf,
  mistakesOf,
  needsKey,
  OTHER,
  type ProviderForm,
  partsOf,
  toForm,
  toSettings,
  withNewest,
} from './provider-form.js';

interface ProviderDialogProps {
  /** Undefined: a new one. */
  provider: ProviderInfo | undefined;
  /** One of the file, whose place the new one is to take. */
  takesOver?: ProviderInfo;
  /** The names that are taken. */
  names: readonly string[];
  onClose(): void;
  onDone(): void;
}

const PRESET_CHOICES = [
  ...PRESETS_WITHOUT_TOKEN.map((name) => [name, name] as const),
  [OTHER, 'another one, by its address'] as const,
];
const KINDS = [
  ['openai', 'OpenAI’s format'],
  ['anthropic', 'Anthropic’s format'],
] as const;

/** Adds a provider, or changes one that was added. */
export function ProviderDialog({ provider, takesOver, names, onClose, onDone }: ProviderDialogProps) {
  const [copied] = useState(() => takesOver && { ...takesOver, settings: settingsOfFile(takesOver) });
  const [first] = useState(() => toForm(copied ?? provider));
  const [form, setForm] = useState(first);
  const action = useAction();
  const hasKey = provider?.credentials === 'stored';
  const mistakes = mistakesOf(form, hasKey, !provider && names.includes(form.name));
  const { parts: partMistakes, ...fieldMistakes } = mistakes;
  const isValid = Object.keys(fieldMistakes).length + Object.keys(partMistakes).length === 0;
  const set = (field: keyof ProviderForm) => (text: string) => setForm({ ...form, [field]: text.trim() });
  const choosePreset = (preset: string) =>
    setForm({
      ...form,
      preset,
      name: provider || takesOver || form.name !== form.preset ? form.name : preset,
      address: '',
      parts: Object.fromEntries(partsOf(preset).map((part) => [part, ''])),
    });
  const { onSubmit, isTried, shown } = useSubmit(isValid, async () => {
    const done = await action.run(async (client) => {
      const settings = toSettings(
        takesOver ? form : withNewest(form, first, toForm(provider)),
        (form.preset === first.preset ? copied : undefined)?.settings ?? provider?.settings ?? {},
      );
      const query = takesOver ? '?take_over=true' : '';
      await client.send('PUT', path`/providers/${form.name}` + query, settings);
    });
    if (done) onDone();
  });
  return (
    <Dialog
      title={
        takesOver ? `Take over ${takesOver.name}` : provider ? `Change ${provider.name}` : 'Add a provider'
      }
      onClose={onClose}
    >
      <form onSubmit={onSubmit} noValidate>
        {takesOver && (
          <p>
            It is stored here, with its key, and waits. As soon as you take <b>{takesOver.name}</b> out of
            gateway.yaml it is in force, and it is changed here from then on. No call fails meanwhile. The
            file’s key is not known here: enter it once.
          </p>
        )}
        <div class="grid">
          <Select label="Provider" value={form.preset} choices={PRESET_CHOICES} onChange={choosePreset} />
          {!provider && !takesOver && (
            <Field
              label="Name"
              value={form.name}
              onInput={set('name')}
              mistake={shown(form.name, mistakes.name)}
              hint="The name that routes use"
            />
          )}
          {form.preset === OTHER && (
            <Select label="Format" value={form.kind} choices={KINDS} onChange={set('kind')} />
          )}
          {Object.entries(form.parts).map(([part, text]) => (
            <Field
              key={part}
              label={part === 'resource' ? 'Resource' : 'Region'}
              value={text}
              onInput={(next) => setForm({ ...form, parts: { ...form.parts, [part]: next.trim() } })}
              mistake={shown(text, partMistakes[part])}
              hint={`The {${part}} of the address below`}
            />
          ))}
          <Field
            label="Base address"
            value={form.address}
            onInput={set('address')}
            mistake={shown(form.address, mistakes.address)}
            hint={form.preset === OTHER ? 'Mostly ends in /v1' : 'Empty: the usual one'}
            placeholder={addressOf(form.preset)}
          />
          <Field
            label="Key"
            type="password"
            value={form.key}
            onInput={set('key')}
            mistake={shown(form.key, mistakes.key)}
            hint={
              provider && provider.keys.length > 0
                ? 'Empty: the stored keys stay, while the address stays the same. A key here replaces all of them'
                : hasKey
                  ? 'Empty: the stored key stays, while the address stays the same'
                  : needsKey(form.preset)
                    ? 'It is stored encrypted, and never shown again'
                    : 'Empty: it is called without a key'
            }
          />
          <Field
            label="Calls at a time"
            value={form.concurrency}
            onInput={set('concurrency')}
            mistake={mistakes.concurrency}
            hint="Over all workers; empty: as many as the provider is found to take"
            inputMode="numeric"
          />
          <Field
            label="Requests a minute"
            value={form.requests}
            onInput={set('requests')}
            mistake={mistakes.requests}
            hint="Further ones wait; empty: no limit"
            inputMode="numeric"
          />
          <Field
            label="Tokens a minute"
            value={form.tokens}
            onInput={set('tokens')}
            mistake={mistakes.tokens}
            hint="Empty: no limit"
            inputMode="numeric"
          />
        </div>
        {isTried && !isValid && <Notice tone="warn">Correct the marked fields first.</Notice>}
        {action.error && <Notice tone="bad">{explainFailure(action.error)}</Notice>}
        <div class="dialog-end">
          <button type="submit" class="primary" disabled={action.busy}>
            {takesOver ? 'Take it over' : provider ? 'Save the provider' : 'Add the provider'}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
