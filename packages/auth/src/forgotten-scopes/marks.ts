/** Which scopes were forgotten. The directory keeps a hash of each: enough to know the id again, and not to tell it. */
import type { SqlDatabase } from '@freehold/store';
import { hashToken } from '../lib/token.ts';

export function isScopeForgotten(db: SqlDatabase, scopeId: string): boolean {
  return db.get('SELECT 1 FROM forgotten_scopes WHERE scope_hash = ?', hashToken(scopeId)) !== undefined;
}

export function markScopeForgotten(db: SqlDatabase, scopeId: string): void {
  db.run(
    'INSERT INTO forgotten_scopes (scope_hash) VALUES (?) ON CONFLICT (scope_hash) DO NOTHING',
    hashToken(scopeId),
  );
}

/** The platform has made the scope anew. */
export function unmarkScopeForgotten(db: SqlDatabase, scopeId: string): void {
  db.run('DELETE FROM forgotten_scopes WHERE scope_hash = ?', hashToken(scopeId));
}
