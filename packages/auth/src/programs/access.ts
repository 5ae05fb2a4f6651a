/** The extent of a grant. */
import type { ProgramAccess } from '@freehold/contracts';
import type { GrantRow } from './store.ts';

/** Returns the extent of a grant from its row. */
export function accessOf(row: Pick<GrantRow, 'access' | 'permissions'>): ProgramAccess {
  return row.access === 'some' ? { access: 'some', permissions: row.permissions } : { access: row.access };
}
