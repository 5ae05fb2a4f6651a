/**
 * Makes, replaces and revokes tokens of any kind, in the transaction of the operation, which writes the row of the log.
 */
import { ID_PREFIXES, PlatformError, type TenantId, type TokenId, toTimestamp } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { hashSecret, mintSecret, type TokenKind } from '../access/secret.ts';
import { requireMatch } from '../changes/conditions.ts';
import type { StaffRole } from '../declarations/staff.ts';
import type { TokenRights } from '../declarations/tokens.ts';
import type { AuditEntry, Change, ChangeContext } from '../lib/handlers.ts';
import { endPreviewsOf } from '../previews/store.ts';
import { endLineage } from './lineage.ts';
import { insertToken, retireTokenRow, rightsOfToken, type TokenRow } from './store.ts';

const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;

/** The member of the roster whose rights a token has. The id of a removed member is never used again, nor are its tokens. */
export interface TokenOwner {
  readonly id: string;
  readonly role: StaffRole;
}

export interface TokenOrder {
  readonly kind: TokenKind;
  readonly name: string;
  readonly tenant: TenantId | null;
  readonly days: number;
  readonly createdBy: string;
  /** The owner of a service token. Default: none, and the token may do everything. */
  readonly owner?: TokenOwner | null;
  /** The rights of a push token. Default: a service token has its owner's rights. */
  readonly rights?: TokenRights;
  /** The push token whose successor this is. */
  readonly replaces?: TokenId;
  readonly revision: number;
  /** The latest end, in milliseconds since the epoch. Default: the number of days decides. */
  readonly notAfterMs?: number;
}

/** Makes a token. The secret is in the answer and nowhere else. */
export function mintToken(
  context: UnitContext,
  order: TokenOrder,
): { readonly row: TokenRow; readonly secret: string } {
  const secret = mintSecret(order.kind, (bytes) => context.random(bytes));
  const nowMs = context.now();
  const row: TokenRow = {
    id: context.newId(ID_PREFIXES.token) as TokenId,
    kind: order.kind,
    name: order.name,
    tenant: order.tenant,
    rights: order.rights === undefined || order.rights.kind === 'legacy' ? null : order.rights.kind,
    verticals: order.rights?.verticals ?? null,
    scopes: order.rights?.scopes ?? null,
    replaces: order.replaces ?? null,
    last4: secret.slice(-4),
    createdBy: order.createdBy,
    owner: order.owner?.id ?? null,
    ownerRole: order.owner?.role ?? null,
    createdAtMs: nowMs,
    expiresAtMs: Math.min(nowMs + order.days * DAY_MS, order.notAfterMs ?? Number.POSITIVE_INFINITY),
    lastUsedAtMs: null,
    revokedAtMs: null,
    revision: order.revision,
  };
  insertToken(context.db, row, hashSecret(secret));
  return { row, secret };
}

export interface RotationOrder {
  readonly before: TokenRow;
  readonly overlapHours: number;
  readonly expiresInDays: number;
  readonly createdBy: string;
  /** The owner of the successor of a service token. Default: none. */
  readonly owner?: TokenOwner | null;
  readonly ifMatch: string | undefined;
  /** True where the successor must not outlive the token that it replaces. */
  readonly isBounded: boolean;
}

/**
 * Makes the successor of a token. Both work for the overlap, so that a program can change over without a moment in which
 * neither works.
 * @throws PlatformError `conflict`, reason `token_not_working`, for a revoked or expired token; `precondition_failed`.
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
    ...(before.kind === 'push' ? { rights: rightsOfToken(before), replaces: before.id } : {}),
    revision: context.revision,
    ...(isBounded ? { notAfterMs: before.expiresAtMs } : {}),
  });
  const replaced: TokenRow = {
    ...before,
    expiresAtMs: Math.min(before.expiresAtMs, nowMs + overlapHours * HOUR_MS),
    revision: context.revision,
  };
  retireTokenRow(context.db, replaced);
  return {
    status: 201,
    value: { token: recordOf(row), secret, replaced: recordOf(replaced) },
    etag: String(row.revision),
    audit: {
      target: targetOf(row),
      before: { token: before.id, ...auditFields(before) },
      after: { token: row.id, ...auditFields(row), replaced: auditFields(replaced) },
    },
    shownOnce: `This token was replaced by an earlier call with this key, and the new secret was shown then. Revoke ${row.id} and replace ${before.id} once more with a new key.`,
  };
}

/**
 * Revokes a token and all tokens that descend from it, with the previews that these made. The row to log names what ended;
 * there is none when nothing is left to end.
 */
export function revokeToken(
  context: UnitContext,
  before: TokenRow,
  revision: number,
): { readonly audit: AuditEntry | null; readonly rerouted: boolean } {
  const nowMs = context.now();
  const all = endLineage(context.db, before.id, { nowMs, revision });
  if (all.length === 0) return { audit: null, rerouted: false };
  const previews = endPreviewsOf(context.db, all, nowMs);
  const after: TokenRow = { ...before, revokedAtMs: before.revokedAtMs ?? nowMs, revision };
  const ended = all.filter((id) => id !== before.id);
  const audit = {
    target: targetOf(after),
    before: auditFields(before),
    after: {
      ...auditFields(after),
      ...(ended.length > 0 ? { ended } : {}),
      ...(previews.length > 0 ? { previews } : {}),
    },
  };
  return { audit, rerouted: previews.length > 0 };
}

export function targetOf(row: TokenRow): AuditEntry['target'] {
  return { tenant: row.tenant, scope: null, vertical: null, other: row.id };
}

export function auditFields(row: TokenRow): AuditEntry['after'] {
  const { kind, name, owner, verticals, scopes } = row;
  return {
    ...{ kind, name },
    ...(owner === null ? {} : { owner }),
    ...(kind === 'push' ? { rights: rightsOfToken(row).kind } : {}),
    ...(verticals === null ? {} : { verticals }),
    ...(scopes === null ? {} : { scopes }),
    expiresAt: toTimestamp(row.expiresAtMs),
    revoked: row.revokedAtMs !== null,
  };
}
