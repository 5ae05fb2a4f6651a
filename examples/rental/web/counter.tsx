/** The counter of the shop, in the place of the first page: bookings, and what is to be handed out and taken back. */
import type { OwnPageProps } from '@freehold/app/pages';
import { type FormEvent, type ReactNode, useCallback, useEffect, useState } from 'react';
import type { Booking } from '../src/bookings.ts';
import type { Item } from '../src/items.ts';
import './counter.css';

interface Shop {
  readonly items: readonly Item[];
  readonly bookings: readonly Booking[];
}

type Act = (path: string, body: unknown) => Promise<boolean>;

const money = (cents: number): string =>
  new Intl.NumberFormat(undefined, { style: 'currency', currency: 'EUR' }).format(cents / 100);

export default function Counter({ ask, declaration, supplied }: OwnPageProps<ReactNode>) {
  const [shop, setShop] = useState<Shop>();
  const [problem, setProblem] = useState('');
  const may = (operation: string): boolean => declaration.operations.some(({ name }) => name === operation);
  const seesBookings = may('booking/list');

  const load = useCallback(async () => {
    const [items, bookings] = await Promise.all([
      ask<{ items: Item[] }>('/api/items?state=for_rent&limit=200'),
      ask<{ items: Booking[] }>('/api/bookings'),
    ]);
    setShop({ items: items.items, bookings: bookings.items });
  }, [ask]);
  useEffect(() => {
    if (seesBookings) load().catch((error: Error) => setProblem(error.message));
  }, [load, seesBookings]);

  /** Runs a step, and shows what is there after it. */
  const run = async (step: () => Promise<unknown>): Promise<boolean> => {
    try {
      await step();
      await load();
      setProblem('');
      return true;
    } catch (error) {
      setProblem(error instanceof Error ? error.message : 'That did not work.');
      return false;
    }
  };
  const act: Act = (path, body) => run(() => ask(path, { body }));
  const book = ({ name = '', phone = '', ...days }: Record<string, string>): Promise<boolean> =>
    run(async () => {
      const renter = await ask<{ id: string }>('/api/renters', { body: { name, ...(phone && { phone }) } });
      await ask('/api/bookings', { body: { ...days, renter: renter.id } });
    });

  // The workshop has nothing to do at the counter.
  if (!seesBookings) return supplied;
  return (
    <>
      <h1>Counter</h1>
      <p role="alert" className="problem">
        {problem}
      </p>
      {shop && (
        <>
          {may('booking/create') && <NewBooking items={shop.items} book={book} />}
          <Bookings bookings={shop.bookings} act={may('booking/hand-out') ? act : null} />
        </>
      )}
    </>
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

function NewBooking({
  items,
  book,
}: {
  readonly items: readonly Item[];
  readonly book: (fields: Record<string, string>) => Promise<boolean>;
}) {
  if (items.length === 0) return <p>Nothing is for rent. Add an item first.</p>;
  return (
    <section aria-labelledby="book">
      <h2 id="book">Book</h2>
      <form className="counter" onSubmit={submitted(book)}>
        <label>
          Thing
          <select name="item" required>
            {items.map(({ id, name, dailyCents }) => (
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

function Bookings({ bookings, act }: { readonly bookings: readonly Booking[]; readonly act: Act | null }) {
  return (
    <section aria-labelledby="bookings">
      <h2 id="bookings">Bookings</h2>
      {bookings.length === 0 && <p>No bookings yet.</p>}
      <ul className="bookings">
        {bookings.map((booking) => (
          <li key={booking.id}>
            <span>
              <strong>{booking.item.name}</strong> for {booking.renter.name}, {booking.firstDay} to{' '}
              {booking.lastDay}: {booking.overdue ? 'overdue' : booking.state}, {money(booking.priceCents)}
            </span>
            {act && <Actions booking={booking} act={act} />}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Actions({ booking, act }: { readonly booking: Booking; readonly act: Act }) {
  const path = `/api/bookings/${booking.id}`;
  const what = `${booking.item.name}, ${booking.firstDay}`;
  if (booking.state === 'booked')
    return (
      <span className="counter">
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
    <form className="counter" onSubmit={takeBack} aria-label={`Take back ${what}`}>
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
