/** Bookings: of one thing, by one person, for days that no other booking of the thing has. */
import {
  cutPage,
  decodeCursor,
  defineOperations,
  idSchema,
  money,
  noteText,
  type OperationContext,
  operation,
  PlatformError,
  pageOf,
  pageQuery,
  type Schedule,
  type SqlDatabase,
} from '@freehold/app';
import { z } from 'zod';
import { items } from './items.ts';
import { renters } from './renters.ts';
import { SHOP } from './shop.ts';

const DAY_MS = 86_400_000;
const DAYS_MAX = 90;
/** The overdue bookings that one round reminds of; the next round takes the rest. */
const ROUND = 200;

const bookingId = idSchema('bkg');
const day = z.iso.date();
const state = z.enum(['booked', 'out', 'returned', 'cancelled']);

const booking = z
  .object({
    id: bookingId,
    item: z.object({ id: items.id, name: z.string() }),
    renter: z.object({ id: renters.id, name: z.string() }),
    firstDay: day,
    lastDay: day,
    state,
    priceCents: z.int(),
    depositCents: z.int().describe('Taken when the thing is handed out'),
    damage: z.string().nullable(),
    chargedCents: z.int().nullable().describe('Kept of the deposit for the damage; null until it is back'),
    overdue: z.boolean().describe('Whether a reminder was raised'),
  })
  .meta({ id: 'Booking' });
export type Booking = z.infer<typeof booking>;

const bookingEntity = (id: string) => ({ type: 'booking', id });
const ofBooking = z.strictObject({ booking: bookingId });

export const bookingOperations = defineOperations({
  'booking/list': operation({
    summary: 'List bookings, newest first',
    input: z.strictObject({ ...pageQuery, state: state.optional() }),
    output: pageOf(booking),
    permission: 'booking.read',
    http: { method: 'GET', path: '/api/bookings' },
    run: ({ sql }, { limit, cursor, state: wanted = null }) => {
      const before = cursor === undefined ? '~' : decodeCursor(cursor);
      const where = `WHERE b.id < ? AND (? IS NULL OR b.state = ?) ORDER BY b.id DESC LIMIT ?`;
      const rows = sql.all<Row>(`${SELECT} ${where}`, before, wanted, wanted, limit + 1);
      return cutPage(rows, limit, ({ id }) => id, present);
    },
  }),

  'booking/get': operation({
    summary: 'Show a booking',
    input: ofBooking,
    output: booking,
    permission: 'booking.read',
    entity: (input) => bookingEntity(input.booking),
    http: { method: 'GET', path: '/api/bookings/:booking' },
    run: ({ sql }, input) => load(sql, input.booking),
  }),

  'booking/create': operation({
    summary: 'Book a thing',
    input: z
      .strictObject({ item: items.id, renter: renters.id, firstDay: day, lastDay: day })
      .refine(({ firstDay, lastDay }) => firstDay <= lastDay, {
        path: ['lastDay'],
        message: 'must not be before the first day',
      })
      .refine(({ firstDay, lastDay }) => daysOf(firstDay, lastDay) <= DAYS_MAX, {
        path: ['lastDay'],
        message: `must be within ${DAYS_MAX} days of the first`,
      }),
    output: booking,
    permission: 'booking.write',
    http: { method: 'POST', path: '/api/bookings' },
    created: ({ id }) => bookingEntity(id),
    run: (ctx, { item, renter, firstDay, lastDay }) => {
      const { name, state: itemState, dailyCents, depositCents, archivedAt } = items.load(ctx, item);
      const now = archivedAt === null ? itemState : 'retired';
      if (now !== 'for_rent')
        throw new PlatformError('conflict', `${name} is ${now.replaceAll('_', ' ')}.`, {
          reason: `item_is_${now}`,
        });
      renters.load(ctx, renter);
      requireFree(ctx.sql, { item, name, firstDay, lastDay });
      const id = ctx.newId('bkg');
      const priceCents = dailyCents * daysOf(firstDay, lastDay);
      ctx.sql.run(
        `INSERT INTO bookings (id, item_id, renter_id, first_day, last_day, state, price_cents, deposit_cents)
         VALUES (?, ?, ?, ?, ?, 'booked', ?, ?)`,
        id,
        item,
        renter,
        firstDay,
        lastDay,
        priceCents,
        depositCents,
      );
      ctx.emit({ type: 'booking.created', entity: bookingEntity(id), payload: { item, firstDay, lastDay } });
      return load(ctx.sql, id);
    },
  }),

  'booking/hand-out': operation({
    summary: 'Hand the thing out, and take the deposit',
    input: ofBooking,
    output: booking,
    permission: 'booking.write',
    entity: (input) => bookingEntity(input.booking),
    http: { method: 'POST', path: '/api/bookings/:booking/hand-out' },
    mcp: { prompt: 'Hand out {booking}: tell me the thing, its renter and the deposit, and ask me first.' },
    run: (ctx, { booking: id }) => {
      const { depositCents } = requireState(ctx, id, 'booked');
      ctx.sql.run(`UPDATE bookings SET state = 'out' WHERE id = ?`, id);
      ctx.emit({ type: 'booking.handed_out', entity: bookingEntity(id), payload: { depositCents } });
      return load(ctx.sql, id);
    },
  }),

  'booking/take-back': operation({
    summary: 'Take the thing back, and give back what is left of the deposit',
    input: ofBooking
      .extend({ damage: noteText(2_000).nullable().default(null), chargedCents: money('EUR').default(0) })
      .refine(({ damage, chargedCents }) => damage !== null || chargedCents === 0, {
        path: ['chargedCents'],
        message: 'needs a damage',
      }),
    output: booking,
    permission: 'booking.write',
    entity: (input) => bookingEntity(input.booking),
    http: { method: 'POST', path: '/api/bookings/:booking/take-back' },
    run: (ctx, { booking: id, damage, chargedCents }) => {
      const { depositCents, item } = requireState(ctx, id, 'out');
      if (chargedCents > depositCents)
        throw new PlatformError(
          'validation_failed',
          'The body is not valid. chargedCents: is more than the deposit',
          {
            errors: [{ path: 'chargedCents', message: `must be at most ${depositCents}, the deposit` }],
          },
        );
      ctx.sql.run(
        `UPDATE bookings SET state = 'returned', damage = ?, charged_cents = ? WHERE id = ?`,
        damage,
        chargedCents,
        id,
      );
      const payload = { refundedCents: depositCents - chargedCents };
      ctx.emit({ type: 'booking.returned', entity: bookingEntity(id), payload });
      if (damage !== null)
        ctx.emit({ type: 'booking.damaged', entity: bookingEntity(id), payload: { item: item.id } });
      return load(ctx.sql, id);
    },
  }),

  'booking/cancel': operation({
    summary: 'Cancel a booking before the thing is handed out',
    input: ofBooking,
    output: booking,
    permission: 'booking.write',
    entity: (input) => bookingEntity(input.booking),
    http: { method: 'POST', path: '/api/bookings/:booking/cancel' },
    mcp: { destructive: true },
    run: (ctx, { booking: id }) => {
      requireState(ctx, id, 'booked');
      ctx.sql.run(`UPDATE bookings SET state = 'cancelled' WHERE id = ?`, id);
      ctx.emit({ type: 'booking.cancelled', entity: bookingEntity(id) });
      return load(ctx.sql, id);
    },
  }),

  'booking/remind': operation({
    summary: 'Raise a reminder of each thing that should be back',
    input: z.strictObject({}),
    output: z.object({ raised: z.int() }),
    permission: 'booking.remind',
    mcp: false,
    run: (ctx) => {
      const late = ctx.sql.all<{ id: string }>(
        `SELECT id FROM bookings WHERE state = 'out' AND last_day < ? AND reminded_at IS NULL
         ORDER BY last_day, id LIMIT ?`,
        new Date(ctx.now).toISOString().slice(0, 10),
        ROUND,
      );
      for (const { id } of late) {
        ctx.sql.run('UPDATE bookings SET reminded_at = ? WHERE id = ?', ctx.now, id);
        ctx.emit({ type: 'booking.overdue', entity: bookingEntity(id) });
      }
      return { raised: late.length };
    },
  }),
});

