/** The SQL of permissions, typed in and out. Every read is served by a key or an index. */
import type { EntityRef, PrincipalId } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import type { RoleAssignment } from '../contract/scope-methods.ts';
import type { Proof } from '../vertical/vertical.ts';

type GrantProof = Extract<Proof, { by: 'grant' }>;

/** The key of a grant: a subject, a permission, and one record or (without `entity`) the whole scope. */
export interface GrantKey {
  readonly subject: string;
  readonly permission: string;
  readonly entity?: EntityRef | undefined;
}

/** A stored grant; `expiresAtMs` is null when it does not expire. */
export interface GrantRecord {
  readonly permission: string;
  readonly entity: EntityRef | null;
  readonly expiresAtMs: number | null;
}

interface GrantRow {
  readonly permission: string;
  readonly entityType: string;
  readonly entityId: string;
  readonly expiresAtMs: number | null;
}

const LIVE = '(expires_at IS NULL OR expires_at > ?)';
const GRANT_COLUMNS =
  'permission, entity_type AS entityType, entity_id AS entityId, expires_at AS expiresAtMs';

export const PERMISSION_SQL = {
  grant: `SELECT ${GRANT_COLUMNS} FROM _spine_grants
    WHERE subject = ? AND permission = ? AND entity_type = ? AND entity_id = ? AND ${LIVE}`,
  grantedEntities: `SELECT entity_id AS id FROM _spine_grants
    WHERE subject = ? AND permission = ? AND entity_type = ? AND ${LIVE}`,
  // Without the hint SQLite takes the primary key, and reads every record that was ever shared with the subject.
  scopeWideGrants: `SELECT ${GRANT_COLUMNS} FROM _spine_grants INDEXED BY _spine_grants_wide
    WHERE subject = ? AND entity_type = '' AND ${LIVE} ORDER BY permission`,
  grantsOf: `SELECT ${GRANT_COLUMNS} FROM _spine_grants WHERE subject = ? AND ${LIVE}`,
  anyOnRecord: `SELECT 1 FROM _spine_grants WHERE subject = ? AND permission = ? AND entity_type > '' AND ${LIVE} LIMIT 1`,
  rolesOf: 'SELECT role FROM _spine_assignments WHERE principal = ? ORDER BY role',
} as const;

export function makePermissionStore(db: SqlDatabase) {
  const one = ({ subject, permission }: GrantKey, type: string, id: string, nowMs: number) =>
    db.get<GrantRow>(PERMISSION_SQL.grant, subject, permission, type, id, nowMs);

  return {
    /** Returns the live grant for the whole scope. */
    scopeWideGrant: (key: GrantKey, nowMs: number): GrantRecord | undefined => {
      const row = one(key, '', '', nowMs);
      return row && recordOf(row);
    },

    /** Returns the live grant with this key. */
    grant: (key: GrantKey, nowMs: number): GrantRecord | undefined => {
      const row = one(key, key.entity?.type ?? '', key.entity?.id ?? '', nowMs);
      return row && recordOf(row);
    },

    grantedEntities: (question: {
      subject: string;
      permission: string;
      entityType: string;
      nowMs: number;
    }): string[] =>
      db
        .all<{ id: string }>(
          PERMISSION_SQL.grantedEntities,
          question.subject,
          question.permission,
          question.entityType,
          question.nowMs,
        )
        .map((row) => row.id),

    scopeWideGrants: (subject: string, nowMs: number): GrantRecord[] =>
      db.all<GrantRow>(PERMISSION_SQL.scopeWideGrants, subject, nowMs).map(recordOf),

    /** Whether a subject has a live grant of a permission on any single record. */
    hasOnRecord: (subject: string, permission: string, nowMs: number): boolean =>
      db.get(PERMISSION_SQL.anyOnRecord, subject, permission, nowMs) !== undefined,

    /** Returns every live grant of a subject. */
    grantsOf: (subject: string, nowMs: number): GrantRecord[] =>
      db.all<GrantRow>(PERMISSION_SQL.grantsOf, subject, nowMs).map(recordOf),

    saveGrant: (
      grant: GrantKey & {
        readonly expiresAtMs: number | null;
        readonly grantedBy: string;
        readonly nowMs: number;
      },
    ): void =>
      db.run(
        `INSERT INTO _spine_grants (subject, permission, entity_type, entity_id, expires_at, granted_by, at)
         VALUES (?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (subject, permission, entity_type, entity_id)
         DO UPDATE SET expires_at = excluded.expires_at, granted_by = excluded.granted_by, at = excluded.at`,
        grant.subject,
        grant.permission,
        grant.entity?.type ?? '',
        grant.entity?.id ?? '',
        grant.expiresAtMs,
        grant.grantedBy,
        grant.nowMs,
      ),

    deleteGrant: (grant: GrantKey): void =>
      db.run(
        'DELETE FROM _spine_grants WHERE subject = ? AND permission = ? AND entity_type = ? AND entity_id = ?',
        grant.subject,
        grant.permission,
        grant.entity?.type ?? '',
        grant.entity?.id ?? '',
      ),

    /** A principal without roles keeps no direct grant. */
    deleteGrantsOf: (subject: string): void => db.run('DELETE FROM _spine_grants WHERE subject = ?', subject),

    rolesOf: (principal: string): string[] =>
      db.all<{ role: string }>(PERMISSION_SQL.rolesOf, principal).map((row) => row.role),

    assignments: (): RoleAssignment[] =>
      db
        .all<{ principal: PrincipalId; role: string; grantedBy: string; atMs: number }>(
          'SELECT principal, role, granted_by AS grantedBy, at AS atMs FROM _spine_assignments ORDER BY principal, role',
        )
        .map((row) => ({ ...row })),

    saveAssignment: (assignment: {
      principal: string;
      role: string;
      grantedBy: string;
      nowMs: number;
    }): void =>
      db.run(
        'INSERT INTO _spine_assignments (principal, role, granted_by, at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
        assignment.principal,
        assignment.role,
        assignment.grantedBy,
        assignment.nowMs,
      ),

    deleteAssignment: (principal: string, role: string): void =>
      db.run('DELETE FROM _spine_assignments WHERE principal = ? AND role = ?', principal, role),

    projectedRoles: (): { role: string; permission: string }[] =>
      db.all('SELECT role, permission FROM _spine_roles ORDER BY role, permission'),

    replaceProjectedRoles: (roles: Readonly<Record<string, readonly string[]>>): void => {
      db.run('DELETE FROM _spine_roles');
      for (const [role, permissions] of Object.entries(roles)) {
        for (const permission of new Set(permissions)) {
          db.run('INSERT INTO _spine_roles (role, permission) VALUES (?, ?)', role, permission);
        }
      }
    },
  };
}

export function proofOf({ entity, expiresAtMs }: GrantRecord): GrantProof {
  return { by: 'grant', entity, expiresAtMs };
}

function recordOf({ permission, entityType, entityId, expiresAtMs }: GrantRow): GrantRecord {
  const entity = entityType === '' ? null : { type: entityType, id: entityId };
  return { permission, entity, expiresAtMs };
}
