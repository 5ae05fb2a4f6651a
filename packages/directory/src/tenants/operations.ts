/** What can be done with tenants. */
import { ID_PREFIXES, PlatformError, type TenantId } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import type { TenantRecord } from '../declarations/records.ts';
import {
  tenantsCreate,
  tenantsGet,
  tenantsList,
  tenantsSetStatus,
  tenantsUpdate,
} from '../declarations/tenants.ts';
import { type AuditEntry, type CallOf, type Change, change, read } from '../lib/handlers.ts';
import { requireMatch } from '../lib/preconditions.ts';
import { loadUnfinished } from '../long-work/store.ts';
import { reapSubject } from './reap.ts';
import {
  insertTenant,
  listTenants,
  loadTenantBySlug,
  renameTenant,
  requireTenant,
  type TenantRow,
  tenantOfRow,
  updateTenantStatus,
} from './store.ts';

/** Which state may follow which. `reaped` has no way out and is entered by reaping only. */
const TRANSITIONS: Readonly<Record<TenantRecord['status'], readonly TenantRecord['status'][]>> = {
  active: ['suspended', 'deleting'],
  suspended: ['active', 'deleting'],
  deleting: ['active'],
  reaped: [],
};

export const readTenants = read(tenantsList, ({ db }, { query, actor }) => ({
  value: listTenants(db, { ...query, only: actor.kind === 'builder' ? actor.tenant : undefined }),
}));

export const readTenant = read(tenantsGet, ({ db }, { params }) => {
  const tenant = tenantOfRow(requireTenant(db, params.tenant));
  return { value: tenant, etag: tenant.etag };
});

export const createTenant = change(tenantsCreate, (context, { body, ifMatch }) => {
  const { db } = context;
  const found = loadTenantBySlug(db, body.slug);
  requireMatch(ifMatch, found ? String(found.revision) : null);
  if (found) {
    // A reaped tenant keeps its slug as a tombstone: an address that once led to somebody leads to nobody else.
    if (found.status === 'reaped')
      throw new PlatformError('conflict', 'This slug was used before and is never used again.', {
        reason: 'slug_retired',
      });
    if (found.name !== body.name)
      throw new PlatformError('conflict', 'There is a tenant with this slug and another name.', {
        reason: 'slug_taken',
      });
    return answer(200, found, null);
  }
  const nowMs = context.now();
  const row: TenantRow = {
    id: context.newId(ID_PREFIXES.tenant) as TenantId,
    slug: body.slug,
    name: body.name,
    status: 'active',
    revision: context.revision,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  };
  insertTenant(db, row);
  return answer(201, row, { target: targetOf(row), before: null, after: auditFields(row) });
});

export const updateTenant = change(tenantsUpdate, (context, { params, body, ifMatch }) => {
  const before = requireTenant(context.db, params.tenant);
  requireMatch(ifMatch, String(before.revision));
  if (before.status === 'reaped')
    throw new PlatformError(
      'invalid_transition',
      'A tenant that is reaped is a tombstone and stays as it is.',
    );
  if (before.name === body.name) return answer(200, before, null);
  const after: TenantRow = {
    ...before,
    name: body.name,
    revision: context.revision,
    updatedAtMs: context.now(),
  };
  renameTenant(context.db, after);
  const audit = { target: targetOf(after), before: auditFields(before), after: auditFields(after) };
  return answer(200, after, audit);
});

export const setTenantStatus = change(tenantsSetStatus, (context, call) => {
  const { body } = call;
  const before = requireStep(context, call);
  const after: TenantRow = {
    ...before,
    status: body.status,
    revision: context.revision,
    updatedAtMs: context.now(),
  };
  updateTenantStatus(context.db, after);
  const audit = { target: targetOf(after), before: auditFields(before), after: auditFields(after) };
  return { ...answer(200, after, audit), rerouted: true };
});

/** The tenant, where it may become what the call says. @throws PlatformError what the declaration names. */
export function requireStep(
  { db }: Pick<UnitContext, 'db'>,
  { params, body, ifMatch }: Pick<CallOf<typeof tenantsSetStatus>, 'params' | 'body' | 'ifMatch'>,
): TenantRow {
  const before = requireTenant(db, params.tenant);
  requireMatch(ifMatch, String(before.revision));
  if (!TRANSITIONS[before.status].includes(body.status))
    throw new PlatformError(
      'invalid_transition',
      `A tenant that is ${before.status} cannot become ${body.status}.`,
    );
  // What was erased does not come back, so that a tenant does not come back while it is being erased.
  if (loadUnfinished(db, reapSubject(before.id)))
    throw new PlatformError('invalid_transition', 'This tenant is being erased.', { reason: 'being_reaped' });
  return before;
}

function answer(status: 200 | 201, row: TenantRow, audit: AuditEntry | null): Change<TenantRecord> {
  const value = tenantOfRow(row);
  return { status, value, etag: value.etag, audit };
}

function targetOf(row: TenantRow): AuditEntry['target'] {
  return { tenant: row.id, scope: null, vertical: null, other: null };
}

function auditFields({ slug, name, status }: TenantRow): AuditEntry['after'] {
  return { slug, name, status };
}
