/** Rental, declared: a shop that lends things for days. */
import { defineApp, signedIn } from '@freehold/app';
import { bookingOperations, overdueSchedule } from './bookings.ts';
import { damageSubscription, items, repairOperations } from './items.ts';
import { manifest } from './manifest.ts';
import { migrations } from './migrations.ts';
import { eraseRenter, renters } from './renters.ts';

export default defineApp({
  manifest,
  migrations,
  operations: { ...items.operations, ...repairOperations, ...renters.operations, ...bookingOperations },
  on: { repair: damageSubscription },
  schedules: { overdue: overdueSchedule },
  erasure: {
    persons: { renter: { permission: 'renter.erase' } },
    onShred: ({ sql }, subject) => eraseRenter(sql, subject),
    personal: renters.personal,
  },
  look: { color: '#7a3e00' },
  // The first page is the counter; things and renters have the supplied pages of records.
  web: { '/': './web/counter.tsx' },
  authenticatedPrincipal: signedIn(),
});
