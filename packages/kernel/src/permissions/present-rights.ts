/**
 * Rights do not go back with the data of a scope. Roles, and grants for the whole scope, are those of today, like the
 * members; grants on single records go with the records, for subjects that hold something today. Where the database is
 * lost, the identity directory tells which principals stand for a person, and which roles were last given to them.
 */
import { PlatformError } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import type { PresentRights, ScopeMethods, StoredGrant } from '../contract/scope-methods.ts';
import type { Standing } from '../members/members.ts';
import type { Permissions } from './permissions.ts';
import { makePermissionStore } from './store.ts';

const OF_TODAY = `entity_type = '' OR subject LIKE 'connection:%'`;

export const PRESENT_RIGHTS_SQL = {
  grants: `SELECT subject, permission, entity_type AS entityType, entity_id AS entityId, expires_at AS expiresAtMs,
    granted_by AS grantedBy, at AS atMs FROM _spine_grants WHERE ${OF_TODAY} ORDER BY 1, 2, 3, 4`,
  subjects: `SELECT principal AS subject FROM _spine_assignments UNION SELECT subject FROM _spine_grants ORDER BY 1`,
} as const;

/** A hold ends by itself, because who held may have died. The swap compares once more, so that an early end is no harm. */
export const HOLD_MS = 30_000;

/** The scope's `presentRights` and `holdRights`, and the check of every change of a right that stays. */
export function makePresentRights(
  { db, now }: { readonly db: SqlDatabase; readonly now: () => number },
  { store }: Pick<Permissions, 'store'>,
) {
  let heldAtMs: number | null = null;
  const read = (): PresentRights => ({
    provisionedAtMs: provisionedAt(db),
    assignments: store.assignments(),
    grants: db.all<StoredGrant>(PRESENT_RIGHTS_SQL.grants).map((row) => ({ ...row })),
    projectedRoles: store.projectedRoles().map((row) => ({ ...row })),
    subjects: db.all<{ subject: string }>(PRESENT_RIGHTS_SQL.subjects).map(({ subject }) => subject),
  });
  return {
    methods: {
      presentRights: read,
      holdRights: ({ known }) => {
        const isHeld = known !== null && lasting(known) === lasting(read());
        heldAtMs = isHeld ? now() : null;
        return isHeld;
      },
    } satisfies Partial<ScopeMethods>,
    /** @throws PlatformError `unavailable`, reason `busy`, while another state is about to replace this one. */
    requireFree: (): void => {
      // A clock that was set back must not prolong it.
      if (heldAtMs !== null && Math.abs(now() - heldAtMs) < HOLD_MS) throw rightsHeld();
    },
  };
}

export function rightsHeld(): PlatformError {
  return new PlatformError('unavailable', 'This instance is being restored. Try again in a moment.', {
    reason: 'busy',
  });
}

/** Returns when the scope was provisioned: one that was lost and made anew has another time. */
export function provisionedAt(db: Pick<SqlDatabase, 'get'>): number | null {
  return db.get<{ at: number }>('SELECT provisioned_at AS at FROM _spine_scope')?.at ?? null;
}

/** Whether the rights in a scope that are carried over, and the subjects that keep rights on records, are still the known ones. */
export function areSameRights(present: Pick<SqlDatabase, 'all'>, known: PresentRights): boolean {
  const { assignments, projectedRoles } = makePermissionStore(present as SqlDatabase);
  const grants = present.all<StoredGrant>(PRESENT_RIGHTS_SQL.grants);
  const subjects = present.all<{ subject: string }>(PRESENT_RIGHTS_SQL.subjects);
  return (
    lasting(known) === lasting({ assignments: assignments(), grants, projectedRoles: projectedRoles() }) &&
    known.subjects.join() === subjects.map(({ subject }) => subject).join()
  );
}

/** The rights that are carried over, as a text for comparison. Grants on records change all the time. */
function lasting({
  assignments,
  grants,
  projectedRoles,
}: Pick<PresentRights, 'assignments' | 'grants' | 'projectedRoles'>): string {
  return JSON.stringify([assignments, grants, projectedRoles]);
}

/** Gives the rights of today in a scope to an older state of it. */
export function carryRights(staged: Pick<SqlDatabase, 'run'>, rights: PresentRights): void {
  staged.run('DELETE FROM _spine_assignments');
  staged.run(
    `INSERT INTO _spine_assignments (principal, role, granted_by, at)
     SELECT value ->> 'principal', value ->> 'role', value ->> 'grantedBy', value ->> 'atMs' FROM json_each(?)`,
    JSON.stringify(rights.assignments),
  );
  staged.run(
    `DELETE FROM _spine_grants WHERE ${OF_TODAY}
       OR (subject NOT LIKE 'service:%' AND subject NOT IN (SELECT value FROM json_each(?)))`,
    JSON.stringify(rights.subjects),
  );
  staged.run(
    `INSERT INTO _spine_grants (subject, permission, entity_type, entity_id, expires_at, granted_by, at)
     SELECT value ->> 'subject', value ->> 'permission', value ->> 'entityType', value ->> 'entityId',
       value ->> 'expiresAtMs', value ->> 'grantedBy', value ->> 'atMs' FROM json_each(?)`,
    JSON.stringify(rights.grants),
  );
  staged.run('DELETE FROM _spine_roles');
  staged.run(
    `INSERT INTO _spine_roles (role, permission)
     SELECT value ->> 'role', value ->> 'permission' FROM json_each(?)`,
    JSON.stringify(rights.projectedRoles),
  );
}

/** Returns the rights of the subjects that a copy names, for a copy in another scope: others do not come along. */
export function rightsInCopy(staged: Pick<SqlDatabase, 'all'>, rights: PresentRights): PresentRights {
  const named = new Set(
    staged.all<{ subject: string }>(PRESENT_RIGHTS_SQL.subjects).map(({ subject }) => subject),
  );
  return {
    ...rights,
    assignments: rights.assignments.filter(({ principal }) => named.has(principal)),
    grants: rights.grants.filter(({ subject }) => named.has(subject)),
  };
}

/**
 * Limits the rights in a copy to principals that stand for a person. A member of whom the roles are known has those, any
 * other one those of the copy, and the principal of the seat has the role of the owner.
 */
export function limitRights(
  staged: SqlDatabase,
  standing: readonly Standing[],
  { ownerRole, nowMs }: { readonly ownerRole: string; readonly nowMs: number },
): void {
  const asCopied = standing.filter(({ roles }) => roles === null).map(({ principal }) => principal);
  staged.run(
    'DELETE FROM _spine_assignments WHERE principal NOT IN (SELECT value FROM json_each(?))',
    JSON.stringify(asCopied),
  );
  const given = standing.flatMap(({ principal, roles, owner }) =>
    [...(roles ?? []), ...(owner ? [ownerRole] : [])].map((role) => ({ principal, role })),
  );
  staged.run(
    `INSERT INTO _spine_assignments (principal, role, granted_by, at)
     SELECT value ->> 'principal', value ->> 'role', 'platform', ? FROM json_each(?) WHERE true
     ON CONFLICT DO NOTHING`,
    nowMs,
    JSON.stringify(given),
  );
  // A principal without roles keeps no direct grant.
  const withRoles = standing.filter(({ roles }) => roles === null || roles.length > 0);
  staged.run(
    `DELETE FROM _spine_grants WHERE subject LIKE 'prn\\_%' ESCAPE '\\'
       AND subject NOT IN (SELECT value FROM json_each(?))`,
    JSON.stringify(withRoles.map(({ principal }) => principal)),
  );
}
