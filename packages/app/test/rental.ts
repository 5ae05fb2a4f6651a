/** A small application for tests: bookings that are confirmed, an invoice service outside, and a reminder each morning. */
import { PlatformError } from '@freehold/contracts';
import { defineOperations, operation } from '@freehold/kernel';
import type { SqlDatabase } from '@freehold/store';
import { z } from 'zod';
import { defineApp, MODEL_TABLES, signedIn } from '../src/index.ts';

const booking = z.object({ id: z.string(), item: z.string(), state: z.enum(['open', 'confirmed']) });
const byId = z.strictObject({ booking: z.string() });
interface Row extends Record<string, string> {
  readonly id: string;
  readonly item: string;
  readonly state: 'open' | 'confirmed';
}

const load = (sql: SqlDatabase, id: string): Row => {
  const row = sql.get<Row>('SELECT id, item, state FROM bookings WHERE id = ?', id);
  if (!row) throw new PlatformError('not_found', 'There is no such booking.', { reason: 'unknown_booking' });
  return row;
};

export const operations = defineOperations({
  'booking/create': operation({
    summary: 'Book an item',
    permission: 'booking.write',
    input: z.strictObject({ item: z.string().min(1) }),
    output: booking,
    http: { method: 'POST', path: '/api/bookings' },
    run: ({ sql, newId, emit }, { item }) => {
      const id = newId('bkg');
      sql.run("INSERT INTO bookings (id, item, state) VALUES (?, ?, 'open')", id, item);
      emit({ type: 'booking.made', entity: { type: 'booking', id }, payload: { item } });
      return { id, item, state: 'open' as const };
    },
  }),
  'booking/get': operation({
    summary: 'Show a booking',
    permission: 'booking.read',
    entity: ({ booking: id }) => ({ type: 'booking', id }),
    input: byId,
    output: booking,
    http: { method: 'GET', path: '/api/bookings/:booking' },
    run: ({ sql }, { booking: id }) => load(sql, id),
  }),
  'booking/confirm': operation({
    summary: 'Confirm a booking',
    permission: 'booking.confirm',
    entity: ({ booking: id }) => ({ type: 'booking', id }),
    input: byId,
    output: booking,
    http: { method: 'POST', path: '/api/bookings/:booking/confirm' },
    run: ({ sql, emit }, { booking: id }) => {
      const row = load(sql, id);
      if (row.state === 'confirmed')
        throw new PlatformError('invalid_transition', 'This booking is confirmed already.', {
          reason: 'confirmed_already',
        });
      sql.run("UPDATE bookings SET state = 'confirmed' WHERE id = ?", id);
      emit({ type: 'booking.confirmed', entity: { type: 'booking', id } });
      return { ...row, state: 'confirmed' as const };
    },
  }),
  'booking/note': operation({
    summary: 'Note what was done for a booking',
    permission: 'booking.write',
    input: z.strictObject({ event: z.string() }),
    output: z.null(),
    run: ({ sql, now }, { event }) => {
      sql.run('INSERT INTO notes (event, at) VALUES (?, ?)', event, now);
      return null;
    },
  }),
  'booking/remind': operation({
    summary: 'Remind of open bookings',
    permission: 'booking.write',
    input: z.strictObject({}),
    output: z.null(),
    run: ({ sql, now }) => {
      sql.run("INSERT INTO notes (event, at) VALUES ('reminded', ?)", now);
      return null;
    },
  }),
  'booking/break': operation({
    summary: 'Fail',
    permission: 'booking.write',
    input: z.strictObject({}),
    output: z.null(),
    run: () => {
      throw new RangeError('a fault of the builder');
    },
  }),
});

export const rental = defineApp({
  manifest: {
    slug: 'rental',
    name: 'Rental',
    version: '0.1.0',
    permissions: {
      'booking.read': 'See bookings',
      'booking.write': 'Make bookings',
      'booking.confirm': 'Confirm bookings',
    },
    roles: {
      owner: { name: 'Owner', permissions: ['booking.read', 'booking.write', 'booking.confirm'] },
      clerk: { name: 'Clerk', permissions: ['booking.read', 'booking.write'] },
    },
    ownerRole: 'owner',
    services: {
      desk: { name: 'Desk', permissions: ['booking.write'] },
      visitors: { name: 'Visitors', permissions: ['booking.write'] },
    },
    entities: {
      booking: { read: 'booking.read', attachments: { read: 'booking.read', write: 'booking.write' } },
    },
    env: { SITES: { summary: 'The sites that may ask' }, GREETING: { summary: 'A word', default: 'hello' } },
  },
  migrations: [
    {
      version: 1,
      name: 'bookings',
      sql: `CREATE TABLE bookings (id TEXT PRIMARY KEY, item TEXT NOT NULL, state TEXT NOT NULL) STRICT;
        CREATE TABLE notes (event TEXT NOT NULL, at INTEGER NOT NULL) STRICT;`,
    },
    { version: 2, name: 'models', sql: MODEL_TABLES },
  ],
  operations,
  on: { note: { on: ['booking.confirmed'], as: 'desk', operation: 'booking/note' } },
  executors: {
    invoice: {
      on: ['booking.confirmed'],
      as: 'desk',
      attemptsMax: 2,
      run: async ({ entity }, { fetch, deliveryKey }) => {
        const response = await fetch('https://invoices.example/', {
          method: 'POST',
          headers: { 'idempotency-key': deliveryKey },
          body: JSON.stringify({ booking: entity?.id }),
        });
        if (!response.ok) throw new RangeError(`invoices answered ${response.status}`);
      },
    },
  },
  schedules: { remind: { cron: '0 6 * * *', as: 'desk', operation: 'booking/remind' } },
  publicSurface: {
    service: 'visitors',
    sites: { setting: 'SITES' },
    routes: (route, { businessName }) => {
      route.get('/items', async (c) => c.json({ business: await businessName(c) }));
      route.post('/bookings', async (c, { actor, body }) => {
        await actor.invoke('booking/create', body);
        return c.json({ status: 'received' }, 201);
      });
    },
  },
  models: true,
  routes: (app, tools) => {
    app.get('/api/advice', async (c) => {
      await tools.principal(c);
      const model = await tools.model(c, 'advice/ask');
      return c.text(
        (await model.run({ system: 'Be brief.', prompt: 'Which boat?', maxOutputTokens: 20 })).text,
      );
    });
  },
  authenticatedPrincipal: signedIn(),
});
