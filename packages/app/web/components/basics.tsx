/** The small parts: links, buttons, icons, states. */
import { type ComponentProps, type ReactNode, useEffect, useRef } from 'react';
import type { DeclaredKind } from '../../src/wire/declared.ts';
import { type Refusal, signInAddress } from '../lib/api.ts';
import { useApp } from '../lib/app-context.tsx';
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
  search: 'M17 10.5a6.5 6.5 0 1 1-13 0 6.5 6.5 0 0 1 13 0zM15.5 15.5L21 21',
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
  return (
    <svg className="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

/** The way from a page to the one above it. Default: the list. */
export function Crumbs({
  kind: { page, several },
  to = page,
  name = several,
}: {
  readonly kind: DeclaredKind;
  readonly to?: string;
  readonly name?: string;
}) {
  return (
    <nav aria-label={several} className="crumbs">
      <Link to={to}>
        <Icon name="left" />
        {name}
      </Link>
    </nav>
  );
}

/**
 * The heading of a page, which is the title of the window, with its buttons. It takes the focus when the page is new, so that it is read out and the keyboard
 * begins there.
 */
export function PageHead({ title, children }: { readonly title: string; readonly children?: ReactNode }) {
  const element = useRef<HTMLHeadingElement>(null);
  const { business } = useApp().around;
  useEffect(() => element.current?.focus({ preventScroll: true }), []);
  useEffect(() => {
    if (title !== business) document.title = `${title} · ${business}`;
    return () => {
      document.title = business;
    };
  }, [title, business]);
  return (
    <header className="page-head">
      <h1 tabIndex={-1} ref={element}>
        {title}
      </h1>
      {children && <div className="row">{children}</div>}
    </header>
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
