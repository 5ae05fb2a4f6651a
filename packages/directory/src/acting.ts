/**
 * Whether a caller still is who they were when they showed what they have. A request is authenticated before its body is
 * read, and a body may take its sender as long as it likes: whoever saw an end coming could hold a call open and finish
 * it afterwards. So it is asked again in the transaction that does what was called for.
 */
import { PlatformError } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import type { Actor } from './actors.ts';
import { STAFF_PREFIX } from './declarations/staff.ts';
import { loadMember } from './staff/store.ts';
import { loadStaffToken } from './staff/token-store.ts';
import { requireActingTenant } from './tenants/store.ts';
import { loadToken } from './tokens/store.ts';

/** @throws PlatformError `forbidden`, reason `tenant_not_active` or `access_ended`. */
export function requireActing(db: SqlDatabase, actor: Actor): void {
  requireActingTenant(db, actor);
  if (
    actor.kind === 'staff' ? isOnRoster(db, actor) : (loadToken(db, actor.id)?.revokedAtMs ?? null) === null
  )
    return;
  throw new PlatformError('forbidden', 'Your access ended, or changed, while this call was on its way.', {
    reason: 'access_ended',
  });
}

/** With the role and the token that they came with. Whoever the wiring vouches for is on a roster of its own. */
function isOnRoster(db: SqlDatabase, actor: Extract<Actor, { readonly kind: 'staff' }>): boolean {
  if (!actor.id.startsWith(`${STAFF_PREFIX}_`)) return true;
  if (actor.token !== undefined && !loadStaffToken(db, actor.token)) return false;
  return loadMember(db, actor.id)?.role === actor.role;
}
