/**
 * Whether a caller still is who they were when they showed what they have. A request is authenticated before its body is
 * read, and a body may take its sender as long as it likes: whoever saw an end coming could hold a call open and finish
 * it afterwards. So it is asked again in the transaction that does what was called for.
 */
import { PlatformError } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import type { Actor, MemberActor } from './actors.ts';
import { PLATFORM_GRANTS, type PlatformGrant } from './declarations/platform-grants.ts';
import { STAFF_PREFIX } from './declarations/staff.ts';
import { loadGrant } from './platform-grants/store.ts';
import { hasSession, loadMember } from './staff/store.ts';
import { loadStaffToken } from './staff/token-store.ts';
import { requireActingTenant } from './tenants/store.ts';
import { rightsOf } from './tokens/owner.ts';
import { loadToken } from './tokens/store.ts';

/**
 * @param operation what is called. Without it no vertical acts: what it may do hangs on a grant for an operation.
 * @throws PlatformError `forbidden`, reason `tenant_not_active`, `access_ended`, or `not_granted` for a vertical.
 */
export function requireActing(db: SqlDatabase, actor: Actor, operation: Callable = {}): void {
  if (actor.kind === 'vertical') {
    requireGrant(db, actor.id, operation.vertical);
    return;
  }
  // It is no caller: no way in from outside makes one.
  if (actor.kind === 'system') return;
  requireActingTenant(db, actor);
  if (isGood(db, actor)) return;
  throw new PlatformError('forbidden', 'Your access ended, or changed, while this call was on its way.', {
    reason: 'access_ended',
  });
}

/** As much of an operation as says whether a vertical may call it. */
type Callable = { readonly vertical?: PlatformGrant };

type Caller = Exclude<Actor, { readonly kind: 'vertical' | 'system' }>;

/** Whoever the wiring vouches for is on a roster of its own. */
function isGood(db: SqlDatabase, actor: Caller): boolean {
  if (actor.kind === 'service') return isTokenGood(db, actor);
  if (actor.id.startsWith(`${STAFF_PREFIX}_`)) return isOnRoster(db, actor);
  return actor.kind === 'staff' || isTokenGood(db, actor);
}

/** With the role, or for the tenant, that they came with, and with the token or the session. */
function isOnRoster(db: SqlDatabase, actor: MemberActor): boolean {
  if (actor.token !== undefined && !loadStaffToken(db, actor.token)) return false;
  if (actor.session !== undefined && !hasSession(db, { sid: actor.session, member: actor.id })) return false;
  const member = loadMember(db, actor.id);
  if (actor.kind === 'staff') return member?.role === actor.role;
  return member?.role === 'builder' && member.tenant === actor.tenant;
}

/** Not revoked, and with the rights that it came with. What acts as a service without a token is the platform itself. */
function isTokenGood(db: SqlDatabase, actor: Exclude<Caller, { readonly kind: 'staff' }>): boolean {
  const row = loadToken(db, actor.id);
  if (row && row.revokedAtMs !== null) return false;
  if (actor.kind === 'builder') return true;
  const rights = row ? rightsOf(row) : {};
  return rights !== null && rights.owner === actor.owner && rights.role === actor.role;
}

/** Looked up each time, in the transaction that acts on it: taking the grant away takes effect on the very next call. */
function requireGrant(db: SqlDatabase, vertical: string, name: PlatformGrant | undefined): void {
  if (name !== undefined && loadGrant(db, { vertical, name })) return;
  const what = name === undefined ? 'do this' : PLATFORM_GRANTS[name];
  throw new PlatformError('forbidden', `This vertical may not ${what}.`, { reason: 'not_granted' });
}
