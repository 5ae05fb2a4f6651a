/** The manifest of fieldwork: its permissions and roles, and the settings that its platform delivers. */
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
    'team.read': 'See who is on the team',
    'member.manage': 'Invite and remove teammates, and change their roles',
    'audit.read': 'See which attempts were refused',
    'model.account': 'Keep the books of what language models take',
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
        'team.read',
        'member.manage',
        'audit.read',
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
    // The service between members and language models: it asks whether a call may be made, and records its tokens.
    assistant: { name: 'Assistant', permissions: ['model.account'] },
  },
  env: {
    AUTH_PROVIDER: {
      summary:
        'How people sign in where no issuer was delivered: "oidc" takes access tokens of OIDC_ISSUER, "directory" keeps accounts here',
    },
    SIGN_UP: {
      summary:
        'Who may make an account where accounts are kept here: "open" for every visitor, "closed" for none',
      default: 'open',
    },
    OIDC_ISSUER: { summary: 'The identity issuer to sign in with' },
    OIDC_CLIENT_ID: { summary: 'The name under which the issuer knows this application' },
    OIDC_CLIENT_SECRET: { summary: 'The secret shared with the issuer', secret: true },
    OIDC_AUDIENCE: { summary: 'Who a presented access token must be for; by default this very instance' },
    BASE_URL: {
      summary: 'The address people reach this application at, when it cannot be told from the request',
    },
    // Which model; what it takes to reach one (addresses, keys) is the platform's own and never delivered.
    FREEHOLD_MODEL: {
      summary: 'The language model that writes summaries, such as "openai-compatible:llama3.2:3b"',
    },
    FREEHOLD_MODEL_ACCESS: {
      summary:
        'Who may have summaries written: "all", or "entitled" for those with the entitlement "assistant"',
      default: 'all',
    },
    FREEHOLD_MODEL_TOKENS_MONTHLY: {
      summary:
        'How many tokens the summaries of an instance may take in a calendar month (UTC), where no entitlement says it; "none" for no limit',
      default: '1000000',
    },
  },
} as const satisfies VerticalManifest;

export type PermissionKey = keyof typeof manifest.permissions;
export type RoleKey = keyof typeof manifest.roles;
/** The service that scheduled work runs as. */
export const OFFICE = 'office' satisfies keyof typeof manifest.services;
/** The service that the appointment form acts as. */
export const BOOKING = 'booking' satisfies keyof typeof manifest.services;
/** The service that records usage of language models. */
export const ASSISTANT = 'assistant' satisfies keyof typeof manifest.services;
