/** The SQL of permissions, typed in and out. */
import type { EntityRef, PrincipalId } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import type { RoleAssignment } from '../scope-methods.ts';
import type { Proof } from './permissions.ts';

type GrantProof = Extract<Proof, { by: 'grant' }>;

interface GrantQuestion {
  readonly subject: string;
  readonly permission: string;
  readonly entity?: EntityRef | undefined;
  readonly nowMs: number;
}

interface GrantRow {
  readonly entityType: string;
  readonly entityId: string;
  readonly expiresAtMs: number | null;
}

const LIVE = '(expires_at IS NULL OR expires_at > ?)';
const GRANT_COLUMNS = 'entity_type AS entityType, entity_id AS entityId, expires_at AS expiresAtMs';

export function makePermissionStore(db: SqlDatabase) {
  const grants = ({ subject, permission, entity, nowMs }: GrantQuestion): GrantProof[] => {
    const wide = db.get<GrantRow>(
      `SELECT ${GRANT_COLUMNS} FROM _spine_grants
       WHERE subject = ? AND permission = ? AND entity_type = '' AND entity_id = '' AND ${LIVE}`,
      subject,
      permission,
      nowMs,
    );
    const narrow =
      entity &&
      db.get<GrantRow>(
        `SELECT ${GRANT_COLUMNS} FROM _spine_grants
         WHERE subject = ? AND permission = ? AND entity_type = ? AND entity_id = ? AND ${LIVE}`,
        subject,
        permission,
        entity.type,
        entity.id,
        nowMs,
      );
    return [wide, narrow].flatMap((row) => (row ? [proofOf(row)] : []));
  };

  return {
    grants,
    grant: (question: GrantQuestion): GrantProof | undefined => grants(question)[0],

    grantedEntities: (question: {
      subject: string;
      permission: string;
      entityType: string;
      nowMs: number;
    }): string[] =>
      db
        .all<{ id: string }>(
          `SELECT entity_id AS id FROM _spine_grants WHERE subject = ? AND permission = ? AND entity_type = ? AND ${LIVE}`,
          question.subject,
          question.permission,
          question.entityType,
          question.nowMs,
        )
        .map((row) => row.id),

    scopeWideGrants: (subject: string, nowMs: number): string[] =>
      db
        .all<{ permission: string }>(
          `SELECT permission FROM _spine_grants WHERE subject = ? AND entity_type = '' AND ${LIVE}`,
          subject,
          nowMs,
        )
        .map((row) => row.permission),

    saveGrant: (grant: {
      subject: string;
      permission: string;
      entity?: EntityRef | undefined;
      expiresAtMs?: number | undefined;
      grantedBy: string;
      nowMs: number;
    }): void =>
      db.run(
        `INSERT INTO _spine_grants (subject, permission, entity_type, entity_id, expires_at, granted_by, at)
         VALUES (?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (subject, permission, entity_type, entity_id)
         DO UPDATE SET expires_at = excluded.expires_at, granted_by = excluded.granted_by, at = excluded.at`,
        grant.subject,
        grant.permission,
        grant.entity?.type ?? '',
        grant.entity?.id ?? '',
        grant.expiresAtMs ?? null,
        grant.grantedBy,
        grant.nowMs,
      ),

    deleteGrant: (grant: { subject: string; permission: string; entity?: EntityRef | undefined }): void =>
      db.run(
        'DELETE FROM _spine_grants WHERE subject = ? AND permission = ? AND entity_type = ? AND entity_id = ?',
        grant.subject,
        grant.permission,
        grant.entity?.type ?? '',
        grant.entity?.id ?? '',
      ),

    /** A principal who holds no role any more keeps no direct grant either. */
    deleteGrantsOf: (subject: string): void => db.run('DELETE FROM _spine_grants WHERE subject = ?', subject),

    rolesOf: (principal: string): string[] =>
      db
        .all<{ role: string }>(
          'SELECT role FROM _spine_assignments WHERE principal = ? ORDER BY role',
          principal,
        )
        .map((row) => row.role),

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

function proofOf(row: GrantRow): GrantProof {
  const entity = row.entityType === '' ? null : { type: row.entityType, id: row.entityId };
  return { by: 'grant', entity, expiresAtMs: row.expiresAtMs };
}
