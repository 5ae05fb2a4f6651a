/** The SQL that forgets a scope: its own rows, and people whom nothing else of the tenant knows. */
import type { SqlDatabase } from '@freehold/store';

/** Tables with a row of their own for each thing of a scope. What refers to people goes before them. */
const SCOPE_TABLES = [
  'bindings',
  'former_members',
  'seats',
  'invites',
  'sessions',
  'config',
  'config_versions',
  'identity_events',
] as const;

export type ScopeTable = (typeof SCOPE_TABLES)[number];

/** Whom a scope knows as somebody: members, former ones, and who took its seat or an invite of it. */
const KNOWN_HERE = `SELECT person_id AS id FROM bindings WHERE scope_id = ?1
  UNION SELECT person_id FROM former_members WHERE scope_id = ?1
  UNION SELECT claimed_by FROM seats WHERE scope_id = ?1 AND claimed_by IS NOT NULL
  UNION SELECT accepted_by FROM invites WHERE scope_id = ?1 AND accepted_by IS NOT NULL`;

/** The ids of the people whom a scope knows, as a JSON list. */
export function loadPeopleOfScope(db: SqlDatabase, scopeId: string): string {
  return JSON.stringify(db.all<{ id: string }>(KNOWN_HERE, scopeId).map(({ id }) => id));
}

/** Everybody who ever left a trace in a scope, strangers included, as a JSON list of pairs of issuer and `sub`. */
export function loadSubjectsOfScope(db: SqlDatabase, scopeId: string): string {
  const subjects = db.all<{ issuer: string; sub: string }>(
    `SELECT issuer, sub FROM identity_events WHERE scope_id = ?1 AND issuer IS NOT NULL AND sub IS NOT NULL
     UNION SELECT issuer, sub FROM sessions WHERE scope_id = ?1
     UNION SELECT p.issuer, p.sub FROM people p WHERE p.id IN (${KNOWN_HERE})`,
    scopeId,
  );
  return JSON.stringify(subjects.map(({ issuer, sub }) => [issuer, sub]));
}

/** Ends every listed session of a scope: the list is about to go, and a cookie would be good without it. */
export function endSessionsOfScope(db: SqlDatabase, scopeId: string): void {
  db.run(
    `INSERT INTO ended_sessions (sid, expires_at) SELECT sid, expires_at FROM sessions WHERE scope_id = ?
     ON CONFLICT (sid) DO NOTHING`,
    scopeId,
  );
}

/** Deletes what is keyed by a scope. Answers how many rows of each table that were. */
export function deleteScopeRows(db: SqlDatabase, scopeId: string): Readonly<Record<ScopeTable, number>> {
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

/** Whom no scope of the tenant knows any more. Holders of accounts are the tenant's own. */
const LEFT_ALONE = `id IN (SELECT value FROM json_each(?1))
  AND NOT EXISTS (SELECT 1 FROM bindings b WHERE b.person_id = people.id)
  AND NOT EXISTS (SELECT 1 FROM former_members f WHERE f.person_id = people.id)
  AND NOT EXISTS (SELECT 1 FROM seats s WHERE s.claimed_by = people.id)
  AND NOT EXISTS (SELECT 1 FROM invites i WHERE i.accepted_by = people.id)
  AND NOT (issuer = ?2 AND EXISTS (SELECT 1 FROM accounts a WHERE a.user_id = people.sub))`;

/** @param among a JSON list of ids. @param accountIssuer the directory's own. */
export function deletePeopleLeftAlone(
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

/** Of these subjects those of whom nothing else is left: no person, no account, no session, no event of a scope. */
const GONE = `SELECT value ->> 0 AS issuer, value ->> 1 AS sub FROM json_each(?1)
  WHERE NOT EXISTS (SELECT 1 FROM people p WHERE p.issuer = value ->> 0 AND p.sub = value ->> 1)
    AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.issuer = value ->> 0 AND s.sub = value ->> 1)
    AND NOT (value ->> 0 = ?2 AND EXISTS (SELECT 1 FROM accounts a WHERE a.user_id = value ->> 1))
  EXCEPT SELECT issuer, sub FROM identity_events WHERE scope_id IS NOT NULL`;

/**
 * Deletes what hangs on subjects of whom nothing else is left: floors and issuers' words about their sessions, and
 * events of the whole tenant. While they have a session somewhere it stays: a floor that went would bring back what it
 * ended. Answers how many events that were. @param among a JSON list of pairs of issuer and `sub`.
 */
export function deleteTracesOfGone(
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
