/** Forgets a scope that is being deleted: the directory is the tenant's, and would keep its rows about the scope. */
import type { SqlDatabase, UnitContext } from '@freehold/store';
import { directoryIssuer } from '../accounts/contract.ts';
import { hashToken } from '../lib/token.ts';

export interface ForgottenScope {
  /** 1, or 0 when the scope had no owner seat. */
  readonly seats: number;
  readonly settings: number;
  readonly invites: number;
  readonly members: number;
  readonly formerMembers: number;
  readonly sessions: number;
  /** Of the scope, and tenant-wide ones about deleted people. */
  readonly events: number;
  readonly people: number;
}

export function makeForgetOperations(unit: UnitContext) {
  return {
    /**
     * Deletes all rows about a scope: its owner seat, settings, invites, members, former members, sessions, and its
     * identity events, since they say who signed in; and the people who are known in no other scope of the tenant,
     * with their traces. Accounts belong to the tenant and stay, with their person. Other scopes lose nothing.
     *
     * Every session of the scope is ended: its random id stays until it would have expired, without an event, which
     * would name the scope. From then on nothing is written about the scope: a call that is still running there is
     * refused with `not_found`, reason `unknown_scope`, until provisioning opens a seat for it again
     * (`setPendingOwner`). Forgetting an unknown scope, or one again, deletes nothing.
     */
    forgetScope({ scopeId }: { scopeId: string }): ForgottenScope {
      const { db } = unit;
      const accountIssuer = directoryIssuer(unit.key);
      const people = loadPeopleOfScope(db, scopeId);
      const subjects = loadSubjectsOfScope(db, scopeId);
      endSessionsOfScope(db, scopeId);
      const rows = deleteScopeRows(db, scopeId);
      const peopleGone = deletePeopleLeftAlone(db, { among: people, accountIssuer });
      const eventsOfGone = deleteTracesOfGone(db, { among: subjects, accountIssuer });
      markScopeForgotten(db, scopeId);
      return {
        seats: rows.seats,
        settings: rows.config,
        invites: rows.invites,
        members: rows.bindings,
        formerMembers: rows.former_members,
        sessions: rows.sessions,
        events: rows.identity_events + eventsOfGone,
        people: peopleGone,
      };
    },
  };
}

/** The tables with rows of a scope. Those that refer to others come first. */
const SCOPE_TABLES = [
  'program_tokens',
  'program_grants',
  'program_clients',
  'program_assertions',
  'program_policies',
  'program_questions',
  'bindings',
  'former_members',
  'seats',
  'invites',
  'leftover_roles',
  'sessions',
  'config',
  'config_versions',
  'identity_events',
] as const;

type ScopeTable = (typeof SCOPE_TABLES)[number];

/** The people of a scope: members, former members, and those who took its seat or an invite of it. */
const KNOWN_HERE = `SELECT person_id AS id FROM bindings WHERE scope_id = ?1
  UNION SELECT person_id FROM former_members WHERE scope_id = ?1
  UNION SELECT claimed_by FROM seats WHERE scope_id = ?1 AND claimed_by IS NOT NULL
  UNION SELECT accepted_by FROM invites WHERE scope_id = ?1 AND accepted_by IS NOT NULL`;

/** Returns the ids of the people of a scope, as a JSON list. */
function loadPeopleOfScope(db: SqlDatabase, scopeId: string): string {
  return JSON.stringify(db.all<{ id: string }>(KNOWN_HERE, scopeId).map(({ id }) => id));
}

/** Returns all subjects with a row about a scope, members or not, as a JSON list of pairs of issuer and `sub`. */
function loadSubjectsOfScope(db: SqlDatabase, scopeId: string): string {
  const subjects = db.all<{ issuer: string; sub: string }>(
    `SELECT issuer, sub FROM identity_events WHERE scope_id = ?1 AND issuer IS NOT NULL AND sub IS NOT NULL
     UNION SELECT issuer, sub FROM sessions WHERE scope_id = ?1
     UNION SELECT p.issuer, p.sub FROM people p WHERE p.id IN (${KNOWN_HERE})`,
    scopeId,
  );
  return JSON.stringify(subjects.map(({ issuer, sub }) => [issuer, sub]));
}

