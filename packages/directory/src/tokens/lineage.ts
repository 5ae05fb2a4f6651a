/**
 * Lineages of tokens. A push token descends from the one that it replaced, and every token from the one that made it: the
 * holder of either may hold the successor's secret. So ending a token ends all of its descendants. A service token that a
 * member of the staff put in the place of another one descends from none: its secret was shown to that member alone.
 */
import type { SqlDatabase } from '@freehold/store';
import { cancelWorkOf } from '../long-work/store.ts';

/** The push tokens that replaced a token, and all tokens that it made. */
export const DESCENDANTS = `SELECT id FROM tokens WHERE replaces = ?1
  UNION ALL SELECT id FROM tokens WHERE created_by = ?1`;

/** The push tokens that a member made, and those that service tokens of theirs made. */
export const MADE_BY = `SELECT id FROM tokens WHERE created_by = ?1 AND kind = 'push'
  UNION SELECT t.id FROM tokens s JOIN tokens t ON t.created_by = s.id AND t.kind = 'push' WHERE s.owner = ?1`;

export interface Ending {
  readonly nowMs: number;
  readonly revision: number;
}

/** Revokes a token with its descendants. Returns the ids of those that were not revoked before. */
export function endLineage(db: SqlDatabase, token: string, ending: Ending): string[] {
  return end(db, living(db, [token]), ending);
}

/** The push tokens that end with a member of the roster and are not revoked. */
export function tokensOfMaker(db: SqlDatabase, member: string): string[] {
  return living(db, idsOf(db, MADE_BY, member));
}

/** Revokes the push tokens of a member. Returns their ids. */
export function endTokensOfMaker(db: SqlDatabase, member: string, ending: Ending): string[] {
  return end(db, tokensOfMaker(db, member), ending);
}

/** These tokens and their descendants that are not revoked, in the order of their ids. */
function living(db: SqlDatabase, ids: readonly string[]): string[] {
  const line = new Set(ids);
  // The set also visits what is added on the way.
  for (const id of line) for (const each of idsOf(db, DESCENDANTS, id)) line.add(each);
  const isLiving = (id: string): boolean =>
    db.get('SELECT 1 FROM tokens WHERE id = ? AND revoked_at IS NULL', id) !== undefined;
  return [...line].filter(isLiving).sort();
}

function end(db: SqlDatabase, ids: string[], { nowMs, revision }: Ending): string[] {
  for (const id of ids)
    db.run('UPDATE tokens SET revoked_at = ?, revision = ? WHERE id = ?', nowMs, revision, id);
  cancelWorkOf(db, ids, nowMs);
  return ids;
}

function idsOf(db: SqlDatabase, sql: string, param: string): string[] {
  return db.all<{ id: string }>(sql, param).map(({ id }) => id);
}
