/** The SQL of programs: clients, grants, and their codes and tokens. */
import type { ProgramAccess } from '@freehold/contracts';
import {
  boolean,
  defineTable,
  integer,
  json,
  nullable,
  type RowOf,
  type SqlDatabase,
  text,
  time,
} from '@freehold/store';
import type { SubjectKey } from '../lib/subject.ts';
import {
  CALLS_PER_MINUTE_DEFAULT,
  type CodeBinding,
  type ProgramPolicy,
  type StoredClient,
} from './contract.ts';
import { deleteQuestionsOf } from './questions.ts';

const clients = defineTable('program_clients', ['scopeId', 'idHash'], {
  scopeId: text(),
  idHash: text(),
  id: text(),
  kind: text<StoredClient['kind']>(),
  metadata: text(),
  secretHash: nullable(text()),
  usedMs: time('used_at'),
});
export const saveClient = clients.saving('metadata', 'usedMs');
export const loadClient = clients.get;

export function deleteClientsBefore(db: SqlDatabase, usedMs: number): void {
  db.run(
    `DELETE FROM program_clients WHERE used_at < ? AND NOT EXISTS (SELECT 1 FROM program_grants g
       WHERE g.scope_id = program_clients.scope_id AND g.client_id_hash = program_clients.id_hash)`,
    usedMs,
  );
}

const grants = defineTable('program_grants', ['id'], {
  id: text(),
  scopeId: text(),
  personId: text(),
  principal: text(),
  /** Null for a token that the person made. */
  clientIdHash: nullable(text()),
  name: text(),
  host: nullable(text()),
  access: text<ProgramAccess['access']>(),
  permissions: json<readonly string[]>(),
  createdMs: time('created_at'),
  expiresMs: time('expires_at'),
  usedMs: nullable(time('used_at')),
  usedFrom: nullable(text()),
});
export type GrantRow = RowOf<typeof grants>;
export const insertGrant = grants.insert;
export const loadGrant = grants.get;
export const updateGrantUse = grants.updating('usedMs', 'usedFrom');

const tokens = defineTable('program_tokens', ['hash'], {
  hash: text(),
  scopeId: text(),
  grantId: text(),
  kind: text<'code' | 'access' | 'refresh' | 'personal'>(),
  code: nullable(json<CodeBinding>()),
  expiresMs: time('expires_at'),
  usedMs: nullable(time('used_at')),
});
export type TokenRow = RowOf<typeof tokens>;
export const insertToken = tokens.insert;
export const loadToken = tokens.get;
export const deleteToken = tokens.delete;
export const updateTokenUse = tokens.updating('usedMs');

/** Deletes a grant with its tokens and its waiting questions: what it allowed is over with the next call. */
export function deleteGrant(db: SqlDatabase, id: string): void {
  deleteQuestionsOf(db, id);
  db.run('DELETE FROM program_tokens WHERE grant_id = ?', id);
  grants.delete(db, id);
}

/** The subject of a person with a grant. */
export function loadSubject(db: SqlDatabase, personId: string): SubjectKey | undefined {
  return db.get<SubjectKey>('SELECT issuer, sub FROM people WHERE id = ?', personId);
}

/** The grants of a person, in one scope or in all, oldest first. */
export function loadGrantsOfPerson(
  db: SqlDatabase,
  { personId, scopeId }: { readonly personId: string; readonly scopeId?: string | undefined },
): GrantRow[] {
  return scopeId === undefined
    ? grants.all(db, `${grants.select} WHERE person_id = ? ORDER BY id`, personId)
    : grants.all(db, `${grants.select} WHERE person_id = ? AND scope_id = ? ORDER BY id`, personId, scopeId);
}

/** The grants of a scope, or without one of the tenant. */
export function loadGrants(db: SqlDatabase, scopeId?: string): GrantRow[] {
  return scopeId === undefined
    ? grants.all(db, `${grants.select} ORDER BY id`)
    : grants.all(db, `${grants.select} WHERE scope_id = ? ORDER BY id`, scopeId);
}

/** A listed grant, with its person's present name. */
export type ShownGrantRow = GrantRow & { readonly person: string | null };

/** The usable grants of a scope, newest first. One person's where it is given. */
export function loadUsableGrants(
  db: SqlDatabase,
  { scopeId, principal, nowMs }: { scopeId: string; principal: string | null; nowMs: number },
): ShownGrantRow[] {
  const rows = db.all<Omit<ShownGrantRow, 'permissions'> & { readonly permissions: string }>(
    USABLE_GRANTS_SQL,
    scopeId,
    nowMs,
    principal,
  );
  return rows.map((row) => ({ ...row, permissions: JSON.parse(row.permissions) }));
}

