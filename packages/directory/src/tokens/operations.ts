/** What can be done with push tokens, and the service tokens that the operator's wiring makes. */
import { ID_PREFIXES, PlatformError, type TenantId, type TokenId, toTimestamp } from '@freehold/contracts';
import type { SqlDatabase, UnitContext } from '@freehold/store';
import type { Actor } from '../actors.ts';
import { pushTokensCreate, pushTokensList, pushTokensRevoke } from '../declarations/push-tokens.ts';
import { type AuditEntry, change, read } from '../lib/handlers.ts';
import { requireMatch } from '../lib/preconditions.ts';
import { loadTenant, requireActiveTenant } from '../tenants/store.ts';
import { hashSecret, mintSecret, type TokenKind } from './secret.ts';
import {
  insertToken,
  listPushTokens,
  loadToken,
  loadTokenByHash,
  pushTokenOfRow,
  revokeTokenRow,
  type TokenRow,
} from './store.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

export const readPushTokens = read(pushTokensList, ({ db }, { query }) => ({
  value: listPushTokens(db, query),
}));

export const createPushToken = change(pushTokensCreate, (context, { body, actor }) => {
  requireActiveTenant(context.db, body.tenant);
  const { row, secret } = mintToken(context, {
    kind: 'push',
    name: body.name,
    tenant: body.tenant,
    days: body.expiresInDays,
    createdBy: actor.id,
    revision: context.revision,
  });
  const token = pushTokenOfRow(row);
  return {
    status: 201,
    value: { token, secret },
    audit: { target: targetOf(row), before: null, after: auditFields(row) },
    shownOnce: `This token was made by an earlier call with this key, and its secret was shown then. Revoke ${row.id} and make another with a new key.`,
  };
});

export const revokePushToken = change(pushTokensRevoke, (context, { params, actor, ifMatch }) => {
  const before = loadToken(context.db, params.token);
  if (before?.kind !== 'push' || (actor.kind === 'builder' && actor.tenant !== before.tenant))
    throw new PlatformError('not_found', 'There is no such push token.', { reason: 'unknown_token' });
  requireMatch(ifMatch, String(before.revision));
  return { status: 204, value: null, audit: revokeToken(context, before, context.revision) };
});

export interface TokenOrder {
  readonly kind: TokenKind;
  readonly name: string;
  readonly tenant: TenantId | null;
  readonly days: number;
  readonly createdBy: string;
  readonly revision: number;
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
    createdAtMs: nowMs,
    expiresAtMs: nowMs + order.days * DAY_MS,
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

/** The actor behind a secret's hash with the rights it has at this moment, or null. */
export function findTokenActor(
  db: SqlDatabase,
  { hash, nowMs }: { readonly hash: string; readonly nowMs: number },
): { readonly actor: Actor; readonly lastUsedAtMs: number | null } | null {
  const row = loadTokenByHash(db, hash);
  if (!row || row.revokedAtMs !== null || row.expiresAtMs <= nowMs) return null;
  const { id, name, lastUsedAtMs } = row;
  if (row.tenant === null) return { actor: { kind: 'service', id, name }, lastUsedAtMs };
  // A token never exceeds its owner's present rights: those of a suspended tenant are none.
  if (loadTenant(db, row.tenant)?.status !== 'active') return null;
  return { actor: { kind: 'builder', id, name, tenant: row.tenant }, lastUsedAtMs };
}

export function targetOf(row: TokenRow): AuditEntry['target'] {
  return { tenant: row.tenant, scope: null, vertical: null, other: row.id };
}

export function auditFields({ kind, name, expiresAtMs, revokedAtMs }: TokenRow): AuditEntry['after'] {
  return { kind, name, expiresAt: toTimestamp(expiresAtMs), revoked: revokedAtMs !== null };
}
