/** The operations of customers. Their data in events is sealed under their key, and is erased with them. */
import { pageOf, pageQuery } from '@freehold/contracts';
import { operation } from '@freehold/kernel';
import { z } from 'zod';
import { ADDRESSES } from '../lib/addresses.ts';
import { definedOf, searchText } from '../lib/text.ts';
import { bindTo, subjectOfCustomer } from './person.ts';
import { CUSTOMER_PREFIX, customerFields, customerId, customerOutput } from './schema.ts';
import { insertCustomer, listCustomers, loadCustomer, requireCustomer, saveCustomer } from './store.ts';

const { name, phone, email, language, remarks } = customerFields;

export const customerOperations = {
  'customer/create': operation({
    summary: 'Add a customer',
    input: z.strictObject({
      name,
      phone: phone.default(null),
      email: email.default(null),
      language: language.default(null),
      remarks: remarks.default(null),
    }),
    output: customerOutput,
    permission: 'customer.write',
    http: ADDRESSES['customer/create'],
    created: ({ id }) => ({ type: 'customer', id }),
    newSubjects: () => 1,
    run: (ctx, input) => {
      const id = ctx.newId(CUSTOMER_PREFIX);
      insertCustomer(ctx.sql, { id, ...input }, ctx.now);
      ctx.emit({
        type: 'customer.created',
        entity: { type: 'customer', id },
        piiClass: 'direct',
        subject: id,
        payload: contactOf(input),
      });
      bindTo(ctx, id);
      return loadCustomer(ctx.sql, id);
    },
  }),

  'customer/list': operation({
    summary: 'List customers by name',
    input: z.strictObject({ q: searchText.optional(), ...pageQuery }),
    output: pageOf(customerOutput),
    permission: 'customer.read',
    http: ADDRESSES['customer/list'],
    run: (ctx, input) => listCustomers(ctx.sql, input),
  }),

  'customer/get': operation({
    summary: 'Show one customer',
    input: z.strictObject({ customer: customerId }),
    output: customerOutput,
    permission: 'customer.read',
    entity: (input) => ({ type: 'customer', id: input.customer }),
    http: ADDRESSES['customer/get'],
    run: (ctx, input) => loadCustomer(ctx.sql, input.customer),
  }),

  'customer/update': operation({
    summary: 'Change a customer',
    description: 'Fields that are left out stay as they are; null clears one.',
    input: z.strictObject({
      customer: customerId,
      name: name.optional(),
      phone: phone.optional(),
      email: email.optional(),
      language: language.optional(),
      remarks: remarks.optional(),
    }),
    output: customerOutput,
    permission: 'customer.write',
    entity: (input) => ({ type: 'customer', id: input.customer }),
    http: ADDRESSES['customer/update'],
    subjects: ({ customer }, read) => subjectOfCustomer(read, customer),
    run: (ctx, { customer, ...change }) => {
      const before = requireCustomer(ctx.sql, customer);
      saveCustomer(ctx.sql, { ...before, ...definedOf(change) }, ctx.now);
      ctx.emit({
        type: 'customer.updated',
        entity: { type: 'customer', id: customer },
        piiClass: 'direct',
        subject: customer,
        payload: { fields: Object.keys(definedOf(change)).sort(), ...contactOf(change) },
      });
      bindTo(ctx, customer);
      return loadCustomer(ctx.sql, customer);
    },
  }),
};

/** The given contact details of a customer. Remarks are left out of histories. */
function contactOf(fields: {
  readonly name?: string | undefined;
  readonly phone?: string | null | undefined;
  readonly email?: string | null | undefined;
}) {
  return definedOf({ name: fields.name, phone: fields.phone, email: fields.email });
}
