/** Whom a member of the roster calls as: one of the staff, or a builder of their tenant. */
import type { SqlDatabase } from '@freehold/store';
import type { MemberActor } from '../actors.ts';
import { loadTenant } from '../tenants/store.ts';
import type { StaffRow } from './store.ts';

/**
 * @param shown the session, or the token of a program, that the member came with.
 * @returns null for the builder of a tenant that is not active: they work when its push tokens do.
 */
export function memberActor(
  db: SqlDatabase,
  { id, name, role, tenant }: Pick<StaffRow, 'id' | 'name' | 'role' | 'tenant'>,
  shown: { readonly session: string } | { readonly token: string },
): MemberActor | null {
  if (role !== 'builder') return { kind: 'staff', id, name, role, ...shown };
  return tenant !== null && worksFor(db, tenant) ? { kind: 'builder', id, name, tenant, ...shown } : null;
}

/** Whether anybody may act for a tenant as its builder. */
export function worksFor(db: SqlDatabase, tenant: string): boolean {
  return loadTenant(db, tenant)?.status === 'active';
}
