/** The manifest of fieldwork: its permissions and roles, and the settings that its platform delivers. */
import type { TEAM_PERMISSIONS } from '@freehold/app';
import type { VerticalManifest } from '@freehold/contracts';

export const manifest = {
  slug: 'fieldwork',
  name: 'Fieldwork',
  version: '0.1.0',
  permissions: {
    'customer.read': 'See customers',
    'customer.write': 'Add and change customers',
    'customer.erase': 'Erase what is known about a customer, for good',
    'site.read': 'See the places where work is done',
    'site.write': 'Add and change places',
    'order.list': 'List the work orders one may see',
    'order.read': 'See a work order',
    'order.create': 'Open work orders',
    'order.plan': 'Change, schedule and assign work orders',
    'order.work': 'Start and complete work orders',
    'order.note': 'Write notes on a work order, and attach files to it',
    'order.detach': 'Remove files from a work order',
    'order.cancel': 'Cancel work orders',
    'order.invoice': 'Turn completed work into an invoice',
    'order.summarise': 'Have a language model write summaries of work orders for customers',
    'invoice.read': 'See invoices',
    'reminder.read': 'See what waits to be done',
    'reminder.settle': 'Dismiss reminders',
    'reminder.raise': 'Raise reminders',
    'request.read': 'See which appointments visitors ask for',
    'request.settle': 'Accept and decline what visitors ask for',
    'request.ask': 'Ask for an appointment',
    'widget.read': 'See which web sites may ask for appointments',
    'widget.write': 'Change which web sites may ask for appointments',
    'rates.read': 'See what work is charged at',
    'rates.write': 'Change what work is charged at',
  },
  roles: {
    owner: {
      name: 'Owner',
      permissions: [
        'customer.read',
        'customer.write',
        'customer.erase',
        'site.read',
        'site.write',
        'order.list',
        'order.read',
        'order.create',
        'order.plan',
        'order.work',
        'order.note',
        'order.detach',
        'order.cancel',
        'order.invoice',
        'order.summarise',
        'invoice.read',
        'reminder.read',
        'reminder.settle',
        'request.read',
        'request.settle',
        'widget.read',
        'widget.write',
        'rates.read',
        'rates.write',
      ],
    },
    dispatcher: {
      name: 'Dispatcher',
      permissions: [
        'customer.read',
        'customer.write',
        'site.read',
        'site.write',
        'order.list',
        'order.read',
        'order.create',
        'order.plan',
        'order.work',
        'order.note',
        'order.detach',
        'order.cancel',
        'order.invoice',
        'order.summarise',
        'invoice.read',
        'reminder.read',
        'reminder.settle',
        'request.read',
        'request.settle',
        'widget.read',
        'rates.read',
        'team.read',
      ],
    },
    // A technician holds nothing about any order: each assignment grants him what he needs for that one.
    technician: { name: 'Technician', permissions: ['order.list', 'team.read'] },
  },
  ownerRole: 'owner',
  entities: {
    customer: { read: 'customer.read' },
    site: { read: 'site.read' },
    order: {
      read: 'order.read',
      resource: { titleField: 'title' },
      // A member who sees an order sees its photos; one who writes notes on it adds photos.
      attachments: { read: 'order.read', write: 'order.note', remove: 'order.detach' },
    },
    invoice: { read: 'invoice.read' },
    rates: { read: 'rates.read' },
    reminder: { read: 'reminder.read' },
    request: { read: 'request.read' },
    widget: { read: 'widget.read' },
  },
  services: {
    // The service for scheduled work: reminders, and the removal of an erased customer's files.
    office: { name: 'Fieldwork', permissions: ['reminder.raise', 'customer.erase', 'order.detach'] },
    // The appointment form on the trader's own web site: it can ask, and nothing else.
    booking: { name: 'Appointment form', permissions: ['request.ask', 'widget.read'] },
  },
  env: {},
} as const satisfies VerticalManifest;

export type PermissionKey = keyof typeof manifest.permissions | keyof typeof TEAM_PERMISSIONS;
export type RoleKey = keyof typeof manifest.roles;
/** The service that scheduled work runs as. */
export const OFFICE = 'office' satisfies keyof typeof manifest.services;
/** The service that the appointment form acts as. */
export const BOOKING = 'booking' satisfies keyof typeof manifest.services;
