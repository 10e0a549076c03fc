/** The small pieces that every page uses. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { AdminError } from '../admin-client.js';
import type { Polled } from '../use-poll.js';

export type Tone = 'good' | 'warn' | 'bad' | 'quiet' | 'info';

export function Badge({
  tone = 'quiet',
  title,
  children,
}: {
  tone?: Tone;
  title?: string;
  children: ComponentChildren;
}) {
  return (
    <span class={`badge ${tone}`} title={title}>
      {children}
    </span>
  );
}

export function Notice({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  return (
    <div class={`notice ${tone}`} role={tone === 'bad' ? 'alert' : 'status'}>
      {children}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children && <p class="muted">{children}</p>}
    </div>
  );
}

/** Stands in place of data that is missing or still loading. */
export function Waiting({ polled: { error } }: { polled: Polled<unknown> }) {
  return error ? <Notice tone="bad">{explain(error)}</Notice> : <Loading />;
}

export function Loading() {
  return (
    <div class="loading" role="status">
      <p class="muted">Loading …</p>
      <i />
      <i />
      <i />
    </div>
  );
}

export function explain(error: AdminError): string {
  if (error.code === 'unreachable') return 'The gateway does not answer. This page tries again by itself.';
  if (error.code === 'service_unavailable')
    return 'The gateway cannot reach its Redis at the moment. This page tries again by itself.';
  if (error.status >= 500)
    return `This could not be loaded: ${error.message} This page tries again by itself.`;
  return error.message;
}

/** Explains why an action failed. The page does not repeat it, and it may have been done nevertheless. */
export function explainFailure(error: AdminError): string {
  if (error.code === 'unreachable')
    return 'The gateway did not answer: this may or may not have been done. Check before you try again.';
  if (error.code === 'service_unavailable')
    return 'The gateway cannot reach its Redis at the moment: this may or may not have been done. Try again in a while.';
  return error.message;
}

interface CopyProps {
  text: string;
  label?: string;
  onCopied?(): void;
}

export function CopyButton({ text, label = 'Copy', onCopied }: CopyProps) {
  const [copied, setCopied] = useState<boolean | undefined>();
  useEffect(() => {
    const timer = setTimeout(() => setCopied(undefined), 2_000);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => {
        setCopied(true);
        onCopied?.();
      },
      () => setCopied(false),
    );
  return (
    <button type="button" class="small" onClick={copy}>
      <span aria-live="polite">
        {copied === undefined ? label : copied ? 'Copied' : 'Not allowed: select it'}
      </span>
    </button>
  );
}

interface ChoiceProps<T extends string> {
  label: string;
  value: T;
  choices: readonly (readonly [value: T, text: string])[];
  onChange(value: T): void;
}

/** One of a few, all in sight. */
export function Choice<T extends string>({ label, value, choices, onChange }: ChoiceProps<T>) {
  return (
    <fieldset class="choice">
      <legend class="sr-only">{label}</legend>
      {choices.map(([each, text]) => (
        <label key={each} class={each === value ? 'chosen' : ''}>
          <input type="radio" name={label} checked={each === value} onChange={() => onChange(each)} />
          {text}
        </label>
      ))}
    </fieldset>
  );
}

/** How much of a whole, drawn; the numbers stand beside it. */
export function Bar({ value, max, tone = 'info' }: { value: number; max: number; tone?: Tone }) {
  const share = max > 0 ? Math.min(1, value / max) : 0;
  return (
    <div class="share" aria-hidden="true">
      <div class={tone} style={{ width: `${(100 * share).toFixed(1)}%` }} />
    </div>
  );
}
