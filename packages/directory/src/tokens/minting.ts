/** How a token of any kind is made and revoked, inside the transaction of whoever asks for it, who writes the log row. */
import { ID_PREFIXES, type TenantId, type TokenId, toTimestamp } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import type { AuditEntry } from '../lib/handlers.ts';
import type { TokenOwner } from './owner.ts';
import { hashSecret, mintSecret, type TokenKind } from './secret.ts';
import { insertToken, revokeTokenRow, type TokenRow } from './store.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

export interface TokenOrder {
  readonly kind: TokenKind;
  readonly name: string;
  readonly tenant: TenantId | null;
  readonly days: number;
  readonly createdBy: string;
  /** Whose rights a service token has. Default: nobody owns it, and it may do everything. */
  readonly owner?: TokenOwner | null;
  readonly revision: number;
  /** It works until then at most, in milliseconds since the epoch. Default: as many days as were ordered. */
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

/** Revokes a token and answers what to log, or null when it was revoked already. */
export function revokeToken(context: UnitContext, before: TokenRow, revision: number): AuditEntry | null {
  if (before.revokedAtMs !== null) return null;
  const after: TokenRow = { ...before, revokedAtMs: context.now(), revision };
  revokeTokenRow(context.db, after);
  return { target: targetOf(after), before: auditFields(before), after: auditFields(after) };
}

export function targetOf(row: TokenRow): AuditEntry['target'] {
  return { tenant: row.tenant, scope: null, vertical: null, other: row.id };
}

export function auditFields({ kind, name, owner, expiresAtMs, revokedAtMs }: TokenRow): AuditEntry['after'] {
  const revoked = revokedAtMs !== null;
  return { kind, name, ...(owner === null ? {} : { owner }), expiresAt: toTimestamp(expiresAtMs), revoked };
}
