/**
 * Who was shut out stays out, also where a backup knows nothing of it: the log, which no restore touches, is asked. A
 * token, say, can be gone from the directory through one restore and come back through the next.
 */
import { fromTimestamp } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import { deleteGrants } from '../connections/grants-store.ts';
import { destroyCredential } from '../connections/store.ts';
import { deleteMember } from '../staff/store.ts';

export interface ShuttingOut {
  readonly revision: number;
  readonly nowMs: number;
}

/** Revokes, ends and disconnects again whatever the log says was. */
export function shutOutAgain(db: SqlDatabase, { revision, nowMs }: ShuttingOut): void {
  for (const { other } of logged(db, 'push-tokens.revoke', 'service-tokens.revoke'))
    db.run(
      'UPDATE tokens SET revoked_at = ?, revision = ? WHERE id = ? AND revoked_at IS NULL',
      ...[nowMs, revision, other],
    );
  for (const { before, after } of logged(db, 'push-tokens.rotate', 'service-tokens.rotate')) {
    const { token } = JSON.parse(before ?? '{}') as { token?: string };
    const { replaced } = JSON.parse(after ?? '{}') as { replaced?: { expiresAt: string } };
    if (token === undefined || replaced === undefined) continue;
    db.run(
      'UPDATE tokens SET expires_at = min(expires_at, ?) WHERE id = ?',
      ...[fromTimestamp(replaced.expiresAt), token],
    );
  }
  for (const { other } of logged(db, 'staff.remove')) deleteMember(db, other);
  for (const { other, after } of logged(db, 'connections.disconnect')) {
    const { reason = null } = JSON.parse(after ?? '{}') as { reason?: string | null };
    destroyCredential(db, other);
    deleteGrants(db, other);
    db.run(
      `UPDATE connections SET state = 'disconnected', reason = ?, revision = ?, updated_at = ?
       WHERE id = ? AND state <> 'disconnected'`,
      ...[reason, revision, nowMs, other],
    );
  }
}

interface Logged {
  readonly other: string;
  readonly before: string | null;
  readonly after: string | null;
}

function logged(db: SqlDatabase, ...actions: readonly string[]): Logged[] {
  return actions.flatMap((action) =>
    db.all<Logged & Record<string, string | null>>(
      `SELECT other, before, after FROM admin_log
       WHERE action = ? AND outcome = 'done' AND other IS NOT NULL ORDER BY sequence`,
      action,
    ),
  );
}
