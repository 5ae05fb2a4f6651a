/** All orders: the board of what is open, or the list of one state; what is on today; searching and narrowing. */
import { useEffect, useRef, useState } from 'react';
import {
  Avatars,
  Badge,
  Button,
  EmptyState,
  LoadError,
  Skeleton,
  StateBadge,
} from '../components/basics.tsx';
import { Icon } from '../components/icon.tsx';
import { Link } from '../components/link.tsx';
import { Pages } from '../components/pages.tsx';
import { NewOrder } from '../dialogs/new-order.tsx';
import { call, type OrderSummary } from '../lib/api.ts';
import { formatDay, formatRelative, formatSpan, formatTime, startOfDay } from '../lib/format.ts';
import { goTo, useAddress, withQuery } from '../lib/router.ts';
import { useSession } from '../lib/session.tsx';
import { BOARD_STATES, ORDER_STATES, type OrderState, STATE_NAMES } from '../lib/states.ts';
import { useLoad } from '../lib/use-load.ts';
import { useShortcut } from '../lib/use-shortcut.ts';
import { Reminders } from './reminders.tsx';

const COLUMN_SIZE = 20;
const PAGE_SIZE = 50;
const SEARCH_PAUSE_MS = 200;
const DAY_MS = 24 * 3_600_000;

type Who = '' | 'me' | 'nobody';

interface Narrowing {
  readonly q: string;
  readonly who: Who;
}

export function OrdersPage() {
  const { can } = useSession();
  const { query } = useAddress();
  const narrowing: Narrowing = { q: query.get('q') ?? '', who: (query.get('who') ?? '') as Who };
  const state = ORDER_STATES.find((each) => each === query.get('state'));
  const day = startOfDay(new Date());
  const summary = useLoad(`summary ${day.toISOString()}`, async (signal) => {
    const span = { from: day.toISOString(), to: new Date(day.getTime() + DAY_MS).toISOString() };
    return (await call('dashboard/summary', span, { signal })).value;
  });
  const counts = summary.data?.counts;
  const total = counts && ORDER_STATES.reduce((sum, each) => sum + counts[each], 0);
  const isNarrowed = narrowing.q !== '' || narrowing.who !== '';

  useEffect(() => {
    document.title = 'Orders · Fieldwork';
  }, []);

  return (
    <div className="page page-wide">
      <h1 className="visually-hidden">Orders</h1>
      <Filters narrowing={narrowing} />
      <StateTabs state={state} counts={isNarrowed ? undefined : counts} />
      {summary.error && <LoadError error={summary.error} retry={summary.reload} />}
      {!state && !isNarrowed && can('reminder.read') && <Reminders />}
      {!state && !isNarrowed && summary.data && summary.data.today.length > 0 && (
        <Today orders={summary.data.today} />
      )}
      {total === 0 && !isNarrowed ? (
        <FirstOrder mayOpen={can('order.create')} />
      ) : state ? (
        <List state={state} narrowing={narrowing} />
      ) : (
        <Board narrowing={narrowing} />
      )}
      {can('order.create') && (
        <p className="keys">
          <kbd>n</kbd> new order <kbd>/</kbd> search
        </p>
      )}
    </div>
  );
}

