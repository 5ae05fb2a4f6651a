/** The customers, and one of them with their sites and orders. */
import { useEffect, useState } from 'react';
import {
  Badge,
  Button,
  Card,
  EmptyState,
  LoadError,
  PageError,
  PageHead,
  Skeleton,
  StateBadge,
} from '../components/basics.tsx';
import { Icon } from '../components/icon.tsx';
import { Link } from '../components/link.tsx';
import { LoadedPages, Pages } from '../components/pages.tsx';
import { CustomerForm, SiteForm } from '../dialogs/customer-forms.tsx';
import { EraseCustomer } from '../dialogs/erase-customer.tsx';
import { NewOrder } from '../dialogs/new-order.tsx';
import { type Answer, type Customer, call, type Site } from '../lib/api.ts';
import { formatMoment, formatSpan } from '../lib/format.ts';
import { goTo, useAddress, withQuery } from '../lib/router.ts';
import { useSession } from '../lib/session.tsx';
import { useLoad } from '../lib/use-load.ts';
import { useShortcut } from '../lib/use-shortcut.ts';
import { CustomerHistory } from './customer-history.tsx';

const PAGE_SIZE = 50;

export function CustomersPage() {
  const { can } = useSession();
  const { query } = useAddress();
  const q = query.get('q') ?? '';
  const [adding, setAdding] = useState(false);
  const customers = useLoad(
    `customers ${q}`,
    async (signal) => (await call('customer/list', { q, limit: PAGE_SIZE }, { signal })).value,
  );
  useShortcut('/', () => document.querySelector<HTMLInputElement>('#customer-search')?.focus());
  useEffect(() => {
    document.title = 'Customers · Fieldwork';
  }, []);

  return (
    <div className="page">
      <PageHead title="Customers">
        {can('customer.write') && (
          <Button icon="plus" onClick={() => setAdding(true)}>
            New customer
          </Button>
        )}
      </PageHead>
      <search className="search">
        <Icon name="search" />
        <input
          id="customer-search"
          type="search"
          aria-label="Search customers"
          placeholder="Name, phone or e-mail"
          defaultValue={q}
          onChange={(event) => goTo(withQuery({ q: event.target.value }), 'replace')}
        />
      </search>
      <LoadedPages
        key={q}
        name="customers"
        loaded={customers}
        more={async (cursor) => (await call('customer/list', { q, limit: PAGE_SIZE, cursor })).value}
        empty={
          <EmptyState icon="people" title={q ? `No customer found for “${q}”` : 'No customers yet'}>
            <p>{q ? 'Try a part of the name.' : 'Add one here, or on the way when you open an order.'}</p>
            {!q && can('customer.write') && (
              <Button look="primary" icon="plus" onClick={() => setAdding(true)}>
                Add a customer
              </Button>
            )}
          </EmptyState>
        }
      >
        {(items) => (
          <ul className="rows">
            {items.map((customer) => (
              <li key={customer.id}>
                <Link href={`/customers/${customer.id}`} className="row">
                  <span className="row-main">
                    <strong>{customer.name}</strong>
                    <small>{[customer.phone, customer.email].filter(Boolean).join(' · ')}</small>
                  </span>
                  {customer.openOrders > 0 && (
                    <Badge>
                      {customer.openOrders === 1 ? '1 open order' : `${customer.openOrders} open orders`}
                    </Badge>
                  )}
                  <span className="row-when">
                    {customer.sites === 1 ? '1 site' : `${customer.sites} sites`}
                  </span>
                </Link>
              </li>
            ))}
          </ul>
        )}
      </LoadedPages>
      {adding && (
        <CustomerForm
          onClose={() => setAdding(false)}
          onDone={({ value }) => {
            setAdding(false);
            goTo(`/customers/${value.id}`);
          }}
        />
      )}
    </div>
  );
}

