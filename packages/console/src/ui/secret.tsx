import { useState } from 'preact/hooks';
import { CopyButton, Notice } from './small.js';

interface SecretProps {
  /** `key` or `token`. */
  what: string;
  value: string;
  onClose(): void;
}

/** A value that can be seen only this once. It says Done only when it was copied. */
export function Secret({ what, value, onClose }: SecretProps) {
  const [isCopied, setCopied] = useState(false);
  return (
    <div class="stack">
      <Notice tone="good">This is the {what}. Copy it now: it is shown only this once.</Notice>
      <p class="secret">
        <code>{value}</code>
      </p>
      <div class="dialog-end">
        <CopyButton text={value} label={`Copy the ${what}`} onCopied={() => setCopied(true)} />
        <button type="button" class={isCopied ? 'primary' : ''} onClick={onClose}>
          {isCopied ? 'Done' : 'Close without a copy'}
        </button>
      </div>
    </div>
  );
}
