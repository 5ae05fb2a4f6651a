/**
 * The extent of a program's grant for a member of the roster: which operations it reaches, within what its member may do.
 * `read` reaches what changes nothing; `some` reaches that, and what its permissions name.
 */
import type { ProgramAccess } from '@freehold/contracts';
import type { AdminOperation } from '../declarations/admin-operation.ts';
import type { RosterRole } from '../declarations/staff.ts';

/** The permissions that a grant can name, with their words for the person who decides. */
const PERMISSIONS = {
  deploy: 'Deploy versions of your verticals, and read their logs',
  operate:
    'Change tenants, scopes, host names, settings and verticals with their secrets, and restore scopes',
  administer:
    'Change the roster, make tokens and links for owners, rotate session secrets, and do what cannot be undone (erase, reap, restore the directory)',
} as const;

export type StaffPermission = keyof typeof PERMISSIONS;

const OF_ROLE: Readonly<Record<RosterRole, readonly StaffPermission[]>> = {
  admin: ['operate', 'administer'],
  operator: ['operate'],
  auditor: [],
  builder: ['deploy'],
};

/** Returns the permissions that a member of this role can give to a program, with their words. */
export function offeredPermissions(role: RosterRole): readonly (readonly [StaffPermission, string])[] {
  return OF_ROLE[role].map((key) => [key, PERMISSIONS[key]]);
}

/** Operations whose answer is a secret or link that works without the program: each counts as administration. */
const LASTING: ReadonlySet<string> = new Set([
  'push-tokens.create',
  'push-tokens.rotate',
  'owner-claim.mint',
]);

/** Whether a grant reaches an operation. What the member may do is asked apart from this. */
export function reachesOperation(allowed: ProgramAccess, operation: AdminOperation): boolean {
  if (allowed.access === 'all' || changesNothing(operation)) return true;
  if (allowed.access !== 'some') return false;
  const { permissions } = allowed;
  const needed = neededFor(operation);
  // `deploy` is what the least kind of push token may do, apart from making another one.
  if (needed === 'operate' && operation.pushToken === 'deploy' && permissions.includes('deploy')) return true;
  return permissions.includes(needed);
}

/** Not by its declared access: an operation that ends a token of one's own counts as reading there. */
function changesNothing({ audit, method }: AdminOperation): boolean {
  return audit === 'access' || (audit === 'none' && method === 'GET');
}

function neededFor({ name, staff }: AdminOperation): StaffPermission {
  return staff === 'administer' || LASTING.has(name) ? 'administer' : 'operate';
}
