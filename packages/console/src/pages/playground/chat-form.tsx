import type { DirectoryOverview, ModelOffer } from '@sluice/shared/admin-api';
import { useMemo } from 'preact/hooks';
import { Field } from '../../ui/field.js';
import { Pick } from '../../ui/pick.js';
import { useSubmit } from '../../ui/use-submit.js';
import type { ChatDraft } from './chat-draft.js';

interface ChatFormProps {
  draft: ChatDraft;
  mistake: { field: string; text: string } | undefined;
  directory: DirectoryOverview;
  catalogue: ModelOffer;
  busy: boolean;
  onChange(draft: ChatDraft): void;
  onSend(): void;
}

export function ChatForm({ draft, mistake, directory, catalogue, busy, onChange, onSend }: ChatFormProps) {
  const set = (field: keyof ChatDraft) => (value: string) => onChange({ ...draft, [field]: value });
  const workspaces = useMemo(() => directory.workspaces.map(({ id }) => id), [directory]);
  const aliases = directory.routes
    .filter(({ workspace }) => workspace === draft.workspace)
    .map(({ id }) => id);
  const { onSubmit: send, isTried } = useSubmit(!mistake, onSend);
  /** What is missing is not called wrong before somebody wants to send. */
  const shown = (field: keyof ChatDraft) =>
    mistake?.field === field && (draft[field] !== '' || isTried) ? mistake.text : undefined;
  const sendOnKey = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) send(event);
  };
  return (
    <form class="stack" onSubmit={send} noValidate>
      <div class="grid">
        <Pick label="Workspace" value={draft.workspace} values={workspaces} onChange={set('workspace')} />
        <Field
          label="Route or model"
          value={draft.model}
          onInput={set('model')}
          mistake={shown('model')}
          list="playground-models"
        />
        <Field
          label="Compare with"
          value={draft.other}
          onInput={set('other')}
          list="playground-models"
          placeholder="none"
          hint="Gets the same question"
        />
        <datalist id="playground-models">
          {aliases.map((id) => (
            <option key={id} value={id} label={`${id} (route)`} />
          ))}
          {catalogue.data.map(({ id }) => (
            <option key={id} value={id} />
          ))}
        </datalist>
        <Field
          label="Temperature"
          value={draft.temperature}
          onInput={set('temperature')}
          mistake={shown('temperature')}
          inputMode="decimal"
          placeholder="model’s"
        />
        <Field
          label="Max tokens"
          value={draft.maxTokens}
          onInput={set('maxTokens')}
          mistake={shown('maxTokens')}
          inputMode="numeric"
          placeholder="model’s"
        />
      </div>
      <div class="field">
        <label for="playground-system">System prompt</label>
        <textarea
          id="playground-system"
          rows={2}
          value={draft.system}
          onInput={(event) => set('system')(event.currentTarget.value)}
        />
      </div>
      <div class="field">
        <label for="playground-text">Message</label>
        <textarea
          id="playground-text"
          rows={5}
          value={draft.text}
          placeholder="Say hello."
          onInput={(event) => set('text')(event.currentTarget.value)}
          onKeyDown={sendOnKey}
          aria-invalid={shown('text') !== undefined}
          aria-describedby="playground-text-note"
        />
        <p id="playground-text-note" class="mistake">
          {shown('text')}
        </p>
      </div>
      <div class="dialog-end">
        <span class="hint">Ctrl+Enter sends</span>
        <button type="submit" class="primary" disabled={busy}>
          {busy ? 'Waiting …' : 'Send'}
        </button>
      </div>
    </form>
  );
}
