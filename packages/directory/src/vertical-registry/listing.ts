/** The listing of a vertical, and requests to show it to more people. */
import { lineOfText, noteText, optionalNoteText, PlatformError, toTimestamp } from '@freehold/contracts';
import { z } from 'zod';
import { requireMatch } from '../changes/conditions.ts';
import { adminOperation } from '../declarations/admin-operation.ts';
import { params, tag } from '../declarations/vertical-listings.ts';
import {
  type ListingRecord,
  type ListingTier,
  listingRecord,
  listingTier,
} from '../declarations/vertical-records.ts';
import { type AuditEntry, type ChangeAnswer, type ChangeContext, change, read } from '../lib/handlers.ts';
import { targetOf } from './operations.ts';
import {
  type ListingRow,
  listings,
  requireVertical,
  saveListing,
  updateVertical,
  type VerticalRow,
} from './verticals-store.ts';

/** Only addresses that a page can link to safely. */
const website = z
  .string()
  .max(500)
  .regex(
    /^https:\/\/[A-Za-z0-9][A-Za-z0-9.-]*(?::[0-9]{1,5})?(?:\/[!-~]*)?$/,
    'must be an address with https',
  );

/** From the fewest to the most people who can find it. */
const TIERS: readonly ListingTier[] = ['private', 'unlisted', 'published'];

type Request = NonNullable<ListingRecord['request']>;

export const listingsGet = adminOperation({
  name: 'listings.get',
  summary: 'Get how a vertical is listed',
  tag,
  method: 'GET',
  path: '/verticals/:slug/listing',
  input: { params },
  output: listingRecord,
  builder: 'own-tenant',
  pushToken: 'deploy',
  etag: true,
});

export const readListing = /* @__PURE__ */ read(listingsGet, ({ db }, { params, actor }) => {
  return { value: listingOf(requireVertical(db, actor, params.slug), listings.get(db, params.slug)) };
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
      title: lineOfText(100),
      summary: optionalNoteText(300).default(''),
      description: optionalNoteText(10_000).default(''),
      website: website.nullable().default(null),
      closeRequest: z.boolean().default(false),
    }),
  },
  output: listingRecord,
  builder: 'own-tenant',
  pushToken: 'deploy',
  destructive: true,
  etag: true,
  problems: ['forbidden', 'conflict'],
});

export const putListing = /* @__PURE__ */ change(listingsPut, (context, { params, body, actor, ifMatch }) => {
  const { db } = context;
  const vertical = requireVertical(db, actor, params.slug);
  const before = listingOf(vertical, listings.get(db, vertical.slug));
  requireMatch(ifMatch, before.etag);
  const { tier, closeRequest, ...texts } = body;
  const widens = TIERS.indexOf(tier) > TIERS.indexOf(vertical.tier);
  if (widens) requireMayWiden(vertical, actor.kind === 'builder');
  const request = settled(before.request, {
    tier,
    closes: closeRequest ? (actor.kind === 'builder' ? 'withdrawn' : 'declined') : null,
    at: toTimestamp(context.now()),
  });
  return save(context, vertical, before, { ...before, ...texts, tier, request });
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
      note: noteText(1000).optional(),
    }),
  },
  output: listingRecord,
  builder: 'own-tenant',
  pushToken: 'deploy',
  etag: true,
  problems: ['conflict'],
});

export const requestPublish = /* @__PURE__ */ change(
  publishRequest,
  (context, { params, body, actor, ifMatch }) => {
    const { db } = context;
    const vertical = requireVertical(db, actor, params.slug);
    const before = listingOf(vertical, listings.get(db, vertical.slug));
    requireMatch(ifMatch, before.etag);
    if (TIERS.indexOf(body.tier) <= TIERS.indexOf(vertical.tier))
      throw new PlatformError('conflict', `This vertical is ${vertical.tier} already.`, {
        reason: 'already_listed',
      });
    const note = body.note ?? null;
    const open = before.request?.status === 'open' ? before.request : null;
    if (open && open.tier === body.tier && open.note === note) return { value: before, audit: null };
    if (open)
      throw new PlatformError('conflict', 'Another request is open: withdraw it first.', {
        reason: 'request_open',
      });
    const { kind, id, name } = actor;
    const request: Request = {
      tier: body.tier,
      note,
      status: 'open',
      requestedBy: { kind, id, name },
      requestedAt: toTimestamp(context.now()),
      settledAt: null,
    };
    return save(context, vertical, before, { ...before, request });
  },
);

/**
 * Staff decide who else is shown a vertical, and a version of it must serve.
 * @throws PlatformError `forbidden`, reason `publish_by_request`; `conflict`, reason `nothing_serves`.
 */
function requireMayWiden(vertical: VerticalRow, isBuilder: boolean): void {
  if (isBuilder)
    throw new PlatformError('forbidden', 'Staff decide who else is shown it: make a publish request.', {
      reason: 'publish_by_request',
    });
  if (vertical.serving === null)
    throw new PlatformError('conflict', 'No version of it serves yet: promote one first.', {
      reason: 'nothing_serves',
    });
}

function settled(
  request: Request | null,
  { tier, closes, at }: { tier: ListingTier; closes: 'withdrawn' | 'declined' | null; at: string },
): Request | null {
  if (request?.status !== 'open') return request;
  if (tier === request.tier) return { ...request, status: 'granted', settledAt: at };
  return closes === null ? request : { ...request, status: closes, settledAt: at };
}

function save(
  { db, now, revision }: ChangeContext,
  vertical: VerticalRow,
  before: ListingRecord,
  after: ListingRecord,
): ChangeAnswer<ListingRecord> {
  if (JSON.stringify(before) === JSON.stringify(after)) return { value: before, audit: null };
  const nowMs = now();
  if (after.tier !== vertical.tier)
    updateVertical(db, { ...vertical, tier: after.tier, revision, updatedAtMs: nowMs });
  const { title, summary, description, website, request } = after;
  saveListing(db, {
    ...{ vertical: vertical.slug, title, summary, description, website, request, revision },
    updatedAtMs: nowMs,
  });
  const value = { ...after, etag: String(revision), updatedAt: toTimestamp(nowMs) };
  const audit = { target: targetOf(vertical), before: auditFields(before), after: auditFields(after) };
  return { value, audit };
}

/** Leaves out the description: it is a page of text, and the log is kept for ever. */
function auditFields({ tier, title, summary, website, request }: ListingRecord): AuditEntry['after'] {
  const asked = request && { tier: request.tier, note: request.note, status: request.status };
  return { tier, title, summary, website, request: asked };
}

/** A vertical without a description is listed by its name. */
function listingOf(vertical: VerticalRow, row: ListingRow | undefined): ListingRecord {
  return {
    vertical: vertical.slug,
    tier: vertical.tier,
    title: row?.title ?? vertical.name,
    summary: row?.summary ?? '',
    description: row?.description ?? '',
    website: row?.website ?? null,
    request: row?.request ?? null,
    updatedAt: toTimestamp(row?.updatedAtMs ?? vertical.createdAtMs),
    etag: String(row?.revision ?? 0),
  };
}
