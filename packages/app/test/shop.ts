/** A small declaration without a mistake, which the tests change. */
import { type AppDeclaration, MODEL_TABLES, signedIn } from '@freehold/app';
import { type Operation, operation } from '@freehold/kernel';
import { z } from 'zod';

type Table = Record<string, Operation>;

/** A new one at each call: tests write into it. */
export function shop() {
  const operations: Table = {
    'booking/list': operation({
      summary: 'List bookings',
      input: z.strictObject({ day: z.iso.date().optional() }),
      output: z.strictObject({ items: z.array(z.string()) }),
      permission: 'booking.read',
      http: { method: 'GET', path: '/api/bookings' },
      run: () => ({ items: [] }),
    }),
    'booking/get': operation({
      summary: 'Get a booking',
      input: z.strictObject({ booking: z.string() }),
      output: z.strictObject({ id: z.string() }),
      permission: 'booking.read',
      entity: ({ booking }) => ({ type: 'booking', id: booking }),
      http: { method: 'GET', path: '/api/bookings/:booking' },
      run: (_ctx, { booking }) => ({ id: booking }),
    }),
    'booking/confirm': operation({
      summary: 'Confirm a booking',
      input: z.strictObject({ booking: z.string() }),
      output: z.strictObject({}),
      permission: 'booking.write',
      http: { method: 'POST', path: '/api/bookings/:booking/confirm' },
      run: () => ({}),
    }),
    'booking/remind': operation({
      summary: 'Remind of bookings',
      input: z.strictObject({}),
      output: z.strictObject({}),
      permission: 'booking.remind',
      run: () => ({}),
    }),
    'site/get': operation({
      summary: 'Get the sites with a form',
      input: z.strictObject({}),
      output: z.strictObject({ origins: z.array(z.string()) }),
      permission: 'site.read',
      http: { method: 'GET', path: '/api/sites' },
      run: () => ({ origins: [] }),
    }),
  };
  return {
    manifest: {
      slug: 'shop',
      name: 'Shop',
      version: '1.0.0',
      permissions: {
        'booking.read': 'See bookings',
        'booking.write': 'Change bookings',
        'booking.remind': 'Remind of bookings',
        'booking.file': 'Attach files',
        'site.read': 'See sites',
      },
      roles: {
        owner: { name: 'Owner', permissions: ['booking.read', 'booking.write'] },
        clerk: { name: 'Clerk', permissions: ['booking.read', 'team.read'] },
      },
      ownerRole: 'owner',
      entities: {
        booking: { read: 'booking.read', attachments: { read: 'booking.read', write: 'booking.file' } },
      },
      services: {
        office: { name: 'Office', permissions: ['booking.remind'] },
        form: { name: 'Form', permissions: ['site.read'] },
      },
      env: { SHOP_SITES: { summary: 'Sites' } },
    },
    migrations: [
      { version: 1, name: 'bookings', sql: 'CREATE TABLE bookings (id TEXT PRIMARY KEY) STRICT;' },
      { version: 2, name: 'models', sql: MODEL_TABLES },
    ],
    operations,
    on: {
      reminders: { on: ['booking.confirmed'], as: 'office', operation: 'booking/remind', input: () => ({}) },
    },
    executors: { mail: { on: ['booking.confirmed'], as: 'office', run: async () => undefined } },
    schedules: {
      nightly: { cron: '0 3 * * *', timezone: 'Europe/Vienna', operation: 'booking/remind', as: 'office' },
    },
    retention: { denialsDays: 400 },
    chainMax: 4,
    attachments: { hidden: () => null },
    erasure: { persons: { booking: { permission: 'booking.write', afterwards: 'booking/remind' } } },
    publicSurface: {
      service: 'form',
      sites: { operation: 'site/get' },
      script: { path: '/embed/form.js' },
      limit: { times: 5, windowSeconds: 60 },
      routes: (route) => route.get('/slots', async (c) => c.json({})),
    },
    models: true,
    look: { color: '#0f5132', language: 'de-AT' },
    web: './web/dist',
    routes: () => undefined,
    authenticatedPrincipal: signedIn(),
  } satisfies AppDeclaration;
}
