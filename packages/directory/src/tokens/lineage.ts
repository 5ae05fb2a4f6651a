/**
 * Lineages of push tokens. A token descends from the one that it replaced, and from the one that made it: whoever held
 * either may hold the successor's secret too. So ending a token ends all of its descendants.
 */
import type { SqlDatabase } from '@freehold/store';

/** The rest of the statement reads the ids in `line`; the parameter is a JSON list of the ids that it begins with. */
const LINE = `WITH RECURSIVE line (id) AS (
    SELECT value FROM json_each(?)
    UNION SELECT t.id FROM line JOIN tokens t ON t.replaces = line.id
    UNION SELECT t.id FROM line JOIN tokens t ON t.created_by = line.id AND t.kind = 'push')`;

/** The descendants of tokens, and these themselves, that are not revoked. */
export const LIVING = `${LINE} SELECT t.id FROM line JOIN tokens t ON t.id = line.id
  WHERE t.kind = 'push' AND t.revoked_at IS NULL ORDER BY t.id`;

/** The push tokens that a member made, and those that service tokens of theirs made. */
export const MADE_BY = `SELECT id FROM tokens WHERE created_by = ?1 AND kind = 'push'
  UNION SELECT t.id FROM tokens s JOIN tokens t ON t.created_by = s.id AND t.kind = 'push' WHERE s.owner = ?1`;

export interface Ending {
  readonly nowMs: number;
  readonly revision: number;
}

/** Revokes a push token with its descendants. Returns the ids of those that were not revoked before. */
export function endLineage(db: SqlDatabase, token: string, ending: Ending): string[] {
  return end(db, idsOf(db, LIVING, JSON.stringify([token])), ending);
}

/** The push tokens that end with a member of the roster and are not revoked. */
export function tokensOfMaker(db: SqlDatabase, member: string): string[] {
  return idsOf(db, LIVING, JSON.stringify(idsOf(db, MADE_BY, member)));
}

/** Revokes the push tokens of a member. Returns their ids. */
export function endTokensOfMaker(db: SqlDatabase, member: string, ending: Ending): string[] {
  return end(db, tokensOfMaker(db, member), ending);
}

function end(db: SqlDatabase, ids: string[], { nowMs, revision }: Ending): string[] {
  for (const id of ids)
    db.run('UPDATE tokens SET revoked_at = ?, revision = ? WHERE id = ?', nowMs, revision, id);
  return ids;
}

function idsOf(db: SqlDatabase, sql: string, param: string): string[] {
  return db.all<{ id: string }>(sql, param).map(({ id }) => id);
}