/** Ends every listed session of a scope before the list is deleted: the cookies would otherwise stay good. */
function endSessionsOfScope(db: SqlDatabase, scopeId: string): void {
  db.run(
    `INSERT INTO ended_sessions (sid, expires_at) SELECT sid, expires_at FROM sessions WHERE scope_id = ?
     ON CONFLICT (sid) DO NOTHING`,
    scopeId,
  );
}

function deleteScopeRows(db: SqlDatabase, scopeId: string): Readonly<Record<ScopeTable, number>> {
  const counts = SCOPE_TABLES.map((table) => {
    const counted = db.get<{ rows: number }>(
      `SELECT count(*) AS "rows" FROM ${table} WHERE scope_id = ?`,
      scopeId,
    );
    db.run(`DELETE FROM ${table} WHERE scope_id = ?`, scopeId);
    return [table, counted?.rows ?? 0];
  });
  return Object.fromEntries(counts);
}

/** People without a row in any scope of the tenant. Holders of accounts belong to the tenant. */
const LEFT_ALONE = `id IN (SELECT value FROM json_each(?1))
  AND NOT EXISTS (SELECT 1 FROM bindings b WHERE b.person_id = people.id)
  AND NOT EXISTS (SELECT 1 FROM former_members f WHERE f.person_id = people.id)
  AND NOT EXISTS (SELECT 1 FROM seats s WHERE s.claimed_by = people.id)
  AND NOT EXISTS (SELECT 1 FROM invites i WHERE i.accepted_by = people.id)
  AND NOT (issuer = ?2 AND EXISTS (SELECT 1 FROM accounts a WHERE a.user_id = people.sub))`;

/** @param among a JSON list of ids. @param accountIssuer the directory's own. */
function deletePeopleLeftAlone(
  db: SqlDatabase,
  { among, accountIssuer }: { readonly among: string; readonly accountIssuer: string },
): number {
  const counted = db.get<{ people: number }>(
    `SELECT count(*) AS people FROM people WHERE ${LEFT_ALONE}`,
    among,
    accountIssuer,
  );
  db.run(`DELETE FROM people WHERE ${LEFT_ALONE}`, among, accountIssuer);
  return counted?.people ?? 0;
}

/** Those subjects without a person, an account, a session and an event of a scope. */
const GONE = `SELECT value ->> 0 AS issuer, value ->> 1 AS sub FROM json_each(?1)
  WHERE NOT EXISTS (SELECT 1 FROM people p WHERE p.issuer = value ->> 0 AND p.sub = value ->> 1)
    AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.issuer = value ->> 0 AND s.sub = value ->> 1)
    AND NOT (value ->> 0 = ?2 AND EXISTS (SELECT 1 FROM accounts a WHERE a.user_id = value ->> 1))
  EXCEPT SELECT issuer, sub FROM identity_events WHERE scope_id IS NOT NULL`;

/**
 * Deletes the session floors, issuer logouts and tenant-wide events of subjects without other rows. While a subject
 * has a session they stay: without its floor, ended sessions would live again. Returns how many events that were.
 * @param among a JSON list of pairs of issuer and `sub`.
 */
function deleteTracesOfGone(
  db: SqlDatabase,
  { among, accountIssuer }: { readonly among: string; readonly accountIssuer: string },
): number {
  const gone = JSON.stringify(
    db
      .all<{ issuer: string; sub: string }>(GONE, among, accountIssuer)
      .map(({ issuer, sub }) => [issuer, sub]),
  );
  const theirs = '(issuer, sub) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?))';
  db.run(`DELETE FROM session_floors WHERE ${theirs}`, gone);
  db.run(`DELETE FROM ended_idp_sessions WHERE ${theirs}`, gone);
  const counted = db.get<{ events: number }>(
    `SELECT count(*) AS events FROM identity_events WHERE scope_id IS NULL AND ${theirs}`,
    gone,
  );
  db.run(`DELETE FROM identity_events WHERE scope_id IS NULL AND ${theirs}`, gone);
  return counted?.events ?? 0;
}

function markScopeForgotten(db: SqlDatabase, scopeId: string): void {
  db.run(
    'INSERT INTO forgotten_scopes (scope_hash) VALUES (?) ON CONFLICT (scope_hash) DO NOTHING',
    hashToken(scopeId),
  );
}
