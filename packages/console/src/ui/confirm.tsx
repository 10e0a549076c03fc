import type { ComponentChildren } from 'preact';
import type { AdminClient } from '../admin-client.js';
import { Dialog } from './dialog.js';
import { explainFailure, Notice } from './small.js';
import { useAction } from './use-action.js';

interface ConfirmProps {
  title: string;
  /** Says what the button does. */
  verb: string;
  work(client: AdminClient): Promise<void>;
  onClose(): void;
  onDone(): void;
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
  otherwise = 'Keep it',
  children,
}: ConfirmProps) {
  const action = useAction();
  const confirm = async (event: Event) => {
    event.preventDefault();
    if (await action.run(work)) onDone();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={confirm}>
        <p>{children}</p>
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
