/** The programs of members of the roster in SQL, beside the statements that they share with those of instances. */
import { accessOf, deleteGrant, loadGrantsOfPerson } from '@freehold/auth/grants';
import type { ProgramAccess } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';

/** A program that can be used now. */
export interface StaffProgram {
  /** The id of a grant, or of a staff token. */
  readonly id: string;
  /** `token`: of a program that this server knows by its name, with all rights of its member. */
  readonly kind: 'program' | 'token';
  readonly member: string;
  readonly memberName: string;
  /** As the program calls itself; of a token, the id of its client. */
  readonly name: string;
  readonly host: string | null;
  readonly allowed: ProgramAccess;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  /** Accurate to a minute; null when it was never used. */
  readonly lastUsedAtMs: number | null;
  /** The network address of that use; null where it is unknown. */
  readonly lastUsedFrom: string | null;
}

const LISTED_MAX = 500;

/** By the index of a member's grants, or all of them; a grant without a token left opens nothing. */
export const STAFF_PROGRAMS = `SELECT g.id, g.person_id AS member, s.name AS memberName, g.name, g.host, g.access,
    g.permissions, g.created_at AS createdAtMs, g.expires_at AS expiresAtMs, g.used_at AS lastUsedAtMs,
    g.used_from AS lastUsedFrom
  FROM program_grants g JOIN staff s ON s.id = g.person_id
  WHERE (?1 IS NULL OR g.person_id = ?1) AND g.expires_at > ?2
    AND EXISTS (SELECT 1 FROM program_tokens t WHERE t.grant_id = g.id AND t.kind <> 'code' AND t.expires_at > ?2)
  ORDER BY g.id DESC LIMIT ${LISTED_MAX}`;

export const TOKENS_OF_STAFF = `SELECT t.id, t.member, s.name AS memberName, t.client AS name,
    t.created_at AS createdAtMs, t.expires_at AS expiresAtMs, t.last_used_at AS lastUsedAtMs
  FROM staff_tokens t JOIN staff s ON s.id = t.member
  WHERE (?1 IS NULL OR t.member = ?1) AND t.expires_at > ?2
  ORDER BY t.id DESC LIMIT ${LISTED_MAX}`;

/** The programs and staff tokens of a member, or with null of everybody, each newest first. */
export function listPrograms(
  db: SqlDatabase,
  { member, nowMs }: { readonly member: string | null; readonly nowMs: number },
): readonly StaffProgram[] {
  type Row = Omit<StaffProgram, 'allowed' | 'kind'> & {
    readonly access: ProgramAccess['access'];
    readonly permissions: string;
  };
  type TokenRow = Omit<StaffProgram, 'allowed' | 'kind' | 'host' | 'lastUsedFrom'>;
  return [
    ...db.all<Row>(STAFF_PROGRAMS, member, nowMs).map(
      ({ access, permissions, ...shown }): StaffProgram => ({
        ...shown,
        kind: 'program',
        allowed: accessOf({ access, permissions: JSON.parse(permissions) }),
      }),
    ),
    ...db.all<TokenRow>(TOKENS_OF_STAFF, member, nowMs).map(
      (shown): StaffProgram => ({
        ...shown,
        ...{ kind: 'token', host: null, allowed: { access: 'all' }, lastUsedFrom: null },
      }),
    ),
  ];
}

/** Deletes the programs of a member without a row of their own, and returns their ids for the row of the caller. */
export function dropPrograms(db: SqlDatabase, member: string): string[] {
  const ids = loadGrantsOfPerson(db, { personId: member }).map(({ id }) => id);
  for (const id of ids) deleteGrant(db, id);
  return ids;
}