/** The usable grants of a scope (`?1`) at a time (`?2`): not over, of a present member, with a token left. */
const USABLE = `FROM program_grants g
  JOIN bindings b ON b.scope_id = g.scope_id AND b.person_id = g.person_id AND b.principal = g.principal
  WHERE g.scope_id = ?1 AND g.expires_at > ?2
    AND EXISTS (SELECT 1 FROM program_tokens t WHERE t.grant_id = g.id AND t.expires_at > ?2 AND t.kind <> 'code')`;

const USABLE_GRANTS_SQL = `SELECT ${grants.columnsOf('g')},
    (SELECT coalesce(p.name, p.email) FROM people p WHERE p.id = g.person_id) AS person
  ${USABLE} AND (?3 IS NULL OR g.principal = ?3)
  ORDER BY g.id DESC`;

/** One member's, by its id. */
const USABLE_GRANT_SQL = `SELECT g.name, g.access, g.permissions ${USABLE} AND g.id = ?3 AND g.principal = ?4`;

export function loadUsableGrant(
  db: SqlDatabase,
  of: { readonly id: string; readonly scopeId: string; readonly principal: string; readonly nowMs: number },
): Pick<GrantRow, 'name' | 'access' | 'permissions'> | undefined {
  const row = db.get<Pick<GrantRow, 'name' | 'access'> & { readonly permissions: string }>(
    USABLE_GRANT_SQL,
    of.scopeId,
    of.nowMs,
    of.id,
    of.principal,
  );
  return row && { ...row, permissions: JSON.parse(row.permissions) };
}

/** Forgets tokens that are over, and grants of which no token is left: they can never be used again. */
export function deleteOver(db: SqlDatabase, nowMs: number): void {
  const over = JSON.stringify(
    db
      .all<{ grantId: string }>(
        'SELECT DISTINCT grant_id AS grantId FROM program_tokens WHERE expires_at <= ?',
        nowMs,
      )
      .map(({ grantId }) => grantId),
  );
  db.run('DELETE FROM program_tokens WHERE expires_at <= ?', nowMs);
  db.run(
    `DELETE FROM program_grants WHERE id IN (SELECT value FROM json_each(?))
       AND NOT EXISTS (SELECT 1 FROM program_tokens t WHERE t.grant_id = program_grants.id)`,
    over,
  );
}

/** The grant behind a token, with its person; undefined where any part of it does not hold any more. */
export interface PresentedGrant {
  readonly id: string;
  readonly name: string;
  readonly access: ProgramAccess['access'];
  readonly permissions: string;
  readonly usedMs: number | null;
  readonly usedFrom: string | null;
  readonly principal: string;
  readonly issuer: string;
  readonly sub: string;
  readonly email: string | null;
  readonly personName: string | null;
  readonly emailVerified: number | null;
  /** The owner's limit; null for none. */
  readonly callsPerMinute: number | null;
}

/**
 * Selects by the hash of a token: each table by its primary key or a unique index. The principal must still be its
 * person's, which ends the grant of a former member, and of one who came back as another principal.
 */
export const PRESENTED_GRANT_SQL = `SELECT g.id, g.name, g.access, g.permissions, g.used_at AS usedMs,
    g.used_from AS usedFrom, g.principal, p.issuer, p.sub, p.email, p.name AS personName,
    p.email_verified AS emailVerified,
    CASE WHEN o.scope_id IS NULL THEN ${CALLS_PER_MINUTE_DEFAULT} ELSE o.calls_per_minute END AS callsPerMinute
  FROM program_tokens t
  JOIN program_grants g ON g.id = t.grant_id
  LEFT JOIN program_policies o ON o.scope_id = g.scope_id
  JOIN people p ON p.id = g.person_id
  JOIN bindings b ON b.scope_id = g.scope_id AND b.person_id = g.person_id AND b.principal = g.principal
  WHERE t.hash = ?1 AND t.kind IN ('access', 'personal') AND t.expires_at > ?3
    AND g.scope_id = ?2 AND g.expires_at > ?3`;

export function loadPresentedGrant(
  db: SqlDatabase,
  of: { readonly hash: string; readonly scopeId: string; readonly nowMs: number },
): PresentedGrant | undefined {
  return db.get<PresentedGrant>(PRESENTED_GRANT_SQL, of.hash, of.scopeId, of.nowMs);
}

const policies = defineTable('program_policies', ['scopeId'], {
  scopeId: text(),
  programs: text<ProgramPolicy['programs']>(),
  hosts: json<readonly string[]>(),
  callsPerMinute: nullable(integer()),
  mails: boolean(),
});
export const savePolicy = policies.saving('programs', 'hosts', 'callsPerMinute', 'mails');
export const loadPolicy = policies.get;
