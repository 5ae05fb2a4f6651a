/** An order as its reader may see it: joined with its customer and place, and with what this reader may do to it. */
import { type EntityRef, toTimestamp } from '@freehold/contracts';
import type { OperationContext } from '@freehold/kernel';
import { bindTo } from '../customers/person.ts';
import { loadCustomer } from '../customers/store.ts';
import { findInvoiceOfOrder } from '../invoices/store.ts';
import { loadSite } from '../sites/store.ts';
import type { Order } from './schema.ts';
import { nextState, ORDER_VERBS, type OrderVerb } from './states.ts';
import { loadAssignees, loadOrder } from './store.ts';

/** The permission of each verb, for the declarations of the operations too. */
export const VERB_PERMISSIONS = {
  update: 'order.plan',
  schedule: 'order.plan',
  assign: 'order.plan',
  unassign: 'order.plan',
  start: 'order.work',
  complete: 'order.work',
  cancel: 'order.cancel',
  invoice: 'order.invoice',
  note: 'order.note',
} as const satisfies Record<OrderVerb, string>;

/** Verbs that write text about a person: they end with the erasure of the customer. */
const ABOUT_THE_CUSTOMER: ReadonlySet<OrderVerb> = new Set(['update', 'note']);

export const orderEntity = (order: string): EntityRef => ({ type: 'order', id: order });

/** Loads an order for the caller of an operation, who has passed its permission. @throws PlatformError `not_found` */
export function presentOrder(ctx: OperationContext, id: string): Order {
  const { customerId, siteId, urgent, scheduledFrom, scheduledTo, minutes, materialsCents, ...order } =
    loadOrder(ctx.sql, id);
  const customer = loadCustomer(ctx.sql, customerId);
  const erased = customer.erasedAt !== null;
  // Of an erased customer's place nothing is left to be shown.
  const site = siteId === null || erased ? null : loadSite(ctx.sql, siteId);
  const invoice = ctx.can('invoice.read') ? findInvoiceOfOrder(ctx.sql, id) : undefined;
  return {
    ...order,
    priority: urgent === 1 ? 'urgent' : 'normal',
    customer: {
      id: customer.id,
      name: customer.name,
      phone: customer.phone,
      email: customer.email,
      erased,
    },
    site: site && {
      id: site.id,
      label: site.label,
      street: site.street,
      postcode: site.postcode,
      city: site.city,
      access: site.access,
    },
    scheduledFrom: scheduledFrom === null ? null : toTimestamp(scheduledFrom),
    scheduledTo: scheduledTo === null ? null : toTimestamp(scheduledTo),
    assignees: loadAssignees(ctx.sql, id),
    work: minutes === null ? null : { minutes, materialsCents: materialsCents ?? 0 },
    invoice: invoice
      ? {
          id: invoice.id,
          number: invoice.number,
          state: invoice.state,
          totalCents: invoice.totalCents,
          currency: invoice.currency,
        }
      : null,
    allowed: ORDER_VERBS.filter(
      (verb) =>
        nextState(verb, order.state) !== null &&
        !(erased && ABOUT_THE_CUSTOMER.has(verb)) &&
        ctx.can(VERB_PERMISSIONS[verb], orderEntity(id)),
    ),
    createdAt: toTimestamp(order.createdAt),
    updatedAt: toTimestamp(order.updatedAt),
  };
}

/** The answer of an operation that changed the order: it is stored for repeats, until the customer is erased. */
export function answerOrder(ctx: OperationContext, id: string): Order {
  const order = presentOrder(ctx, id);
  bindTo(ctx, order.customer.id);
  return order;
}
