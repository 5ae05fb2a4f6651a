/** The operations of sites. A customer's address in events is sealed under the customer's key. */
import { pageOf, pageQuery } from '@freehold/contracts';
import { operation } from '@freehold/kernel';
import { z } from 'zod';
import { bindTo, subjectOfCustomer, subjectOfSite } from '../customers/person.ts';
import { customerId } from '../customers/schema.ts';
import { requireCustomer } from '../customers/store.ts';
import { ADDRESSES } from '../lib/addresses.ts';
import { definedOf, searchText } from '../lib/text.ts';
import { SITE_PREFIX, siteFields, siteId, siteOutput } from './schema.ts';
import { insertSite, listSites, loadSite, saveSite } from './store.ts';

const { label, street, postcode, city, access } = siteFields;

export const siteOperations = {
  'site/create': operation({
    summary: 'Add a site to a customer',
    input: z.strictObject({
      customer: customerId,
      label,
      street,
      postcode: postcode.default(null),
      city,
      access: access.default(null),
    }),
    output: siteOutput,
    permission: 'site.write',
    http: ADDRESSES['site/create'],
    created: ({ id }) => ({ type: 'site', id }),
    subjects: ({ customer }, read) => subjectOfCustomer(read, customer),
    run: (ctx, input) => {
      requireCustomer(ctx.sql, input.customer);
      const id = ctx.newId(SITE_PREFIX);
      insertSite(ctx.sql, { id, ...input }, ctx.now);
      ctx.emit({
        type: 'site.created',
        entity: { type: 'site', id },
        piiClass: 'direct',
        subject: input.customer,
        payload: { customer: input.customer, ...placeOf(input) },
      });
      bindTo(ctx, input.customer);
      return loadSite(ctx.sql, id);
    },
  }),

  'site/list': operation({
    summary: 'List sites, of one customer or of all',
    input: z.strictObject({ customer: customerId.optional(), q: searchText.optional(), ...pageQuery }),
    output: pageOf(siteOutput),
    permission: 'site.read',
    http: ADDRESSES['site/list'],
    run: (ctx, input) => listSites(ctx.sql, input),
  }),

  'site/get': operation({
    summary: 'Show one site',
    input: z.strictObject({ site: siteId }),
    output: siteOutput,
    permission: 'site.read',
    entity: (input) => ({ type: 'site', id: input.site }),
    http: ADDRESSES['site/get'],
    run: (ctx, input) => loadSite(ctx.sql, input.site),
  }),

  'site/update': operation({
    summary: 'Change a site',
    description: 'Fields that are left out stay as they are; null clears one.',
    input: z.strictObject({
      site: siteId,
      label: label.optional(),
      street: street.optional(),
      postcode: postcode.optional(),
      city: city.optional(),
      access: access.optional(),
    }),
    output: siteOutput,
    permission: 'site.write',
    entity: (input) => ({ type: 'site', id: input.site }),
    http: ADDRESSES['site/update'],
    subjects: ({ site }, read) => subjectOfSite(read, site),
    run: (ctx, { site, ...change }) => {
      const before = loadSite(ctx.sql, site);
      requireCustomer(ctx.sql, before.customer);
      saveSite(ctx.sql, { ...before, ...definedOf(change) }, ctx.now);
      ctx.emit({
        type: 'site.updated',
        entity: { type: 'site', id: site },
        piiClass: 'direct',
        subject: before.customer,
        payload: { fields: Object.keys(definedOf(change)).sort(), ...placeOf(change) },
      });
      bindTo(ctx, before.customer);
      return loadSite(ctx.sql, site);
    },
  }),
};

/** The given address of a site. Access details are left out of histories. */
function placeOf(fields: {
  readonly label?: string | undefined;
  readonly street?: string | undefined;
  readonly postcode?: string | null | undefined;
  readonly city?: string | undefined;
}) {
  return definedOf({
    label: fields.label,
    street: fields.street,
    postcode: fields.postcode,
    city: fields.city,
  });
}
