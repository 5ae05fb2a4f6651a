/** The programs of members of the roster in SQL, beside the statements that they share with those of instances. */
import { accessOf, deleteGrant, loadGrants, loadGrantsOfPerson } from '@freehold/auth/grants';
import { type AdmittedPrograms, admitsProgram, type ProgramAccess } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import { definePages, type PageRequest, rowsOf } from '../lib/pages.ts';
import { cancelWorkOf } from '../long-work/store.ts';
import { STAFF_TOKEN_HOST } from './policy-store.ts';
import { deleteStaffToken } from './token-store.ts';

/** The column `scope_id` of the shared tables: a control plane has one scope. */
export const CONTROL_PLANE = 'control-plane';

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

type ProgramRow = Omit<StaffProgram, 'allowed' | 'kind'> & {
  readonly access: ProgramAccess['access'];
  readonly permissions: string;
};

export interface ProgramFilter extends PageRequest {
  readonly member?: string | undefined;
  readonly nowMs: number;
}

/** Newest first. A grant without a token left opens nothing, and is left out. */
export const { statement: staffProgramsPage, list: listStaffPrograms } = definePages({
  from: rowsOf<ProgramRow>(
    `SELECT g.id, g.person_id AS member, s.name AS memberName, g.name, g.host, g.access, g.permissions,
       g.created_at AS createdAtMs, g.expires_at AS expiresAtMs, g.used_at AS lastUsedAtMs, g.used_from AS lastUsedFrom
     FROM program_grants g JOIN staff s ON s.id = g.person_id`,
  ),
  // The index of a member's grants has the scope before the id.
  where: ({ member }: ProgramFilter) =>
    member === undefined ? {} : { 'g.person_id': member, 'g.scope_id': CONTROL_PLANE },
  and: ({ nowMs }) => [
    {
      sql: `g.expires_at > ? AND EXISTS (SELECT 1 FROM program_tokens t
              WHERE t.grant_id = g.id AND t.kind <> 'code' AND t.expires_at > ?)`,
      params: [nowMs, nowMs],
    },
  ],
  key: 'g.id',
  order: 'DESC',
  item: ({ access, permissions, ...shown }): StaffProgram => ({
    ...shown,
    kind: 'program',
    allowed: accessOf({ access, permissions: JSON.parse(permissions) }),
  }),
});

const TOKENS_OF_STAFF = `SELECT t.id, t.member, s.name AS memberName, t.client AS name,
    t.created_at AS createdAtMs, t.expires_at AS expiresAtMs, t.last_used_at AS lastUsedAtMs
  FROM staff_tokens t JOIN staff s ON s.id = t.member
  WHERE (?1 IS NULL OR t.member = ?1) AND t.expires_at > ?2
  ORDER BY t.id DESC LIMIT ${LISTED_MAX}`;

/** The programs and staff tokens of a member, or without one of everybody, each newest first. */
export function listPrograms(
  db: SqlDatabase,
  { member, nowMs }: Pick<ProgramFilter, 'member' | 'nowMs'>,
): readonly StaffProgram[] {
  type TokenRow = Omit<StaffProgram, 'allowed' | 'kind' | 'host' | 'lastUsedFrom'>;
  return [
    ...listStaffPrograms(db, { member, nowMs, limit: LISTED_MAX }).items,
    ...db.all<TokenRow>(TOKENS_OF_STAFF, member ?? null, nowMs).map(
      (shown): StaffProgram => ({
        ...shown,
        ...{ kind: 'token', host: null, allowed: { access: 'all' }, lastUsedFrom: null },
      }),
    ),
  ];
}

/** Deletes the programs of a member without a row of their own, and returns their ids for the row of the caller. */
export function dropPrograms(db: SqlDatabase, member: string, nowMs: number): string[] {
  const ids = loadGrantsOfPerson(db, { personId: member }).map(({ id }) => id);
  for (const id of ids) deleteGrant(db, id);
  cancelWorkOf(db, ids, nowMs);
  return ids;
}

/** The ids of programs that a rule admits no more. */
export function grantsAdmittedNoMore(db: SqlDatabase, policy: AdmittedPrograms): string[] {
  return loadGrants(db, CONTROL_PLANE)
    .filter(({ host }) => !admitsProgram(policy, host))
    .map(({ id }) => id);
}

/** The ids of staff tokens that a rule admits no more. */
export function tokensAdmittedNoMore(db: SqlDatabase, policy: AdmittedPrograms): string[] {
  if (admitsProgram(policy, STAFF_TOKEN_HOST)) return [];
  return db.all<{ id: string }>('SELECT id FROM staff_tokens ORDER BY id').map(({ id }) => id);
}

/** Deletes what a rule admits no more, and returns the ids. */
export function dropAdmittedNoMore(db: SqlDatabase, policy: AdmittedPrograms, nowMs: number): string[] {
  const [grants, tokens] = [grantsAdmittedNoMore(db, policy), tokensAdmittedNoMore(db, policy)];
  for (const id of grants) deleteGrant(db, id);
  for (const id of tokens) deleteStaffToken(db, id);
  const ended = [...grants, ...tokens];
  cancelWorkOf(db, ended, nowMs);
  return ended;
}
