/** Names that one part of a declaration uses and another one declares. */
import { example, type MistakePage } from './page.ts';

export const namePages = {
  unknown_permission: {
    title: 'A permission that the manifest does not declare',
    why: 'No role could hold it, so that every caller would be refused. Roles, operations, grants and rules of records name permissions.',
    fix: 'Correct the name, or declare the permission in `manifest.permissions` with a sentence for people.',
    wrong: example(`
      operations: {
        'booking/confirm': operation({
          // …
          permission: 'booking.wirte',
        }),
      },
    `),
    says: "app.operations['booking/confirm'].permission: names an undeclared permission: booking.wirte; did you mean booking.write?",
    right: example(`
      operations: {
        'booking/confirm': operation({
          // …
          permission: 'booking.write',
        }),
      },
    `),
  },
  unknown_role: {
    title: 'An owner role that is no role of the manifest',
    why: 'The first person of an instance becomes its owner, and would be given a role that does not exist.',
    fix: 'Name one of `manifest.roles` in `ownerRole`.',
    wrong: example(`
      manifest: {
        // …
        roles: {
          owner: { name: 'Owner', permissions: ['booking.read', 'booking.write'] },
        },
        ownerRole: 'onwer',
      },
    `),
    says: 'app.manifest.ownerRole: names no declared role: onwer; did you mean owner?',
    right: example(`
      manifest: {
        // …
        roles: {
          owner: { name: 'Owner', permissions: ['booking.read', 'booking.write'] },
        },
        ownerRole: 'owner',
      },
    `),
  },
  unknown_entity: {
    title: 'A type of records that the manifest does not declare',
    why: 'Histories, grants and attachments belong to declared types. A misspelt one would have a history that no page shows. The check calls `entity` and `created` of each operation with a text in each field, to learn the type that they name.',
    fix: 'Name one of `manifest.entities`, or declare the type there.',
    wrong: example(`
      operations: {
        'booking/confirm': operation({
          // …
          entity: ({ booking }) => ({ type: 'boking', id: booking }),
        }),
      },
    `),
    says: "app.operations['booking/confirm'].entity: names a type of records that the manifest does not declare: boking; did you mean booking?",
    right: example(`
      operations: {
        'booking/confirm': operation({
          // …
          entity: ({ booking }) => ({ type: 'booking', id: booking }),
        }),
      },
    `),
  },
  unknown_service: {
    title: 'A service that the manifest does not declare',
    why: 'What follows an event, a time or a visitor acts as a service, whose permissions the manifest lists. An unknown one may do nothing.',
    fix: 'Name one of `manifest.services`, or declare the service there with the permissions that it needs.',
    wrong: example(`
      schedules: {
        nightly: { cron: '0 3 * * *', operation: 'booking/remind', as: 'ofice' },
      },
    `),
    says: 'app.schedules.nightly.as: names a service that the manifest does not declare: ofice; did you mean office?',
    right: example(`
      schedules: {
        nightly: { cron: '0 3 * * *', operation: 'booking/remind', as: 'office' },
      },
    `),
  },
  unknown_operation: {
    title: 'A name that is no operation',
    why: 'A listener, a schedule, an erasure or the public surface would run nothing. The name is that of the table, with its slash.',
    fix: 'Correct the name, or add the operation to `operations`.',
    wrong: example(`
      on: {
        reminders: { on: ['booking.confirmed'], as: 'office', operation: 'booking/remnid', input: () => ({}) },
      },
    `),
    says: 'app.on.reminders.operation: names no operation: booking/remnid; did you mean booking/remind?',
    right: example(`
      on: {
        reminders: { on: ['booking.confirmed'], as: 'office', operation: 'booking/remind', input: () => ({}) },
      },
    `),
  },
  unknown_setting: {
    title: 'A setting that the manifest does not declare',
    why: 'The sites that may ask the public surface would never be read: the platform delivers declared settings alone.',
    fix: 'Declare it in `manifest.env`, or correct the name.',
    wrong: example(`
      manifest: {
        // …
        env: { SHOP_SITES: { summary: 'The sites with a form' } },
      },
      publicSurface: {
        service: 'form',
        sites: { setting: 'SHOP_SITE' },
        routes: (route) => route.get('/slots', (c) => c.json([])),
      },
    `),
    says: 'app.publicSurface.sites.setting: names a setting that the manifest does not declare: SHOP_SITE; did you mean SHOP_SITES?',
    right: example(`
      manifest: {
        // …
        env: { SHOP_SITES: { summary: 'The sites with a form' } },
      },
      publicSurface: {
        service: 'form',
        sites: { setting: 'SHOP_SITES' },
        routes: (route) => route.get('/slots', (c) => c.json([])),
      },
    `),
  },
  service_permission: {
    title: 'A service that may not run its operation',
    why: 'The service lacks the permission of the operation, so that each call would be refused, perhaps in the night.',
    fix: 'Give the service the permission in `manifest.services`, or let another service do it.',
    wrong: example(`
      manifest: {
        // …
        services: { clock: { name: 'Clock', permissions: ['booking.read'] } },
      },
      schedules: {
        nightly: { cron: '0 3 * * *', operation: 'booking/remind', as: 'clock' },
      },
    `),
    says: 'app.schedules.nightly.as: the service clock may not run booking/remind, which takes booking.remind',
    right: example(`
      manifest: {
        // …
        services: { clock: { name: 'Clock', permissions: ['booking.read', 'booking.remind'] } },
      },
      schedules: {
        nightly: { cron: '0 3 * * *', operation: 'booking/remind', as: 'clock' },
      },
    `),
  },
} satisfies Record<string, MistakePage>;