function Filters({ narrowing }: { narrowing: Narrowing }) {
  const { can } = useSession();
  const [text, setText] = useState(narrowing.q);
  const field = useRef<HTMLInputElement>(null);
  useShortcut('/', () => field.current?.focus());
  useEffect(() => {
    if (text === narrowing.q) return undefined;
    const timer = setTimeout(() => goTo(withQuery({ q: text }), 'replace'), SEARCH_PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text, narrowing.q]);
  // A link elsewhere on the page may have changed the search.
  useEffect(() => setText((before) => (before.trim() === narrowing.q ? before : narrowing.q)), [narrowing.q]);

  const choices: readonly (readonly [Who, string])[] = can('order.read')
    ? [
        ['', 'Everybody’s'],
        ['me', 'Mine'],
        ['nobody', 'Unassigned'],
      ]
    : [];
  return (
    <div className="filters">
      <search className="search">
        <Icon name="search" />
        <input
          ref={field}
          type="search"
          aria-label="Search orders"
          aria-keyshortcuts="/"
          placeholder="Title, customer, place or number"
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === 'Escape') event.currentTarget.blur();
            if (event.key === 'Enter') goTo(withQuery({ q: text }), 'replace');
          }}
        />
      </search>
      {choices.length > 0 && (
        <fieldset className="segments">
          <legend className="visually-hidden">Whose orders</legend>
          {choices.map(([who, words]) => (
            <button
              key={who}
              type="button"
              aria-pressed={narrowing.who === who}
              onClick={() => goTo(withQuery({ who }), 'replace')}
            >
              {words}
            </button>
          ))}
        </fieldset>
      )}
    </div>
  );
}

function StateTabs({
  state,
  counts,
}: {
  state: OrderState | undefined;
  counts: Readonly<Record<OrderState, number>> | undefined;
}) {
  return (
    <nav className="tabs" aria-label="States">
      <Link href={withQuery({ state: '' })} aria-current={state === undefined ? 'page' : undefined}>
        Board
      </Link>
      {ORDER_STATES.map((each) => (
        <Link key={each} href={withQuery({ state: each })} aria-current={state === each ? 'page' : undefined}>
          {STATE_NAMES[each]}
          {counts !== undefined && <span className="tab-count">{counts[each]}</span>}
        </Link>
      ))}
    </nav>
  );
}

function Today({ orders }: { orders: readonly OrderSummary[] }) {
  return (
    <section className="today" aria-labelledby="today">
      <h2 id="today">Today</h2>
      <ol>
        {orders.map((order) => (
          <li key={order.id}>
            <Link href={`/orders/${order.id}`} className={`appointment state-${order.state}`}>
              <time dateTime={order.scheduledFrom ?? undefined}>
                {order.scheduledFrom && formatTime(order.scheduledFrom)}
              </time>
              <span>
                <strong>{order.title}</strong>
                <small>
                  {order.customer.name}
                  {order.site && `, ${order.site.city}`}
                </small>
              </span>
              <Avatars principals={order.assignees} />
            </Link>
          </li>
        ))}
      </ol>
    </section>
  );
}

function Board({ narrowing }: { narrowing: Narrowing }) {
  return (
    <div className="board">
      {BOARD_STATES.map((state) => (
        <Column key={state} state={state} narrowing={narrowing} />
      ))}
    </div>
  );
}

function Column({ state, narrowing }: { state: OrderState; narrowing: Narrowing }) {
  const page = useOrders(state, narrowing, COLUMN_SIZE);
  return (
    <section className="column" aria-labelledby={`column-${state}`}>
      <header>
        <h2 id={`column-${state}`}>
          <span className={`dot state-${state}`} /> {STATE_NAMES[state]}
        </h2>
        {page.data && (
          <span className="column-count">
            {page.data.items.length}
            {page.data.nextCursor && '+'}
          </span>
        )}
      </header>
      {page.error ? (
        <LoadError error={page.error} retry={page.reload} />
      ) : page.data ? (
        <>
          <ul>
            {page.data.items.map((order) => (
              <li key={order.id}>
                <OrderCard order={order} />
              </li>
            ))}
          </ul>
          {page.data.items.length === 0 && <p className="column-empty">Nothing here</p>}
          {page.data.nextCursor && (
            <Link className="more" href={withQuery({ state })}>
              Show all
            </Link>
          )}
        </>
      ) : (
        <Skeleton lines={3} label={`Loading ${STATE_NAMES[state]}`} />
      )}
    </section>
  );
}

