/**
 * Where each operation is reached over HTTP. The declarations on the server and the client in the browser both
 * read this table, so that an address is written once.
 */
import type { HttpBinding } from '@freehold/operations';

export const ADDRESSES = {
  'customer/create': { method: 'POST', path: '/api/customers' },
  'customer/list': { method: 'GET', path: '/api/customers' },
  'customer/get': { method: 'GET', path: '/api/customers/:customer' },
  'customer/update': { method: 'PATCH', path: '/api/customers/:customer' },
  'site/create': { method: 'POST', path: '/api/sites' },
  'site/list': { method: 'GET', path: '/api/sites' },
  'site/get': { method: 'GET', path: '/api/sites/:site' },
  'site/update': { method: 'PATCH', path: '/api/sites/:site' },
  'order/create': { method: 'POST', path: '/api/orders' },
  'order/list': { method: 'GET', path: '/api/orders' },
  'order/get': { method: 'GET', path: '/api/orders/:order' },
  'order/update': { method: 'PATCH', path: '/api/orders/:order' },
  'order/schedule': { method: 'POST', path: '/api/orders/:order/schedule' },
  'order/assign': { method: 'POST', path: '/api/orders/:order/assign' },
  'order/unassign': { method: 'POST', path: '/api/orders/:order/unassign' },
  'order/start': { method: 'POST', path: '/api/orders/:order/start' },
  'order/complete': { method: 'POST', path: '/api/orders/:order/complete' },
  'order/cancel': { method: 'POST', path: '/api/orders/:order/cancel' },
  'order/invoice': { method: 'POST', path: '/api/orders/:order/invoice' },
  'order/note-add': { method: 'POST', path: '/api/orders/:order/notes' },
  'order/note-list': { method: 'GET', path: '/api/orders/:order/notes' },
  'invoice/list': { method: 'GET', path: '/api/invoices' },
  'invoice/get': { method: 'GET', path: '/api/invoices/:invoice' },
  'reminder/list': { method: 'GET', path: '/api/reminders' },
  'reminder/dismiss': { method: 'POST', path: '/api/reminders/:reminder/dismiss' },
  'request/list': { method: 'GET', path: '/api/requests' },
  'request/accept': { method: 'POST', path: '/api/requests/:request/accept' },
  'request/decline': { method: 'POST', path: '/api/requests/:request/decline' },
  'widget/get': { method: 'GET', path: '/api/widget' },
  'widget/update': { method: 'PUT', path: '/api/widget' },
  'rates/get': { method: 'GET', path: '/api/rates' },
  'rates/update': { method: 'PUT', path: '/api/rates' },
  'dashboard/summary': { method: 'GET', path: '/api/dashboard' },
} as const satisfies Record<string, HttpBinding>;

/** Every operation that a browser can call. */
export type AddressedOperation = keyof typeof ADDRESSES;
