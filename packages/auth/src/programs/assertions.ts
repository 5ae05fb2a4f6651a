/** Assertions of clients that were used. They are rows, so that each works once, whichever process it is sent to. */
import type { UnitContext } from '@freehold/store';
import type { UsedAssertion } from './contract.ts';

/** Of one client in one scope. A client that makes more within an hour waits for the end of the oldest. */
const ASSERTIONS_MAX = 10_000;

/** The migration of each unit with grants: it never changes. */
export const ASSERTIONS_TABLE = `
  CREATE TABLE program_assertions (
    scope_id TEXT NOT NULL,
    client_id_hash TEXT NOT NULL,
    hash TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (scope_id, client_id_hash, hash)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX program_assertions_by_expiry ON program_assertions (expires_at);`;

export const ASSERTIONS_OVER = 'DELETE FROM program_assertions WHERE expires_at <= ?';

/** Notes the use of an assertion. Returns false for one that was used before. */
export function useAssertion(
  { db, now }: UnitContext,
  of: { readonly scopeId: string; readonly clientIdHash: string },
  { hash, untilMs }: UsedAssertion,
): boolean {
  db.run(ASSERTIONS_OVER, now());
  const noted = db.get(
    `INSERT INTO program_assertions (scope_id, client_id_hash, hash, expires_at) SELECT ?1, ?2, ?3, ?4
       WHERE (SELECT count(*) FROM program_assertions WHERE scope_id = ?1 AND client_id_hash = ?2) < ${ASSERTIONS_MAX}
     ON CONFLICT DO NOTHING RETURNING 1`,
    ...[of.scopeId, of.clientIdHash, hash, untilMs],
  );
  return noted !== undefined;
}