export const overdueSchedule: Schedule = { cron: '0 7 * * *', operation: 'booking/remind', as: SHOP };

interface Row extends Omit<Booking, 'item' | 'renter' | 'overdue'> {
  readonly itemId: string;
  readonly itemName: string;
  readonly renterId: string;
  readonly renterName: string;
  readonly remindedAt: number | null;
}

const SELECT = `
SELECT b.id, b.first_day AS firstDay, b.last_day AS lastDay, b.state, b.price_cents AS priceCents,
  b.deposit_cents AS depositCents, b.damage, b.charged_cents AS chargedCents, b.reminded_at AS remindedAt,
  i.id AS itemId, i.name AS itemName, r.id AS renterId, r.name AS renterName
FROM bookings b JOIN items i ON i.id = b.item_id JOIN renters r ON r.id = b.renter_id`;

function present({ itemId: id, itemName, renterId: renter, renterName, remindedAt, ...row }: Row): Booking {
  return {
    ...row,
    item: { id, name: itemName },
    renter: { id: renter, name: renterName },
    overdue: row.state === 'out' && remindedAt !== null,
  };
}

/** @throws PlatformError `not_found` */
function load(sql: SqlDatabase, id: string): Booking {
  const row = sql.get<Row>(`${SELECT} WHERE b.id = ?`, id);
  if (row) return present(row);
  throw new PlatformError('not_found', 'There is no such booking.', { reason: 'unknown_booking' });
}

/** @throws PlatformError `invalid_transition` for a booking in another state. */
function requireState({ sql }: Pick<OperationContext, 'sql'>, id: string, wanted: Booking['state']): Booking {
  const found = load(sql, id);
  if (found.state === wanted) return found;
  throw new PlatformError('invalid_transition', `This booking is ${found.state}.`, {
    reason: `booking_is_${found.state}`,
  });
}

/** @throws PlatformError `conflict`, reason `item_booked`, when a day is taken. */
function requireFree(
  sql: SqlDatabase,
  asked: {
    readonly item: string;
    readonly name: string;
    readonly firstDay: string;
    readonly lastDay: string;
  },
): void {
  const rival = sql.get<{ firstDay: string; lastDay: string }>(
    `SELECT first_day AS firstDay, last_day AS lastDay FROM bookings
     WHERE item_id = ? AND state IN ('booked', 'out') AND first_day <= ? AND last_day >= ? LIMIT 1`,
    asked.item,
    asked.lastDay,
    asked.firstDay,
  );
  if (rival)
    throw new PlatformError(
      'conflict',
      `${asked.name} is booked from ${rival.firstDay} to ${rival.lastDay} already.`,
      { reason: 'item_booked' },
    );
}

/** Days, both included. */
function daysOf(firstDay: string, lastDay: string): number {
  return (Date.parse(lastDay) - Date.parse(firstDay)) / DAY_MS + 1;
}
