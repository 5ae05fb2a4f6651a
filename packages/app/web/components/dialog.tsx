/** A dialog of the browser's own: it keeps the focus within, closes by Escape, and gives the focus back. */
import { type ReactNode, useEffect, useId, useRef } from 'react';
import { t } from '../lib/language.ts';
import { Button, Icon } from './basics.tsx';

export function Dialog({
  title,
  onClose,
  children,
}: {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
}) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = element.current;
    if (dialog && !dialog.open) dialog.showModal();
  }, []);
  return (
    <dialog ref={element} aria-labelledby={id} onClose={onClose}>
      <div className="dialog-head">
        <h2 id={id}>{title}</h2>
        <Button look="quiet" className="square" aria-label={t.close} onClick={() => element.current?.close()}>
          <Icon name="close" />
        </Button>
      </div>
      {children}
    </dialog>
  );
}
