import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';

interface DialogProps {
  title: string;
  onClose(): void;
  children: ComponentChildren;
  /** At the side, over the page's whole height. */
  side?: boolean;
  /** Over most of the page. */
  wide?: boolean;
}

/** The browser's own modal: it keeps the focus inside and closes on Escape. The focus goes back to where it was. */
export function Dialog({ title, onClose, children, side = false, wide = false }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  // The dialog opens as soon as it is drawn. Until then, what is typed would go to the page below.
  useLayoutEffect(() => {
    const opener = document.activeElement;
    dialog.current?.showModal();
    return () => queueMicrotask(() => giveFocusBack(opener));
  }, []);
  return (
    <dialog ref={dialog} class={side ? 'side' : wide ? 'wide' : ''} aria-labelledby={id} onClose={onClose}>
      <div class="dialog-head">
        <h2 id={id}>{title}</h2>
        <button type="button" class="quiet" aria-label="Close" onClick={() => dialog.current?.close()}>
          ✕
        </button>
      </div>
      {children}
    </dialog>
  );
}

/** The browser does it for a dialog that is closed, and not for one that is taken away, as after its work is done. */
function giveFocusBack(opener: Element | null): void {
  if (document.activeElement !== document.body) return;
  const place = opener?.isConnected && opener !== document.body ? opener : document.getElementById('main');
  if (place instanceof HTMLElement) place.focus({ preventScroll: true });
}
