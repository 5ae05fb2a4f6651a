/** The SQL of which key of the pool was used for whom. */
import type { SqlDatabase } from '@freehold/store';
import type { Binding } from './vault.ts';

export const SUBJECT_KEY_SQL = {
  ofSubject: 'SELECT key_id AS keyId FROM _spine_subject_keys WHERE bound IN (0, 1) AND subject = ?',
  isUsed: 'SELECT 1 FROM _spine_subject_keys WHERE bound IN (0, 1) AND subject = ? AND key_id = ?',
  unbound: 'SELECT subject, key_id AS keyId FROM _spine_subject_keys WHERE bound = 0 LIMIT ? + 0',
  bind: 'UPDATE _spine_subject_keys SET bound = 1 WHERE bound = 0 AND subject = ? AND key_id = ?',
} as const;

export function makeSubjectKeyStore(db: SqlDatabase) {
  return {
    idsOf: (subject: string): string[] =>
      db.all<{ keyId: string }>(SUBJECT_KEY_SQL.ofSubject, subject).map(({ keyId }) => keyId),
    /** In the operation's own transaction. */
    use: ({ subject, keyId }: Binding): void =>
      db.run('INSERT INTO _spine_subject_keys (subject, key_id, bound) VALUES (?, ?, 0)', subject, keyId),
    /** Whether the use of a key stands: false once it was rolled back. */
    isUsed: ({ subject, keyId }: Binding): boolean =>
      db.get(SUBJECT_KEY_SQL.isUsed, subject, keyId) !== undefined,
    unbound: (limit: number): Binding[] => db.all<Binding>(SUBJECT_KEY_SQL.unbound, limit),
    markBound: (bindings: readonly Binding[]): void => {
      for (const { subject, keyId } of bindings) db.run(SUBJECT_KEY_SQL.bind, subject, keyId);
    },
  };
}
