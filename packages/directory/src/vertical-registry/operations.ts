/** What can be done with a vertical as a whole. */
import { PlatformError, type TenantId } from '@freehold/contracts';
import type { Actor } from '../actors.ts';
import type { VerticalRecord } from '../declarations/vertical-records.ts';
import { verticalsCreate, verticalsGet, verticalsList, verticalsUpdate } from '../declarations/verticals.ts';
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

export const readVerticals = read(verticalsList, ({ db }, { query, actor }) => {
  const { limit, cursor } = query;
  // What a builder sees is fixed: whatever it sends would only tell it about others.
  const filter = actor.kind === 'builder' ? { limit, cursor, ownerTenant: actor.tenant } : query;
  return { value: listVerticals(db, filter) };
});

export const readVertical = read(verticalsGet, ({ db }, { params, actor }) => {
  const value = shownVertical(db, requireVertical(db, actor, params.slug).slug);
  return { value, etag: value.etag };
});

export const createVertical = change(verticalsCreate, (context, { body, actor, ifMatch }) => {
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

export const updateVerticalName = change(verticalsUpdate, (context, { params, body, actor, ifMatch }) => {
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
});

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
