import type { ProviderInfo } from '@sluice/shared/admin-api';
import { useState } from 'preact/hooks';
import { path } from '../../admin-client.js';
import { Dialog } from '../../ui/dialog.js';
import { Field } from '../../ui/field.js';
import { explainFailure, Notice } from '../../ui/small.js';
import { useAction } from '../../ui/use-action.js';
import { useSubmit } from '../../ui/use-submit.js';
import { type KeyForm, keyMistakes, toKeyBody, toKeyForm } from './key-form.js';

interface KeyDialogProps {
  provider: ProviderInfo;
  /** Replaces the only key, adds one, or changes the one of this name. */
  use: 'only' | 'new' | { name: string };
  onClose(): void;
  onDone(): void;
}

/** A key of an added provider. It is written, and never shown. */
export function KeyDialog({ provider, use, onClose, onDone }: KeyDialogProps) {
  const { name, keys, credentials } = provider;
  const isNew = use === 'new';
  const stored = typeof use === 'object' ? use.name : undefined;
  const hasOnlyKey = credentials === 'stored' && keys.length === 0;
  const [first] = useState(() => toKeyForm(provider, stored));
  const [form, setForm] = useState(first);
  const action = useAction();
  const taken = hasOnlyKey ? ['default'] : keys.map((key) => key.name);
  const mistakes = keyMistakes(form, isNew, taken);
  if (use === 'only' && form.key === '') mistakes.key = 'The key is missing';
  const isValid = Object.keys(mistakes).length === 0;
  const set = (field: keyof KeyForm) => (text: string) => setForm({ ...form, [field]: text.trim() });
  const { onSubmit, isTried, shown } = useSubmit(isValid, async () => {
    const done = await action.run(async (client) => {
      if (use === 'only') await client.send('PUT', path`/providers/${name}/key`, { api_key: form.key });
      else
        await client.send(
          'PUT',
          path`/providers/${name}/keys/${form.name}`,
          toKeyBody(form, first, provider),
        );
    });
    if (done) onDone();
  });
  return (
    <Dialog
      title={
        use === 'only'
          ? `Replace the key of ${name}`
          : isNew
            ? `Add a key to ${name}`
            : `Key ${stored} of ${name}`
      }
      onClose={onClose}
    >
      <form onSubmit={onSubmit} noValidate>
        {isNew && hasOnlyKey && <p>The key that {name} has now is named default from then on.</p>}
        {isNew && (
          <Field
            label="Name"
            value={form.name}
            onInput={set('name')}
            mistake={shown(form.name, mistakes.name)}
            hint="Small letters, digits, - and _"
            autoFocus
          />
        )}
        <Field
          label={isNew ? 'Key' : 'New key'}
          type="password"
          value={form.key}
          onInput={set('key')}
          mistake={shown(form.key, mistakes.key)}
          hint={keyHint(use)}
          autoFocus={!isNew}
        />
        {use !== 'only' && (
          <div class="grid">
            <Field
              label="Weight"
              value={form.weight}
              onInput={set('weight')}
              mistake={mistakes.weight}
              hint="Its share of the calls; empty: the least busy key is taken"
              inputMode="numeric"
            />
            <Field
              label="Requests a minute"
              value={form.requests}
              onInput={set('requests')}
              mistake={mistakes.requests}
              hint="Further ones take another key; empty: no limit"
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
        )}
        {isTried && !isValid && <Notice tone="warn">Correct the marked fields first.</Notice>}
        {action.error && <Notice tone="bad">{explainFailure(action.error)}</Notice>}
        <div class="dialog-end">
          <button type="submit" class="primary" disabled={action.busy}>
            {use === 'only' ? 'Replace the key' : isNew ? 'Add the key' : 'Save the key'}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function keyHint(use: KeyDialogProps['use']): string {
  if (use === 'new') return 'It is stored encrypted, and never shown again';
  const old = 'Calls under way end with the old key. Revoke that one at the provider a minute later';
  return use === 'only' ? old : `Empty: it stays. ${old}`;
}
