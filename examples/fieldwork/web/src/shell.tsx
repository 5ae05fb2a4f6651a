/** The frame of every page of a member: navigation, and the account. */
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { Avatar, Button } from './components/basics.tsx';
import { Icon, type IconName, Mark } from './components/icon.tsx';
import { Link } from './components/link.tsx';
import { SIGN_OUT_HERE, SignOutEverywhere } from './components/sign-out.tsx';
import { NewOrder } from './dialogs/new-order.tsx';
import { useAddress } from './lib/router.ts';
import { useSession } from './lib/session.tsx';
import { useShortcut } from './lib/use-shortcut.ts';

export function Shell({ children }: { children: ReactNode }) {
  const { me, can } = useSession();
  const { path } = useAddress();
  const [opening, setOpening] = useState(false);
  const mayOpen = can('order.create');
  useShortcut('n', () => setOpening(true), mayOpen);

  // A screen reader is moved to the new page; not for the first page, which the reader opened.
  const main = useRef<HTMLElement>(null);
  const shownPath = useRef(path);
  useEffect(() => {
    if (shownPath.current === path) return;
    shownPath.current = path;
    main.current?.focus({ preventScroll: true });
  }, [path]);

  const places: readonly {
    readonly href: string;
    readonly name: string;
    readonly icon: IconName;
    readonly shown: boolean;
  }[] = [
    { href: '/', name: 'Orders', icon: 'clipboard', shown: true },
    { href: '/customers', name: 'Customers', icon: 'people', shown: can('customer.read') },
    { href: '/requests', name: 'Requests', icon: 'mail', shown: can('request.read') },
    { href: '/invoices', name: 'Invoices', icon: 'receipt', shown: can('invoice.read') },
    { href: '/team', name: 'Team', icon: 'person', shown: true },
  ];
  const isHere = (href: string) =>
    href === '/' ? path === '/' || path.startsWith('/orders') : path.startsWith(href);

  return (
    <>
      <a className="skip" href="#main">
        Skip to the content
      </a>
      <header className="bar">
        <Link href="/" className="brand" aria-label={`${me.business}, all orders`}>
          <Mark />
          <span>{me.business}</span>
        </Link>
        <nav className="places" aria-label="Main">
          {places
            .filter((place) => place.shown)
            .map(({ href, name, icon }) => (
              <Link key={href} href={href} aria-current={isHere(href) ? 'page' : undefined}>
                <Icon name={icon} />
                <span>{name}</span>
              </Link>
            ))}
        </nav>
        {mayOpen && (
          <Button
            look="primary"
            icon="plus"
            className="new-order"
            aria-keyshortcuts="n"
            onClick={() => setOpening(true)}
          >
            New order
          </Button>
        )}
        <AccountMenu />
      </header>
      <main id="main" ref={main} tabIndex={-1}>
        {children}
      </main>
      {opening && <NewOrder onClose={() => setOpening(false)} />}
    </>
  );
}

function AccountMenu() {
  const { me } = useSession();
  const { path } = useAddress();
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const name = me.subject?.name ?? me.subject?.email ?? 'You';

  // The focus must not go down with the menu. A new page takes it from the button.
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };

  useEffect(() => {
    if (!open) return undefined;
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== 'Escape') return;
      setOpen(false);
      button.current?.focus();
    };
    const onPress = (event: PointerEvent) => {
      if (!box.current?.contains(event.target as Node)) setOpen(false);
    };
    addEventListener('keydown', onKey);
    addEventListener('pointerdown', onPress);
    return () => {
      removeEventListener('keydown', onKey);
      removeEventListener('pointerdown', onPress);
    };
  }, [open]);

  return (
    <div className="account" ref={box}>
      <button
        type="button"
        ref={button}
        className="account-button"
        aria-expanded={open}
        aria-controls="account-menu"
        aria-label={`Account of ${name}`}
        onClick={() => setOpen(!open)}
      >
        <Avatar principal={me.principal ?? ''} name={name} />
        <Icon name="down" />
      </button>
      {open && (
        <div className="account-menu" id="account-menu">
          <p className="account-who">
            <strong>{name}</strong>
            {me.subject?.email && <span>{me.subject.email}</span>}
            <span>{me.roles.map((role) => role.name).join(', ')}</span>
          </p>
          <Link href="/account" aria-current={path === '/account' ? 'page' : undefined} onClick={close}>
            <Icon name="person" /> <span>Your account</span>
          </Link>
          <a href={SIGN_OUT_HERE}>
            <Icon name="exit" /> <span>Sign out</span>
          </a>
          <SignOutEverywhere me={me}>
            <Icon name="exit" /> <span>Sign out everywhere</span>
          </SignOutEverywhere>
        </div>
      )}
    </div>
  );
}