function OrderCard({ order }: { order: OrderSummary }) {
  return (
    <Link href={`/orders/${order.id}`} className={`order-card state-${order.state}`}>
      <span className="order-card-top">
        <span className="number">#{order.number}</span>
        {order.priority === 'urgent' && <Badge tone="bad">Urgent</Badge>}
      </span>
      <strong>{order.title}</strong>
      <span className="order-card-where">
        {order.customer.name}
        {order.site && <> · {order.site.city}</>}
      </span>
      <span className="order-card-foot">
        <span className="order-card-when">
          {order.scheduledFrom && order.scheduledTo ? (
            <>
              <Icon name="calendar" /> {formatDay(order.scheduledFrom)}, {formatTime(order.scheduledFrom)}
            </>
          ) : (
            <>changed {formatRelative(order.updatedAt)}</>
          )}
        </span>
        <Avatars principals={order.assignees} />
      </span>
    </Link>
  );
}

function List({ state, narrowing }: { state: OrderState; narrowing: Narrowing }) {
  const first = useOrders(state, narrowing, PAGE_SIZE);
  if (first.error) return <LoadError error={first.error} retry={first.reload} />;
  if (!first.data) return <Skeleton lines={6} label="Loading orders" />;
  if (first.data.items.length === 0) {
    return (
      <EmptyState icon="clipboard" title={`No order is ${STATE_NAMES[state].toLowerCase()}`}>
        <p>
          {narrowing.q || narrowing.who
            ? 'Search for something else, or look at everybody’s.'
            : 'The board shows what is open.'}
        </p>
        <Link className="button button-plain" href="/">
          Show the board
        </Link>
      </EmptyState>
    );
  }
  return (
    <Pages
      key={`${state} ${narrowing.q} ${narrowing.who}`}
      first={first.data}
      more={async (cursor) =>
        (await call('order/list', { ...listInput(state, narrowing, PAGE_SIZE), cursor })).value
      }
    >
      {(orders) => (
        <ul className="rows">
          {orders.map((order) => (
            <li key={order.id}>
              <Link href={`/orders/${order.id}`} className="row">
                <span className="number">#{order.number}</span>
                <span className="row-main">
                  <strong>{order.title}</strong>
                  <small>
                    {order.customer.name}
                    {order.site && ` · ${order.site.label}, ${order.site.city}`}
                  </small>
                </span>
                {order.priority === 'urgent' && <Badge tone="bad">Urgent</Badge>}
                <span className="row-when">
                  {order.scheduledFrom &&
                    order.scheduledTo &&
                    formatSpan(order.scheduledFrom, order.scheduledTo)}
                </span>
                <Avatars principals={order.assignees} />
                <StateBadge state={order.state} />
              </Link>
            </li>
          ))}
        </ul>
      )}
    </Pages>
  );
}

function FirstOrder({ mayOpen }: { mayOpen: boolean }) {
  const [opening, setOpening] = useState(false);
  return (
    <EmptyState icon="clipboard" title={mayOpen ? 'Open your first order' : 'Nothing for you yet'}>
      <p>
        {mayOpen
          ? 'An order says what is to be done, for whom and where. You can add the customer on the way.'
          : 'Orders appear here as soon as one is assigned to you.'}
      </p>
      {mayOpen && (
        <Button look="primary" icon="plus" onClick={() => setOpening(true)}>
          Open an order
        </Button>
      )}
      {opening && <NewOrder onClose={() => setOpening(false)} />}
    </EmptyState>
  );
}

function listInput(state: OrderState, { q, who }: Narrowing, limit: number) {
  return {
    state,
    limit,
    // Scheduled orders are sorted by due time; all others by age.
    sort: state === 'scheduled' ? ('due' as const) : ('newest' as const),
    ...(q && { q }),
    ...(who && { assignee: who }),
  };
}

function useOrders(state: OrderState, narrowing: Narrowing, limit: number) {
  return useLoad(
    `orders ${state} ${narrowing.who} ${limit} ${narrowing.q}`,
    async (signal) => (await call('order/list', listInput(state, narrowing, limit), { signal })).value,
  );
}
