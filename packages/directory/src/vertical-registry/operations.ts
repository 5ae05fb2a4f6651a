/** What can be done with a vertical as a whole. */

import { PlatformError, pageOf, pageQuery, slug, type TenantId, tenantId } from '@freehold/contracts';
import { z } from 'zod';
import type { Actor } from '../actors.ts';
import { adminOperation } from '../declarations/admin-operation.ts';
import type { VerticalRecord } from '../declarations/vertical-records.ts';
import { verticalRecord } from '../declarations/vertical-records.ts';
import { name, params, tag } from '../declarations/verticals.ts';
import { type AuditEntry, type Change, change, read } from '../lib/handlers.ts';
import { requireMatch } from '../lib/preconditions.ts';
import { requireActiveTenant } from '../tenants/store.ts';
import {
  insertVertical,
  listVerticals,
  loadVertical,
  requireVertical,
  shownVertical,
  updateVertical,
  type VerticalRow,
} from './verticals-store.ts';

const owned = 'A builder reaches the verticals that its tenant owns; every other one is not there.';

export const verticalsList = adminOperation({
  name: 'verticals.list',
  summary: 'List the verticals',
  description:
    'By slug. ownerTenant and visibleTo only narrow, and are for staff and services; a builder sees what its tenant owns, whatever it sends in them.',
  tag,
  method: 'GET',
  path: '/verticals',
  input: {
    query: z.strictObject({
      ownerTenant: tenantId.optional().describe('Only what this tenant owns'),
      visibleTo: tenantId.optional().describe('Only what this tenant owns, and what is published'),
      ...pageQuery,
    }),
  },
  output: pageOf(verticalRecord),
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
});

export const readVerticals = /* @__PURE__ */ read(verticalsList, ({ db }, { query, actor }) => {
  const { limit, cursor } = query;
  // What a builder sees is fixed: whatever it sends would only tell it about others.
  const filter = actor.kind === 'builder' ? { limit, cursor, ownerTenant: actor.tenant } : query;
  return { value: listVerticals(db, filter) };
});

export const verticalsGet = adminOperation({
  name: 'verticals.get',
  summary: 'Get one vertical',
  description: owned,
  tag,
  method: 'GET',
  path: '/verticals/:slug',
  input: { params },
  output: verticalRecord,
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
  etag: true,
});

export const readVertical = /* @__PURE__ */ read(verticalsGet, ({ db }, { params, actor }) => {
  const value = shownVertical(db, requireVertical(db, actor, params.slug).slug);
  return { value, etag: value.etag };
});

export const verticalsCreate = adminOperation({
  name: 'verticals.create',
  summary: 'Register a vertical',
  description:
    "Idempotent by slug: the same name and owner answer the vertical that is there (200), anything else is a conflict. Without an owner it is the platform's own; a builder's is its tenant's.",
  tag,
  method: 'POST',
  path: '/verticals',
  input: { body: z.strictObject({ slug, name, ownerTenant: tenantId.optional() }) },
  output: verticalRecord,
  success: 201,
  builder: 'own-tenant',
  audit: 'audit',
  etag: true,
  problems: ['not_found', 'conflict', 'invalid_transition'],
});

export const createVertical = /* @__PURE__ */ change(verticalsCreate, (context, { body, actor, ifMatch }) => {
  const { db, revision } = context;
  const owner = ownerOf(actor, body.ownerTenant);
  const found = loadVertical(db, body.slug);
  if (found && (found.ownerTenant !== owner || found.name !== body.name))
    // Says no more than that the name is taken: whose it is, is not everybody's to know.
    throw slugTaken();
  requireMatch(ifMatch, found ? String(found.revision) : null);
  if (found) return { ...answer(shownVertical(db, found.slug), null), status: 200 };
  if (owner !== null) requireActiveTenant(db, owner);
  const nowMs = context.now();
  const row: VerticalRow = {
    slug: body.slug,
    name: body.name,
    ownerTenant: owner,
    tier: 'private',
    ...{ builtIn: null, serving: null, promotedAtMs: null, promotion: 0 },
    revision,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  };
  insertVertical(db, row);
  const audit = { target: targetOf(row), before: null, after: { name: row.name, tier: row.tier } };
  return { ...answer(shownVertical(db, row.slug), audit), status: 201 };
});

export const verticalsUpdate = adminOperation({
  name: 'verticals.update',
  summary: 'Rename a vertical',
  description: owned,
  tag,
  method: 'PATCH',
  path: '/verticals/:slug',
  input: { params, body: z.strictObject({ name }) },
  output: verticalRecord,
  success: 200,
  builder: 'own-tenant',
  audit: 'audit',
  etag: true,
});

export const updateVerticalName = /* @__PURE__ */ change(
  verticalsUpdate,
  (context, { params, body, actor, ifMatch }) => {
    const { db, revision } = context;
    const before = requireVertical(db, actor, params.slug);
    requireMatch(ifMatch, String(before.revision));
    if (before.name === body.name) return answer(shownVertical(db, before.slug), null);
    updateVertical(db, { ...before, name: body.name, revision, updatedAtMs: context.now() });
    return answer(shownVertical(db, before.slug), {
      target: targetOf(before),
      before: { name: before.name },
      after: { name: body.name },
    });
  },
);

export function slugTaken(): PlatformError {
  return new PlatformError('conflict', 'There is another vertical with this slug.', { reason: 'slug_taken' });
}

/** What a log row about this vertical is about. */
export function targetOf(
  { slug, ownerTenant }: Pick<VerticalRow, 'slug' | 'ownerTenant'>,
  other: string | null = null,
): AuditEntry['target'] {
  return { tenant: ownerTenant, scope: null, vertical: slug, other };
}

function ownerOf(actor: Actor, named: TenantId | undefined): TenantId | null {
  if (actor.kind !== 'builder') return named ?? null;
  if (named === undefined || named === actor.tenant) return actor.tenant;
  throw new PlatformError('not_found', 'There is no such tenant.', { reason: 'unknown_tenant' });
}

function answer(value: VerticalRecord, audit: AuditEntry | null): Change<VerticalRecord> {
  return { status: 200, value, etag: value.etag, audit };
}
