/** Rental, declared: a shop that lends things for days. */
import { defineApp, signedIn } from '@freehold/app';
import { bookingOperations, overdueSchedule } from './bookings.ts';
import { damageSubscription, itemOperations } from './items.ts';
import { manifest } from './manifest.ts';
import { migrations } from './migrations.ts';
import { eraseRenter, renterOperations } from './renters.ts';

export default defineApp({
  manifest,
  migrations,
  operations: { ...itemOperations, ...renterOperations, ...bookingOperations },
  on: { repair: damageSubscription },
  schedules: { overdue: overdueSchedule },
  erasure: {
    persons: { renter: { permission: 'renter.erase' } },
    onShred: ({ sql }, subject) => eraseRenter(sql, subject),
    personal: { renters: ['name', 'phone'] },
  },
  look: { color: '#7a3e00' },
  // Built by `npm run build`, and by `npm run web` again on each save.
  web: './web/dist',
  // The team, the account, invites, the log and settings keep their pages.
  suppliedPages: true,
  authenticatedPrincipal: signedIn(),
});
