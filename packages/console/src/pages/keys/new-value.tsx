import type { IssuedKey } from '@sluice/shared/admin-api';
import { CopyButton, Notice } from '../../ui/small.js';

/** A key's value, the only time that it can be seen. */
export function NewValue({ issued, onClose }: { issued: IssuedKey; onClose(): void }) {
  return (
    <div class="stack">
      <Notice tone="good">This is the key. Copy it now: it is shown only this once.</Notice>
      <p class="secret">
        <code>{issued.value}</code>
      </p>
      <div class="dialog-end">
        <CopyButton text={issued.value ?? ''} label="Copy the key" />
        <button type="button" class="primary" onClick={onClose}>
          Done
        </button>
      </div>
    </div>
  );
}
