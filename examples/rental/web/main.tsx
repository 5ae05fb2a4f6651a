/** The counter of the shop on one page: bookings, and what is for rent. */
import { type FormEvent, StrictMode, useCallback, useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';
import type { Booking } from '../src/bookings.ts';
import type { Item } from '../src/items.ts';
import type { Renter } from '../src/renters.ts';
import { api } from './api.ts';

interface Shop {
  readonly items: readonly Item[];
  readonly bookings: readonly Booking[];
  readonly may: (permission: string) => boolean;
}

type Act = (path: string, body: unknown) => Promise<boolean>;

const money = (cents: number): string =>
  new Intl.NumberFormat(undefined, { style: 'currency', currency: 'EUR' }).format(cents / 100);

function Counter() {
  const [shop, setShop] = useState<Shop>();
  const [problem, setProblem] = useState('');

  const load = useCallback(async () => {
    const { permissions } = await api<{ permissions: string[] }>('/api/me');
    const may = (permission: string) => permissions.includes(permission);
    const [items, bookings] = await Promise.all([
      api<{ items: Item[] }>('/api/items'),
      may('booking.read') ? api<{ items: Booking[] }>('/api/bookings') : { items: [] },
    ]);
    setShop({ items: items.items, bookings: bookings.items, may });
  }, []);
  useEffect(() => {
    load().catch((error: Error) => setProblem(error.message));
  }, [load]);

  const act: Act = async (path, body) => {
    try {
      await api(path, body);
      await load();
      setProblem('');
      return true;
    } catch (error) {
      setProblem(error instanceof Error ? error.message : 'That did not work.');
      return false;
    }
  };

  return (
    <main>
      <nav aria-label="Supplied pages">
        {shop?.may('team.read') && <a href="/team">Team</a>} <a href="/account">Your account</a>
      </nav>
      <h1>Rental</h1>
      <p role="alert">{problem}</p>
      {shop && (
        <>
          {shop.may('booking.write') && <NewBooking shop={shop} act={act} onProblem={setProblem} />}
          {shop.may('booking.read') && <Bookings shop={shop} act={act} />}
          <Items shop={shop} act={act} />
          {shop.may('item.write') && <NewItem act={act} />}
        </>
      )}
    </main>
  );
}

/** Runs a form's work with its fields, and empties it when the work is done. */
const submitted =
  (work: (fields: Record<string, string>) => Promise<boolean>) =>
  async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const form = event.currentTarget;
    const fields = Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value)]));
    if (await work(fields)) form.reset();
  };

function NewBooking({ shop, act, onProblem }: { shop: Shop; act: Act; onProblem: (said: string) => void }) {
  const free = shop.items.filter(({ state }) => state === 'for_rent');
  if (free.length === 0) return <p>Nothing is for rent. Add a thing first.</p>;
  const book = submitted(async ({ name = '', phone = '', ...days }) => {
    try {
      const renter = await api<Renter>('/api/renters', { name, phone: phone || null });
      return await act('/api/bookings', { ...days, renter: renter.id });
    } catch (error) {
      onProblem(error instanceof Error ? error.message : 'That did not work.');
      return false;
    }
  });
  return (
    <section aria-labelledby="book">
      <h2 id="book">Book</h2>
      <form onSubmit={book}>
        <label>
          Thing
          <select name="item" required>
            {free.map(({ id, name, dailyCents }) => (
              <option key={id} value={id}>
                {name}, {money(dailyCents)} a day
              </option>
            ))}
          </select>
        </label>
        <label>
          Name
          <input name="name" autoComplete="off" required maxLength={120} />
        </label>
        <label>
          Phone
          <input name="phone" type="tel" autoComplete="off" maxLength={40} />
        </label>
        <label>
          First day
          <input name="firstDay" type="date" required />
        </label>
        <label>
          Last day
          <input name="lastDay" type="date" required />
        </label>
        <button type="submit">Book</button>
      </form>
    </section>
  );
}

function Bookings({ shop, act }: { shop: Shop; act: Act }) {
  return (
    <section aria-labelledby="bookings">
      <h2 id="bookings">Bookings</h2>
      {shop.bookings.length === 0 && <p>No bookings yet.</p>}
      <ul>
        {shop.bookings.map((booking) => (
          <li key={booking.id}>
            <span>
              <strong>{booking.item.name}</strong> for {booking.renter.name ?? 'an erased person'},{' '}
              {booking.firstDay} to {booking.lastDay}: {booking.overdue ? 'overdue' : booking.state},{' '}
              {money(booking.priceCents)}
            </span>
            {shop.may('booking.write') && <Actions booking={booking} act={act} />}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Actions({ booking, act }: { booking: Booking; act: Act }) {
  const path = `/api/bookings/${booking.id}`;
  const what = `${booking.item.name}, ${booking.firstDay}`;
  if (booking.state === 'booked')
    return (
      <span className="actions">
        <button type="button" onClick={() => act(`${path}/hand-out`, {})} aria-label={`Hand out ${what}`}>
          Hand out, deposit {money(booking.depositCents)}
        </button>
        <button type="button" onClick={() => act(`${path}/cancel`, {})} aria-label={`Cancel ${what}`}>
          Cancel
        </button>
      </span>
    );
  if (booking.state !== 'out') return null;
  const takeBack = submitted(({ damage = '', charged = '' }) =>
    act(`${path}/take-back`, {
      damage: damage || null,
      chargedCents: Math.round(Number(charged || 0) * 100),
    }),
  );
  return (
    <form onSubmit={takeBack} aria-label={`Take back ${what}`}>
      <label>
        Damage, if any
        <input name="damage" maxLength={2000} />
      </label>
      <label>
        Kept of {money(booking.depositCents)}
        <input name="charged" type="number" min="0" step="0.01" />
      </label>
      <button type="submit">Take back</button>
    </form>
  );
}

function Items({ shop, act }: { shop: Shop; act: Act }) {
  return (
    <section aria-labelledby="items">
      <h2 id="items">Things</h2>
      {shop.items.length === 0 && <p>Nothing here yet.</p>}
      <ul>
        {shop.items.map(({ id, name, state, dailyCents }) => (
          <li key={id}>
            <span>
              {name}, {money(dailyCents)} a day{state === 'for_rent' ? '' : `: ${state.replaceAll('_', ' ')}`}
            </span>
            {state === 'in_repair' && shop.may('item.repair') && (
              <button type="button" onClick={() => act(`/api/items/${id}/repaired`, {})}>
                {name} is repaired
              </button>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function NewItem({ act }: { act: Act }) {
  const cents = (text = '') => Math.round(Number(text) * 100);
  const add = submitted(({ name, daily, deposit }) =>
    act('/api/items', { name, dailyCents: cents(daily), depositCents: cents(deposit) }),
  );
  return (
    <form onSubmit={add} aria-label="Add a thing">
      <label>
        New thing
        <input name="name" required maxLength={120} />
      </label>
      <label>
        A day, in EUR
        <input name="daily" type="number" min="0" step="0.01" required />
      </label>
      <label>
        Deposit, in EUR
        <input name="deposit" type="number" min="0" step="0.01" required />
      </label>
      <button type="submit">Add</button>
    </form>
  );
}

const root = document.getElementById('root');
if (root)
  createRoot(root).render(
    <StrictMode>
      <Counter />
    </StrictMode>,
  );
