/**
 * Replacing a token with an overlap: both work until the replaced one ends, so that whatever uses it can be changed
 * without a moment in which nothing does.
 */
import { PlatformError } from '@freehold/contracts';
import type { Change, ChangeContext } from '../lib/handlers.ts';
import { requireMatch } from '../lib/preconditions.ts';
import { auditFields, mintToken, targetOf } from './minting.ts';
import type { TokenOwner } from './owner.ts';
import { retireTokenRow, type TokenRow } from './store.ts';

const HOUR_MS = 60 * 60 * 1000;

export interface RotationOrder {
  readonly before: TokenRow;
  readonly overlapHours: number;
  readonly expiresInDays: number;
  readonly createdBy: string;
  /** Whose the successor of a service token is. Default: nobody's. */
  readonly owner?: TokenOwner | null;
  readonly ifMatch: string | undefined;
  /** True where the new token may not work for longer than the one that it replaces. */
  readonly isBounded: boolean;
}

/**
 * Makes the successor of a token and lets the token run out.
 * @throws PlatformError `conflict`, reason `token_not_working`, for one that was revoked or has expired: there is nothing
 * that could overlap; `precondition_failed`.
 */
export function rotateToken<T>(
  context: ChangeContext,
  { before, overlapHours, expiresInDays, createdBy, owner = null, ifMatch, isBounded }: RotationOrder,
  recordOf: (row: TokenRow) => T,
): Change<{ token: T; secret: string; replaced: T }> {
  const nowMs = context.now();
  requireMatch(ifMatch, String(before.revision));
  if (before.revokedAtMs !== null || before.expiresAtMs <= nowMs)
    throw new PlatformError('conflict', 'This token works no more. Create another one.', {
      reason: 'token_not_working',
    });
  const { row, secret } = mintToken(context, {
    kind: before.kind,
    name: before.name,
    tenant: before.tenant,
    days: expiresInDays,
    createdBy,
    owner,
    revision: context.revision,
    ...(isBounded ? { notAfterMs: before.expiresAtMs } : {}),
  });
  const replaced: TokenRow = {
    ...before,
    expiresAtMs: Math.min(before.expiresAtMs, nowMs + overlapHours * HOUR_MS),
    revision: context.revision,
  };
  retireTokenRow(context.db, replaced);
  const token = recordOf(row);
  return {
    status: 201,
    value: { token, secret, replaced: recordOf(replaced) },
    etag: String(row.revision),
    audit: {
      target: targetOf(row),
      before: { token: before.id, ...auditFields(before) },
      after: { token: row.id, ...auditFields(row), replaced: auditFields(replaced) },
    },
    shownOnce: `This token was replaced by an earlier call with this key, and the new secret was shown then. Revoke ${row.id} and replace ${before.id} once more with a new key.`,
  };
}