export function CustomerPage({ id }: { id: string }) {
  const { can } = useSession();
  const loaded = useLoad<Answer<Customer>>(`customer ${id}`, (signal) =>
    call('customer/get', { customer: id }, { signal }),
  );
  const sites = useLoad(
    `sites ${id}`,
    async (signal) => (await call('site/list', { customer: id, limit: 200 }, { signal })).value.items,
  );
  const orders = useLoad(
    `orders of ${id}`,
    async (signal) => (await call('order/list', { customer: id, limit: PAGE_SIZE }, { signal })).value,
  );
  const [editing, setEditing] = useState(false);
  const [ordering, setOrdering] = useState(false);
  const [erasing, setErasing] = useState(false);
  const [site, setSite] = useState<Answer<Site> | 'new' | null>(null);
  const customer = loaded.data?.value;
  const name = customer?.name;
  useEffect(() => {
    if (name) document.title = `${name} · Fieldwork`;
  }, [name]);

  const back = (
    <Link href="/customers" className="back">
      <Icon name="arrow" /> All customers
    </Link>
  );
  if (!customer) {
    return (
      <div className="page">
        {back}
        {loaded.error ? (
          <PageError error={loaded.error} retry={loaded.reload} />
        ) : (
          <Skeleton lines={5} label="Loading the customer" />
        )}
      </div>
    );
  }
  const isErased = customer.erasedAt !== null;
  return (
    <div className="page">
      {back}
      <PageHead
        title={customer.name}
        {...(customer.erasedAt !== null && {
          lead: `${formatMoment(customer.erasedAt)}: what was known about this customer was erased.`,
        })}
      >
        {can('order.create') && !isErased && (
          <Button icon="plus" onClick={() => setOrdering(true)}>
            Open an order
          </Button>
        )}
        {can('customer.write') && !isErased && (
          <Button icon="pencil" onClick={() => setEditing(true)}>
            Edit
          </Button>
        )}
        {can('customer.erase') && !isErased && (
          <Button look="quiet" icon="cross" onClick={() => setErasing(true)}>
            Erase
          </Button>
        )}
      </PageHead>
      <div className="order-columns">
        <div className="order-main">
          {!isErased && (
            <Card
              title="Sites"
              action={
                can('site.write') && (
                  <Button icon="plus" onClick={() => setSite('new')}>
                    Add a site
                  </Button>
                )
              }
            >
              {sites.error && <LoadError error={sites.error} retry={sites.reload} />}
              {sites.data?.length === 0 && (
                <p className="quiet">No site is known. Add where the work is done.</p>
              )}
              <ul className="sites">
                {sites.data?.map((each) => (
                  <li key={each.id}>
                    <Icon name="pin" />
                    <div>
                      <strong>{each.label}</strong>
                      <address>
                        {each.street}, {each.postcode} {each.city}
                      </address>
                      {each.access && <p className="access">{each.access}</p>}
                    </div>
                    {can('site.write') && (
                      <button
                        type="button"
                        className="icon-button"
                        aria-label={`Edit ${each.label}`}
                        // The newest version, so that its tag comes along.
                        onClick={() => void call('site/get', { site: each.id }).then(setSite, sites.reload)}
                      >
                        <Icon name="pencil" />
                      </button>
                    )}
                  </li>
                ))}
              </ul>
            </Card>
          )}
          <Card title="Orders">
            {orders.error && <LoadError error={orders.error} retry={orders.reload} />}
            {orders.data?.items.length === 0 && <p className="quiet">No orders yet.</p>}
            {orders.data && (
              <Pages
                first={orders.data}
                more={async (cursor) =>
                  (await call('order/list', { customer: id, limit: PAGE_SIZE, cursor })).value
                }
              >
                {(items) => (
                  <ul className="rows rows-inside">
                    {items.map((order) => (
                      <li key={order.id}>
                        <Link href={`/orders/${order.id}`} className="row">
                          <span className="number">#{order.number}</span>
                          <span className="row-main">
                            <strong>{order.title}</strong>
                            <small>
                              {order.scheduledFrom &&
                                order.scheduledTo &&
                                formatSpan(order.scheduledFrom, order.scheduledTo)}
                            </small>
                          </span>
                          <StateBadge state={order.state} />
                        </Link>
                      </li>
                    ))}
                  </ul>
                )}
              </Pages>
            )}
          </Card>
          <CustomerHistory customer={id} version={loaded.data?.version ?? null} />
        </div>
        {!isErased && (
          <aside className="order-side" aria-label="Contact">
            <Card title="Contact">
              {customer.phone && (
                <a className="contact" href={`tel:${customer.phone.replaceAll(/[^\d+]/g, '')}`}>
                  <Icon name="phone" /> {customer.phone}
                </a>
              )}
              {customer.email && (
                <a className="contact" href={`mailto:${customer.email}`}>
                  <Icon name="mail" /> {customer.email}
                </a>
              )}
              {!customer.phone && !customer.email && (
                <p className="quiet">No phone number and no e-mail address.</p>
              )}
              {customer.remarks && <p className="prose access">{customer.remarks}</p>}
            </Card>
          </aside>
        )}
      </div>
      {editing && (
        <CustomerForm
          present={customer}
          version={loaded.data?.version ?? null}
          onClose={() => setEditing(false)}
          onTakeNewest={loaded.reload}
          onDone={(answer) => {
            setEditing(false);
            loaded.put(answer);
          }}
        />
      )}
      {erasing && (
        <EraseCustomer
          customer={customer}
          onClose={() => setErasing(false)}
          onDone={() => {
            setErasing(false);
            loaded.reload();
            orders.reload();
          }}
        />
      )}
      {ordering && <NewOrder customer={{ kind: 'known', customer }} onClose={() => setOrdering(false)} />}
      {site && (
        <SiteForm
          customer={customer}
          {...(site !== 'new' && { present: site.value, version: site.version })}
          onClose={() => setSite(null)}
          onDone={() => {
            setSite(null);
            sites.reload();
            loaded.reload();
          }}
        />
      )}
    </div>
  );
}
