/** A form in front of the page: the browser's own dialog, which holds the focus inside and closes on Escape. */
import { type FormEvent, type ReactNode, useEffect, useId, useRef } from 'react';
import type { Action } from '../lib/use-action.ts';
import { Button, ErrorNote } from './basics.tsx';

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly onSubmit: () => void;
  /** The label of the button that submits. */
  readonly submit: string;
  /** The action of the form, with its progress and its last error. Default: an action that is done at once. */
  readonly action?: Pick<Action, 'busy' | 'error' | 'clear'>;
  readonly danger?: boolean;
  /** Offered when another member changed the record meanwhile: loads the newest version, keeps the typed text. */
  readonly onTakeNewest?: () => void;
  readonly children: ReactNode;
}

const IDLE = { busy: false, error: null, clear: () => undefined };

export function Dialog(props: DialogProps) {
  const { title, onClose, onSubmit, submit, action = IDLE, danger = false, onTakeNewest, children } = props;
  const { busy, error } = action;
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  const close = useRef(onClose);
  close.current = onClose;

  useEffect(() => {
    const element = dialog.current;
    if (!element) return undefined;
    const opener = document.activeElement;
    element.showModal();
    const first = element.querySelector<HTMLElement>(
      '[data-autofocus], .dialog-body input, .dialog-body select, .dialog-body textarea',
    );
    first?.focus();
    const onClosed = () => close.current();
    // Handles Escape before the browser does: its own closing is reported a moment later, and would then close the
    // next dialog.
    const onCancel = (event: Event) => {
      event.preventDefault();
      close.current();
    };
    element.addEventListener('close', onClosed);
    element.addEventListener('cancel', onCancel);
    return () => {
      element.removeEventListener('close', onClosed);
      element.removeEventListener('cancel', onCancel);
      element.close();
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
    };
  }, []);

  const send = (event: FormEvent) => {
    event.preventDefault();
    onSubmit();
  };
  const stale = error?.code === 'precondition_failed' && onTakeNewest;
  const takeNewest = () => {
    action.clear();
    onTakeNewest?.();
  };

  return (
    <dialog ref={dialog} aria-labelledby={heading} className="dialog">
      <form onSubmit={send}>
        <header className="dialog-head">
          <h2 id={heading}>{title}</h2>
        </header>
        <div className="dialog-body">{children}</div>
        <ErrorNote error={error}>
          {stale && (
            <p>
              What you typed is still here.{' '}
              <button type="button" className="text-button" onClick={takeNewest}>
                Take the newest version
              </button>{' '}
              and save again.
            </p>
          )}
        </ErrorNote>
        <footer className="dialog-foot">
          <Button look="quiet" onClick={onClose}>
            Close
          </Button>
          <Button type="submit" look={danger ? 'danger' : 'primary'} busy={busy}>
            {submit}
          </Button>
        </footer>
      </form>
    </dialog>
  );
}
