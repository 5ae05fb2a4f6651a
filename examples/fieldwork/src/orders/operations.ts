/** Opening, finding, changing and annotating work orders. Their way through the states is in `lifecycle.ts`. */
import {
  cutPage,
  noteText,
  PlatformError,
  pageOf,
  pageQuery,
  principalId,
  toTimestamp,
} from '@freehold/contracts';
import { operation } from '@freehold/kernel';
import type { SqlDatabase } from '@freehold/store';
import { z } from 'zod';
import { bindTo, subjectOfCustomer, subjectOfOrder } from '../customers/person.ts';
import { customerId } from '../customers/schema.ts';
import { requireCustomer } from '../customers/store.ts';
import { ADDRESSES } from '../lib/addresses.ts';
import { definedOf, searchText } from '../lib/text.ts';
import { siteId } from '../sites/schema.ts';
import { loadSite } from '../sites/store.ts';
import { requireNextState } from './lifecycle.ts';
import { answerOrder, orderEntity, presentOrder, VERB_PERMISSIONS } from './present.ts';
import {
  NOTE_PREFIX,
  noteOutput,
  ORDER_PREFIX,
  orderFields,
  orderId,
  orderOutput,
  orderState,
  orderSummary,
} from './schema.ts';
import { insertNote, insertOrder, listNotes, listOrders, loadOrder, saveOrder, touchOrder } from './store.ts';

const { title, description, priority } = orderFields;

export const orderOperations = {
  'order/create': operation({
    summary: 'Open a work order as a draft',
    input: z.strictObject({
      customer: customerId,
      site: siteId
        .nullable()
        .default(null)
        .describe('One of the customer’s sites; null while it is not known'),
      title,
      description: description.default(null),
      priority: priority.default('normal'),
    }),
    output: orderOutput,
    permission: 'order.create',
    http: ADDRESSES['order/create'],
    created: ({ id }) => ({ type: 'order', id }),
    subjects: ({ customer }, read) => subjectOfCustomer(read, customer),
    run: (ctx, input) => {
      requireCustomer(ctx.sql, input.customer);
      requireSiteOf(ctx.sql, input.customer, input.site);
      const id = ctx.newId(ORDER_PREFIX);
      insertOrder(
        ctx.sql,
        {
          id,
          customerId: input.customer,
          siteId: input.site,
          title: input.title,
          description: input.description,
          urgent: input.priority === 'urgent' ? 1 : 0,
        },
        ctx.now,
      );
      ctx.emit({
        type: 'order.created',
        entity: orderEntity(id),
        payload: { customer: input.customer, site: input.site, priority: input.priority },
      });
      return answerOrder(ctx, id);
    },
  }),

  'order/list': operation({
    summary: 'List the work orders you may see',
    description: 'A technician sees the orders that are assigned to him; everybody else sees all.',
    input: z.strictObject({
      state: orderState.optional(),
      customer: customerId.optional(),
      assignee: z.union([principalId, z.literal('me'), z.literal('nobody')]).optional(),
      q: searchText.optional(),
      sort: z
        .enum(['newest', 'due'])
        .default('newest')
        .describe('due: by appointment, those without one last'),
      ...pageQuery,
    }),
    output: pageOf(orderSummary),
    permission: 'order.list',
    http: ADDRESSES['order/list'],
    run: (ctx, { assignee, ...filter }) =>
      listOrders(ctx.sql, {
        ...filter,
        reach: ctx.reach('order.read', 'order'),
        assignee: assignee === 'me' ? ctx.principal : assignee,
      }),
  }),

  'order/get': operation({
    summary: 'Show one work order',
    input: z.strictObject({ order: orderId }),
    output: orderOutput,
    permission: 'order.read',
    entity: (input) => orderEntity(input.order),
    http: ADDRESSES['order/get'],
    run: (ctx, input) => presentOrder(ctx, input.order),
  }),

  'order/update': operation({
    summary: 'Change what a work order says',
    description: 'Fields that are left out stay as they are; null clears one.',
    input: z.strictObject({
      order: orderId,
      title: title.optional(),
      description: description.optional(),
      priority: priority.optional(),
      site: siteId.nullable().optional(),
    }),
    output: orderOutput,
    permission: VERB_PERMISSIONS.update,
    entity: (input) => orderEntity(input.order),
    http: ADDRESSES['order/update'],
    subjects: ({ order }, read) => subjectOfOrder(read, order),
    run: (ctx, { order, ...sent }) => {
      const before = loadOrder(ctx.sql, order);
      requireNextState(before, 'update');
      requireCustomer(ctx.sql, before.customerId);
      const { priority: urgency, site, ...change } = definedOf(sent);
      if (site !== undefined) requireSiteOf(ctx.sql, before.customerId, site);
      saveOrder(
        ctx.sql,
        {
          ...before,
          ...change,
          siteId: site === undefined ? before.siteId : site,
          urgent: urgency === undefined ? before.urgent : Number(urgency === 'urgent'),
        },
        ctx.now,
      );
      ctx.emit({
        type: 'order.updated',
        entity: orderEntity(order),
        payload: { fields: Object.keys(definedOf(sent)).sort() },
      });
      return answerOrder(ctx, order);
    },
  }),

  'order/note-add': operation({
    summary: 'Write a note on a work order',
    input: z.strictObject({ order: orderId, text: noteText(5_000) }),
    output: noteOutput,
    permission: VERB_PERMISSIONS.note,
    entity: (input) => orderEntity(input.order),
    http: ADDRESSES['order/note-add'],
    subjects: ({ order }, read) => subjectOfOrder(read, order),
    run: (ctx, { order, text }) => {
      const before = loadOrder(ctx.sql, order);
      requireNextState(before, 'note');
      requireCustomer(ctx.sql, before.customerId);
      const note = { id: ctx.newId(NOTE_PREFIX), author: ctx.principal, text, at: ctx.now };
      insertNote(ctx.sql, order, note);
      touchOrder(ctx.sql, order, ctx.now);
      ctx.emit({ type: 'order.noted', entity: orderEntity(order), payload: { note: note.id } });
      bindTo(ctx, before.customerId);
      return { ...note, at: toTimestamp(note.at) };
    },
  }),

  'order/note-list': operation({
    summary: 'List the notes of a work order, newest first',
    input: z.strictObject({ order: orderId, ...pageQuery }),
    output: pageOf(noteOutput),
    permission: 'order.read',
    entity: (input) => orderEntity(input.order),
    http: ADDRESSES['order/note-list'],
    run: (ctx, input) => {
      loadOrder(ctx.sql, input.order);
      return cutPage(
        listNotes(ctx.sql, input),
        input.limit,
        (note) => note.id,
        (note) => ({ ...note, at: toTimestamp(note.at) }),
      );
    },
  }),
};

/** An order is done at one of its own customer's places. */
function requireSiteOf(sql: SqlDatabase, customer: string, site: string | null): void {
  if (site === null || loadSite(sql, site).customer === customer) return;
  throw new PlatformError('conflict', 'This site belongs to another customer.', {
    reason: 'site_of_another_customer',
  });
}
