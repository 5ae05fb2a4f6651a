/** The small parts: links, buttons, icons, states. */
import { type ComponentProps, type ReactNode, useEffect, useRef } from 'react';
import { type Refusal, signInAddress } from '../lib/api.ts';
import { t } from '../lib/language.ts';
import { navigate } from '../lib/router.ts';

export function Link({ to, ...props }: { readonly to: string } & ComponentProps<'a'>) {
  return (
    <a
      {...props}
      href={to}
      onClick={(event) => {
        props.onClick?.(event);
        const isPlain =
          event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
        if (!isPlain || event.defaultPrevented) return;
        event.preventDefault();
        navigate(to);
      }}
    />
  );
}

type Look = 'main' | 'plain' | 'quiet' | 'danger';

export function Button({
  look = 'plain',
  busy = false,
  className = '',
  ...props
}: { readonly look?: Look; readonly busy?: boolean } & ComponentProps<'button'>) {
  return (
    <button
      type="button"
      {...props}
      className={`button ${look} ${className}`}
      aria-disabled={busy || undefined}
      onClick={busy ? (event) => event.preventDefault() : props.onClick}
    />
  );
}

const PATHS = {
  search: 'M11 4a7 7 0 1 1-4.9 12L3 19M16 16l5 5M11 4a7 7 0 0 1 4.9 12',
  plus: 'M12 5v14M5 12h14',
  menu: 'M4 7h16M4 12h16M4 17h16',
  up: 'M6 14l6-6 6 6',
  down: 'M6 10l6 6 6-6',
  left: 'M14 6l-6 6 6 6',
  right: 'M10 6l6 6-6 6',
  close: 'M6 6l12 12M18 6L6 18',
  file: 'M6 3h8l4 4v14H6zM14 3v4h4',
  check: 'M5 12l5 5 9-10',
  columns: 'M4 5h16v14H4zM10 5v14M15 5v14',
  save: 'M12 4v11M7 11l5 5 5-5M5 20h14',
  load: 'M12 16V5M7 9l5-5 5 5M5 20h14',
  box: 'M4 4h16v5H4zM6 9v11h12V9M10 13h4',
} as const;

export function Icon({ name }: { readonly name: keyof typeof PATHS }) {
  const path =
    name === 'search' ? 'M17 10.5a6.5 6.5 0 1 1-13 0 6.5 6.5 0 0 1 13 0zM15.5 15.5L21 21' : PATHS[name];
  return (
    <svg className="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={path} />
    </svg>
  );
}

/** The heading of a page takes the focus when the page is new, so that it is read out and the keyboard begins there. */
export function Title({ children }: { readonly children: ReactNode }) {
  const element = useRef<HTMLHeadingElement>(null);
  useEffect(() => element.current?.focus({ preventScroll: true }), []);
  return (
    <h1 tabIndex={-1} ref={element}>
      {children}
    </h1>
  );
}

/** A refusal with what to do about it. */
export function RefusalNote({ refusal, retry }: { readonly refusal: Refusal; readonly retry?: () => void }) {
  const isSignedOut = refusal.problem.status === 401;
  return (
    <div className="note bad" role="alert">
      <p>{isSignedOut ? t.signedOut : refusal.message}</p>
      {isSignedOut ? (
        <a className="button plain" href={signInAddress()} target="_blank" rel="noopener">
          {t.signIn}
        </a>
      ) : (
        retry && <Button onClick={retry}>{t.retry}</Button>
      )}
    </div>
  );
}

export function Empty({
  title,
  what,
  children,
}: {
  readonly title: string;
  readonly what: string;
  readonly children?: ReactNode;
}) {
  return (
    <div className="empty">
      <p className="empty-title">{title}</p>
      <p>{what}</p>
      {children && <div className="row centred">{children}</div>}
    </div>
  );
}
