/**
 * Appointments that visitors ask for. The widget asks as a service that can do this and nothing else; people of the
 * business accept, which makes a customer and a draft of an order, or decline, which forgets the visitor.
 */
import { PlatformError, pageOf, pageQuery } from '@freehold/contracts';
import { operation } from '@freehold/kernel';
import { z } from 'zod';
import { bindTo, subjectOfRequest } from '../customers/person.ts';
import { CUSTOMER_PREFIX, customerId } from '../customers/schema.ts';
import { insertCustomer } from '../customers/store.ts';
import { ADDRESSES } from '../lib/addresses.ts';
import { orderId } from '../orders/schema.ts';
import { REQUEST_PREFIX, requestFields, requestId, requestOutput } from './schema.ts';
import { countRequests, insertRequest, listRequests, loadRequest, removeRequest } from './store.ts';

/** Far more open requests than a business answers. The widget is public, so that this table needs a limit. */
const WAITING_MAX = 200;
const TITLE_MAX = 80;

const requestEntity = (id: string) => ({ type: 'request', id });

export const requestOperations = {
  'request/ask': operation({
    summary: 'Ask for an appointment',
    input: z.strictObject(requestFields).refine(({ phone, email }) => phone !== null || email !== null, {
      path: ['phone'],
      message: 'or an e-mail address is needed, so that you can be answered',
    }),
    // No data of the visitor: the answer is stored for repeats.
    output: z.object({ request: requestId }),
    permission: 'request.ask',
    newSubjects: () => 1,
    run: (ctx, input) => {
      if (countRequests(ctx.sql) >= WAITING_MAX)
        throw new PlatformError('rate_limited', 'Too many requests wait already. Please call instead.', {
          reason: 'requests_waiting',
        });
      const id = ctx.newId(REQUEST_PREFIX);
      const customer = ctx.newId(CUSTOMER_PREFIX);
      insertRequest(ctx.sql, { id, customerId: customer, ...input }, ctx.now);
      ctx.emit({
        type: 'request.received',
        entity: requestEntity(id),
        piiClass: 'direct',
        subject: customer,
        payload: input,
      });
      return { request: id };
    },
  }),

  'request/list': operation({
    summary: 'List the appointments that visitors ask for, longest waiting first',
    input: z.strictObject(pageQuery),
    output: pageOf(requestOutput),
    permission: 'request.read',
    http: ADDRESSES['request/list'],
    run: (ctx, input) => listRequests(ctx.sql, input),
  }),

  'request/accept': operation({
    summary: 'Take a request on: its visitor becomes a customer, with a draft of a work order',
    input: z.strictObject({ request: requestId }),
    output: z.object({ customer: customerId, order: orderId }),
    permission: 'request.settle',
    entity: (input) => requestEntity(input.request),
    http: ADDRESSES['request/accept'],
    subjects: ({ request }, read) => subjectOfRequest(read, request),
    run: (ctx, { request }) => {
      const { customerId: customer, name, phone, email, what, when } = loadRequest(ctx.sql, request);
      insertCustomer(ctx.sql, { id: customer, name, phone, email, language: null, remarks: null }, ctx.now);
      ctx.emit({
        type: 'customer.created',
        entity: { type: 'customer', id: customer },
        piiClass: 'direct',
        subject: customer,
        payload: { name, phone, email },
      });
      removeRequest(ctx.sql, request);
      const { id: order } = ctx.invoke('order/create', {
        customer,
        title: titleOf(what),
        description: when === null ? what : `${what}\n\nWhen: ${when}`,
      }) as { id: string };
      ctx.emit({ type: 'request.accepted', entity: requestEntity(request), payload: { customer, order } });
      bindTo(ctx, customer);
      return { customer, order };
    },
  }),

  'request/decline': operation({
    summary: 'Decline a request, and forget who asked',
    input: z.strictObject({ request: requestId }),
    output: z.object({ request: requestId }),
    permission: 'request.settle',
    entity: (input) => requestEntity(input.request),
    http: ADDRESSES['request/decline'],
    run: (ctx, { request }) => {
      loadRequest(ctx.sql, request);
      removeRequest(ctx.sql, request);
      ctx.emit({ type: 'request.declined', entity: requestEntity(request) });
      return { request };
    },
  }),
};

/** The first line, cut at a word. */
function titleOf(what: string): string {
  const [first = ''] = what.split(/\r?\n/);
  if (first.length <= TITLE_MAX) return first;
  return `${first.slice(0, TITLE_MAX).replace(/\s+\S*$/, '')}…`;
}
