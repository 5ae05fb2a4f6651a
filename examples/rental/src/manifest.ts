/** Permissions, roles, kinds of records and settings. */
import type { VerticalManifest } from '@freehold/app';
import { items } from './items.ts';
import { SHOP } from './shop.ts';

export const manifest = {
  slug: 'rental',
  name: 'Rental',
  version: '0.1.0',
  permissions: {
    'item.read': 'See what is for rent',
    'item.write': 'Add things for rent, change and archive them',
    'item.repair': 'Send things to repair, and take them back',
    'renter.read': 'See who rents',
    'renter.write': 'Write down who rents',
    'renter.erase': 'Erase a person who rented, for good',
    'booking.read': 'See bookings',
    'booking.write': 'Book, hand out, take back and cancel',
    'booking.remind': 'Raise reminders of what is overdue',
  },
  roles: {
    owner: {
      name: 'Owner',
      permissions: [
        'item.read',
        'item.write',
        'item.repair',
        'renter.read',
        'renter.write',
        'renter.erase',
        'booking.read',
        'booking.write',
      ],
    },
    counter: {
      name: 'Counter',
      permissions: ['item.read', 'renter.read', 'renter.write', 'booking.read', 'booking.write', 'team.read'],
    },
    workshop: { name: 'Workshop', permissions: ['item.read', 'item.repair', 'team.read'] },
  },
  ownerRole: 'owner',
  entities: {
    item: {
      ...items.entity,
      attachments: { read: 'item.read', write: 'item.write', remove: 'item.write' },
    },
    renter: { read: 'renter.read' },
    booking: {
      read: 'booking.read',
      // Photographs of the damage.
      attachments: { read: 'booking.read', write: 'booking.write' },
    },
  },
  services: { [SHOP]: { name: 'The shop itself', permissions: ['item.repair', 'booking.remind'] } },
  env: {},
} satisfies VerticalManifest;
