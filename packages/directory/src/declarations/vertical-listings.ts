/** How a vertical is shown to tenants, and whether they can have new instances of it (spec 4.3; control-plane-routes, "Verticals"). */
import { slug } from '@freehold/contracts';
import { z } from 'zod';
import { adminOperation } from './admin-operation.ts';
import { installBlockRecord, listingRecord, listingTier } from './vertical-records.ts';

const tag = 'Verticals';
const params = z.strictObject({ slug });

/** Only what a page can link to without asking what it is. */
const website = z
  .string()
  .max(500)
  .regex(
    /^https:\/\/[A-Za-z0-9][A-Za-z0-9.-]*(?::[0-9]{1,5})?(?:\/[!-~]*)?$/,
    'must be an address with https',
  );

export const listingsGet = adminOperation({
  name: 'listings.get',
  summary: 'Get how a vertical is listed',
  tag,
  method: 'GET',
  path: '/verticals/:slug/listing',
  input: { params },
  output: listingRecord,
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
  etag: true,
});

export const listingsPut = adminOperation({
  name: 'listings.put',
  summary: 'Set how a vertical is listed',
  description:
    'A builder may change the texts and show its vertical to fewer; showing it to more is for staff (reason publish_by_request), and needs a version that serves. Staff settle an open request by setting its tier, or decline it with closeRequest; its owner withdraws it with the same.',
  tag,
  method: 'PUT',
  path: '/verticals/:slug/listing',
  input: {
    params,
    body: z.strictObject({
      tier: listingTier,
      title: z.string().min(1).max(100),
      summary: z.string().max(300).default(''),
      description: z.string().max(10_000).default(''),
      website: website.nullable().default(null),
      closeRequest: z.boolean().default(false),
    }),
  },
  output: listingRecord,
  success: 200,
  builder: 'own-tenant',
  audit: 'audit',
  destructive: true,
  etag: true,
  problems: ['forbidden', 'conflict'],
});

export const publishRequest = adminOperation({
  name: 'listings.request-publish',
  summary: 'Ask staff to show a vertical to more',
  description: 'One request is open at a time; the same one again changes nothing.',
  tag,
  method: 'POST',
  path: '/verticals/:slug/publish-request',
  input: {
    params,
    body: z.strictObject({
      tier: z.enum(['unlisted', 'published']).default('published'),
      note: z.string().min(1).max(1000).optional(),
    }),
  },
  output: listingRecord,
  success: 200,
  builder: 'own-tenant',
  audit: 'audit',
  etag: true,
  problems: ['conflict'],
});

export const installBlockGet = adminOperation({
  name: 'install-blocks.get',
  summary: 'Get whether new instances of a vertical are refused',
  tag,
  method: 'GET',
  path: '/verticals/:slug/install-block',
  input: { params },
  output: installBlockRecord,
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
  etag: true,
});

export const installBlockPut = adminOperation({
  name: 'install-blocks.put',
  summary: 'Refuse new instances of a vertical',
  description: 'Those that are there keep running. Whoever asks for one is told the reason.',
  tag,
  method: 'PUT',
  path: '/verticals/:slug/install-block',
  input: { params, body: z.strictObject({ reason: z.string().min(1).max(500) }) },
  output: installBlockRecord,
  success: 200,
  builder: 'own-tenant',
  audit: 'audit',
  destructive: true,
  etag: true,
  problems: ['forbidden'],
});

export const installBlockDelete = adminOperation({
  name: 'install-blocks.delete',
  summary: 'Allow new instances of a vertical again',
  description: "A block of the platform's is lifted by staff only (reason platform_block).",
  tag,
  method: 'DELETE',
  path: '/verticals/:slug/install-block',
  input: { params },
  output: z.null(),
  success: 204,
  builder: 'own-tenant',
  audit: 'audit',
  destructive: true,
  etag: true,
  problems: ['forbidden'],
});
