/** Decides what to show: the welcome of a person who is not a member, or the page of the address. */
import { type ReactNode, useEffect, useRef } from 'react';
import { AnnounceProvider } from './components/announce.tsx';
import { EmptyState, LoadError, Skeleton } from './components/basics.tsx';
import { ErrorBoundary } from './components/error-boundary.tsx';
import { Link } from './components/link.tsx';
import { matchPath, useAddress } from './lib/router.ts';
import { SessionProvider, useMe } from './lib/session.tsx';
import { findLink, forgetLink, keepLink } from './lib/sign-in-link.ts';
import { forgetAll } from './lib/use-load.ts';
import { AccountPage } from './pages/account-page.tsx';
import { CustomerPage, CustomersPage } from './pages/customers-page.tsx';
import { InvoicesPage } from './pages/invoices-page.tsx';
import { OrderPage } from './pages/order-page.tsx';
import { OrdersPage } from './pages/orders-page.tsx';
import { RequestsPage } from './pages/requests-page.tsx';
import { TeamPage } from './pages/team-page.tsx';
import { WelcomePage } from './pages/welcome-page.tsx';
import { Shell } from './shell.tsx';

export function App() {
  const me = useMe();
  const { path, query } = useAddress();
  const isIn = me.data?.status === 'member';
  const link = findLink(query, { isIn });
  const kind = link?.kind;
  const token = link?.token;
  const isSignedOut = me.data?.status === 'signed_out';

  // Signing in leads back to this address, but not every way there does.
  useEffect(() => {
    if (kind && token && isSignedOut) keepLink({ kind, token });
  }, [kind, token, isSignedOut]);

  useEffect(() => {
    if (isIn) forgetLink();
  }, [isIn]);

  if (!me.data) {
    return (
      <main className="welcome" id="main">
        <div className="welcome-card">
          {me.error ? <LoadError error={me.error} retry={me.reload} /> : <Skeleton label="Loading" />}
        </div>
      </main>
    );
  }
  const entered = () => {
    forgetAll();
    me.reload();
  };
  if (me.data.status === 'stranger' && path === '/account' && !link) {
    return (
      <AnnounceProvider>
        <SessionProvider me={me.data} reload={me.reload}>
          <Alone>
            <AccountPage />
          </Alone>
        </SessionProvider>
      </AnnounceProvider>
    );
  }
  if (me.data.status !== 'member' || link)
    return <WelcomePage me={me.data} link={link} onEntered={entered} />;
  return (
    <AnnounceProvider>
      <SessionProvider me={me.data} reload={me.reload}>
        <Shell>
          <ErrorBoundary key={path}>{pageAt(path)}</ErrorBoundary>
        </Shell>
      </SessionProvider>
    </AnnounceProvider>
  );
}

/** A page without the way around that members have. It takes the focus from the link that led here. */
function Alone({ children }: { children: ReactNode }) {
  const main = useRef<HTMLElement>(null);
  useEffect(() => main.current?.focus({ preventScroll: true }), []);
  return (
    <main id="main" ref={main} tabIndex={-1}>
      {children}
    </main>
  );
}

function pageAt(path: string): ReactNode {
  const order = matchPath('/orders/:id', path)?.id;
  if (order) return <OrderPage key={order} id={order} />;
  const customer = matchPath('/customers/:id', path)?.id;
  if (customer) return <CustomerPage key={customer} id={customer} />;
  if (path === '/' || path === '/orders') return <OrdersPage />;
  if (path === '/customers') return <CustomersPage />;
  if (path === '/requests') return <RequestsPage />;
  if (path === '/invoices') return <InvoicesPage />;
  if (path === '/team') return <TeamPage />;
  if (path === '/account') return <AccountPage />;
  return (
    <div className="page">
      <EmptyState icon="flag" title="There is no such page">
        <p>The address may be old, or mistyped.</p>
        <Link className="button button-plain" href="/">
          Show the orders
        </Link>
      </EmptyState>
    </div>
  );
}
