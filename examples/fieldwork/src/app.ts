/** Fieldwork, declared: work orders for trades people. */
import { defineApp, signedIn } from '@freehold/app';
import { PlatformError } from '@freehold/contracts';
import { resealMarks } from './customers/person.ts';
import { CUSTOMER_PREFIX, customerOutput } from './customers/schema.ts';
import { erasureSchedule, fileRemover } from './erasure/operations.ts';
import { eraseCustomer } from './erasure/store.ts';
import { manifest } from './lib/manifest.ts';
import { TAGS } from './lib/tags.ts';
import { filesHidden, requireFileRemovable } from './orders/files.ts';
import { overdueSchedule, reminderSubscription } from './reminders/operations.ts';
import { appointmentRoutes, appointments } from './requests/public-form.ts';
import { mountSummaries, summaryRoutes } from './summaries/routes.ts';
import { migrations } from './vertical/migrations.ts';
import { operations } from './vertical/operations.ts';

export default defineApp({
  manifest,
  migrations,
  operations,
  on: { reminders: reminderSubscription },
  executors: { 'remove-files': fileRemover },
  schedules: { overdue: overdueSchedule, 'note-erasures': erasureSchedule },
  // The history of orders and invoices is stored for good; denials are deleted after two years.
  retention: { denialsDays: 730 },
  attachments: { requireRemovable: requireFileRemovable, hidden: filesHidden },
  erasure: {
    persons: {
      customer: { permission: 'customer.erase', refuse: openOrders, afterwards: 'customer/note-erasures' },
    },
    // The only persons that anything is sealed for here are customers.
    onShred: ({ sql, now }, subject) => {
      if (subject.startsWith(`${CUSTOMER_PREFIX}_`)) eraseCustomer(sql, subject, now);
    },
    reseal: ({ sql, reseal }) => resealMarks(sql, reseal),
    personal: {
      customers: ['name', 'phone', 'email', 'remarks', 'search'],
      sites: ['label', 'street', 'postcode', 'city', 'access', 'search'],
      order_notes: ['text'],
      requests: ['name', 'phone', 'email', 'what', 'wished'],
    },
  },
  publicSurface: appointments,
  models: true,
  web: './web/dist',
  routes: mountSummaries,
  openapi: {
    description: 'Work orders, customers and invoices of a trades business.',
    license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    tags: TAGS,
    describedRoutes: [...summaryRoutes, ...appointmentRoutes],
  },
  authenticatedPrincipal: signedIn(),
});

/** Why a customer cannot be erased yet; null when nothing stands against it. */
function openOrders(output: unknown): PlatformError | null {
  const { erasedAt, openOrders: count } = customerOutput.parse(output);
  if (erasedAt !== null || count === 0) return null;
  return new PlatformError(
    'conflict',
    'This customer has open orders. Invoice or cancel them first: after the erasure they no longer show whose they are.',
    { reason: 'open_orders' },
  );
}
