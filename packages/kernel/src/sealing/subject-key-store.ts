/** The SQL of which key of the pool was used for whom. */
import type { SqlDatabase } from '@freehold/store';
import type { Binding } from './vault.ts';

export const SUBJECT_KEY_SQL = {
  ofSubject: `SELECT key_id AS keyId FROM _spine_unbound_keys WHERE subject = ?1
    UNION ALL SELECT key_id FROM _spine_subject_keys WHERE subject = ?1`,
  isUnbound: 'SELECT 1 FROM _spine_unbound_keys WHERE subject = ? AND key_id = ?',
  isBound: 'SELECT 1 FROM _spine_subject_keys WHERE subject = ? AND key_id = ?',
  unbound: 'SELECT subject, key_id AS keyId FROM _spine_unbound_keys LIMIT ? + 0',
} as const;

export function makeSubjectKeyStore(db: SqlDatabase) {
  return {
    idsOf: (subject: string): string[] =>
      db.all<{ keyId: string }>(SUBJECT_KEY_SQL.ofSubject, subject).map(({ keyId }) => keyId),
    /** In the operation's own transaction. */
    use: ({ subject, keyId }: Binding): void =>
      db.run('INSERT INTO _spine_unbound_keys (subject, key_id) VALUES (?, ?)', subject, keyId),
    /** Whether the use of a key stands: false once it was rolled back. */
    isUsed: ({ subject, keyId }: Binding): boolean =>
      db.get(SUBJECT_KEY_SQL.isUnbound, subject, keyId) !== undefined ||
      db.get(SUBJECT_KEY_SQL.isBound, subject, keyId) !== undefined,
    unbound: (limit: number): Binding[] => db.all<Binding>(SUBJECT_KEY_SQL.unbound, limit),
    /** Only what is unbound: a state that came in between may not have all of it. */
    markBound: (bindings: readonly Binding[]): void => {
      for (const { subject, keyId } of bindings) {
        if (db.get(SUBJECT_KEY_SQL.isUnbound, subject, keyId) === undefined) continue;
        db.run('DELETE FROM _spine_unbound_keys WHERE subject = ? AND key_id = ?', subject, keyId);
        db.run('INSERT INTO _spine_subject_keys (subject, key_id) VALUES (?, ?)', subject, keyId);
      }
    },
  };
}
