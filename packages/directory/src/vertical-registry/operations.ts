/** Listing, creating and renaming verticals, and listing their scopes. */
import {
  cutPage,
  PlatformError,
  pageOf,
  pageQuery,
  slug,
  type TenantId,
  tenantId,
} from '@freehold/contracts';
import { z } from 'zod';
import type { Actor } from '../access/actors.ts';
import { requireMatch } from '../changes/conditions.ts';
import { adminOperation } from '../declarations/admin-operation.ts';
import { type InstanceRecord, instanceRecord, verticalRecord } from '../declarations/vertical-records.ts';
import { name, params, tag } from '../declarations/verticals.ts';
import { type AuditEntry, change, read } from '../lib/handlers.ts';
import { type PageRequest, pageStatement, type Statement } from '../lib/pages.ts';
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
  builder: 'own-tenant',
  pushToken: 'deploy',
});

export const readVerticals = /* @__PURE__ */ read(verticalsList, ({ db }, { query, actor }) => {
  const { limit, cursor } = query;
  // A builder's own filters are ignored: they would tell it about other tenants.
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
  builder: 'own-tenant',
  pushToken: 'deploy',
  etag: true,
});

export const readVertical = /* @__PURE__ */ read(verticalsGet, ({ db }, { params, actor }) => {
  return { value: shownVertical(db, requireVertical(db, actor, params.slug).slug) };
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
  pushToken: 'deploy',
  etag: true,
  problems: ['not_found', 'conflict', 'invalid_transition'],
});

export const createVertical = /* @__PURE__ */ change(verticalsCreate, (context, { body, actor, ifMatch }) => {
  const { db, revision } = context;
  const owner = ownerOf(actor, body.ownerTenant);
  const found = loadVertical(db, body.slug);
  if (found && (found.ownerTenant !== owner || found.name !== body.name))
    // The answer does not tell who owns the other vertical.
    throw slugTaken();
  requireMatch(ifMatch, found ? String(found.revision) : null);
  if (found) return { value: shownVertical(db, found.slug), audit: null, status: 200 };
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
  return { value: shownVertical(db, row.slug), audit };
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
  builder: 'own-tenant',
  pushToken: 'deploy',
  etag: true,
});

export const updateVerticalName = /* @__PURE__ */ change(
  verticalsUpdate,
  (context, { params, body, actor, ifMatch }) => {
    const { db, revision } = context;
    const before = requireVertical(db, actor, params.slug);
    requireMatch(ifMatch, String(before.revision));
    if (before.name === body.name) return { value: shownVertical(db, before.slug), audit: null };
    updateVertical(db, { ...before, name: body.name, revision, updatedAtMs: context.now() });
    const audit = { target: targetOf(before), before: { name: before.name }, after: { name: body.name } };
    return { value: shownVertical(db, before.slug), audit };
  },
);

export function slugTaken(): PlatformError {
  return new PlatformError('conflict', 'There is another vertical with this slug.', { reason: 'slug_taken' });
}

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

type InstanceRow = Omit<InstanceRecord, 'bound'> & { readonly bound: 0 | 1 };

export const verticalsInstances = adminOperation({
  name: 'verticals.instances',
  summary: 'List the scopes of a vertical with the version of each',
  description: 'A builder sees those of its own tenant, and not which other tenants use its vertical.',
  tag,
  method: 'GET',
  path: '/verticals/:slug/instances',
  input: { params, query: z.strictObject(pageQuery) },
  output: pageOf(instanceRecord),
  builder: 'own-tenant',
  pushToken: 'deploy',
});

export const readInstances = /* @__PURE__ */ read(verticalsInstances, ({ db }, { params, query, actor }) => {
  const { slug } = requireVertical(db, actor, params.slug);
  const tenant = actor.kind === 'builder' ? actor.tenant : undefined;
  const { sql, params: bound } = instancesPage({ ...query, vertical: slug, tenant });
  const rows = db.all<InstanceRow>(sql, ...bound);
  return {
    value: cutPage(
      rows,
      query.limit,
      (row) => row.scope,
      (row) => ({ ...row, bound: row.bound === 1 }),
    ),
  };
});

interface InstanceFilter extends PageRequest {
  readonly vertical: string;
  readonly tenant?: string | undefined;
}

export function instancesPage(filter: InstanceFilter): Statement {
  return pageStatement(
    {
      select: `SELECT s.id AS scope, s.tenant, s.slug, s.name, s.kind, s.status, r.version,
        b.version IS NOT NULL AS bound
        FROM scopes s JOIN verticals v ON v.slug = s.vertical LEFT JOIN scope_versions b ON b.scope = s.id
        LEFT JOIN vertical_versions r ON r.id = coalesce(b.version, v.serving)`,
      where: { 's.vertical': filter.vertical, 's.tenant': filter.tenant },
      key: 's.id',
      order: 'ASC',
    },
    filter,
  );
}
