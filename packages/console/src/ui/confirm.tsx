import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { AdminClient } from '../admin-client.js';
import { Dialog } from './dialog.js';
import { Field } from './field.js';
import { explainFailure, Notice } from './small.js';
import { useAction } from './use-action.js';
import { useSubmit } from './use-submit.js';

interface ConfirmProps {
  title: string;
  /** Says what the button does. */
  verb: string;
  work(client: AdminClient): Promise<void>;
  onClose(): void;
  onDone(): void;
  /** A name that has to be typed first. */
  typed?: string;
  /** Text of the button that cancels. */
  otherwise?: string;
  children: ComponentChildren;
}

/** Asks before something that callers notice, or that cannot be undone. */
export function Confirm({
  title,
  verb,
  work,
  onClose,
  onDone,
  typed,
  otherwise = 'Keep it',
  children,
}: ConfirmProps) {
  const action = useAction();
  const [text, setText] = useState('');
  const isReady = typed === undefined || text === typed;
  const { onSubmit, shown } = useSubmit(isReady, async () => {
    if (await action.run(work)) onDone();
  });
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={onSubmit}>
        <div>{children}</div>
        {typed !== undefined && (
          <Field
            label={`Type ${typed} to confirm`}
            value={text}
            onInput={setText}
            mistake={shown(text, isReady ? undefined : `This is not ${typed}`)}
          />
        )}
        {action.error && <Notice tone="bad">{explainFailure(action.error)}</Notice>}
        <div class="dialog-end">
          <button type="button" onClick={onClose}>
            {otherwise}
          </button>
          <button type="submit" class="danger" disabled={action.busy}>
            {verb}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
