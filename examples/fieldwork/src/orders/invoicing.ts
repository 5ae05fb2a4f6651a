/** Invoices. Two of these are set off by an order's own steps and are events of their own in its story. */
import { PlatformError, pageOf, pageQuery } from '@freehold/contracts';
import { operation } from '@freehold/kernel';
import { z } from 'zod';
import { invoiceAmounts } from '../invoices/amounts.ts';
import { INVOICE_PREFIX, invoiceId, invoiceOutput, invoiceState } from '../invoices/schema.ts';
import {
  findInvoiceOfOrder,
  insertInvoice,
  listInvoices,
  loadInvoice,
  markIssued,
} from '../invoices/store.ts';
import { ADDRESSES } from '../lib/addresses.ts';
import { loadRates } from '../rates/store.ts';
import { orderEntity, VERB_PERMISSIONS } from './present.ts';
import { orderId } from './schema.ts';
import { loadOrder } from './store.ts';

const setOff = z.object({ invoice: invoiceId });

export const invoiceOperations = {
  'invoice/draft': operation({
    summary: 'Draft the invoice of a completed work order',
    description: 'Set off by order/complete. An order has one invoice.',
    input: z.strictObject({ order: orderId }),
    output: setOff,
    // The member who completes the work triggers this, and so needs the permission.
    permission: VERB_PERMISSIONS.complete,
    entity: (input) => orderEntity(input.order),
    mcp: false,
    run: (ctx, { order }) => {
      const { state, number, minutes, materialsCents } = loadOrder(ctx.sql, order);
      if (state !== 'done' || minutes === null)
        throw new PlatformError(
          'invalid_transition',
          `Order #${number} is not done, so there is nothing to charge.`,
          {
            reason: `order_is_${state}`,
          },
        );
      if (findInvoiceOfOrder(ctx.sql, order))
        throw new PlatformError('conflict', `Order #${number} has its invoice already.`, {
          reason: 'invoice_exists',
        });
      const rates = loadRates(ctx.sql);
      const id = ctx.newId(INVOICE_PREFIX);
      const amounts = invoiceAmounts({ minutes, materialsCents: materialsCents ?? 0 }, rates);
      insertInvoice(ctx.sql, { id, order, currency: rates.currency, ...amounts }, ctx.now);
      ctx.emit({
        type: 'invoice.drafted',
        entity: { type: 'invoice', id },
        payload: { order, totalCents: amounts.totalCents, currency: rates.currency },
      });
      return { invoice: id };
    },
  }),

  'invoice/issue': operation({
    summary: 'Give a drafted invoice its number',
    description: 'Set off by order/invoice.',
    input: z.strictObject({ order: orderId }),
    output: setOff,
    permission: VERB_PERMISSIONS.invoice,
    entity: (input) => orderEntity(input.order),
    mcp: false,
    run: (ctx, { order }) => {
      const { state, number } = loadOrder(ctx.sql, order);
      const draft = findInvoiceOfOrder(ctx.sql, order);
      if (state !== 'invoiced' || draft?.state !== 'draft')
        throw new PlatformError(
          'invalid_transition',
          `Order #${number} has no invoice that waits to be issued.`,
          {
            reason: 'no_draft_invoice',
          },
        );
      markIssued(ctx.sql, draft.id, ctx.now);
      const issued = loadInvoice(ctx.sql, draft.id);
      ctx.emit({
        type: 'invoice.issued',
        entity: { type: 'invoice', id: draft.id },
        payload: { order, number: issued.number, totalCents: issued.totalCents, currency: issued.currency },
      });
      return { invoice: draft.id };
    },
  }),

  'invoice/list': operation({
    summary: 'List invoices, newest first',
    input: z.strictObject({ state: invoiceState.optional(), ...pageQuery }),
    output: pageOf(invoiceOutput),
    permission: 'invoice.read',
    http: ADDRESSES['invoice/list'],
    run: (ctx, input) => listInvoices(ctx.sql, input),
  }),

  'invoice/get': operation({
    summary: 'Show one invoice',
    input: z.strictObject({ invoice: invoiceId }),
    output: invoiceOutput,
    permission: 'invoice.read',
    entity: (input) => ({ type: 'invoice', id: input.invoice }),
    http: ADDRESSES['invoice/get'],
    run: (ctx, input) => loadInvoice(ctx.sql, input.invoice),
  }),
};
