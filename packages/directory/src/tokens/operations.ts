/** What can be done with push tokens, and the service tokens that the operator's wiring makes. */
import { PlatformError, type TenantId } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import type { Actor } from '../actors.ts';
import {
  pushTokensCreate,
  pushTokensList,
  pushTokensRevoke,
  pushTokensRotate,
} from '../declarations/push-tokens.ts';
import { change, read } from '../lib/handlers.ts';
import { requireMatch } from '../lib/preconditions.ts';
import { loadTenant, requireActiveTenant } from '../tenants/store.ts';
import { auditFields, mintToken, revokeToken, targetOf } from './minting.ts';
import { rightsOf } from './owner.ts';
import { rotateToken } from './rotation.ts';
import { listPushTokens, loadToken, loadTokenByHash, pushTokenOfRow, type TokenRow } from './store.ts';

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

export const rotatePushToken = change(pushTokensRotate, (context, { params, body, actor, ifMatch }) => {
  const before = requirePushToken(context.db, params.token, actor);
  requireActiveTenant(context.db, before.tenant);
  const isBounded = actor.kind === 'builder';
  return rotateToken(context, { before, ...body, createdBy: actor.id, ifMatch, isBounded }, pushTokenOfRow);
});

export const revokePushToken = change(pushTokensRevoke, (context, { params, actor, ifMatch }) => {
  const before = requirePushToken(context.db, params.token, actor);
  requireMatch(ifMatch, String(before.revision));
  return { status: 204, value: null, audit: revokeToken(context, before, context.revision) };
});

function requirePushToken(
  db: SqlDatabase,
  id: string,
  actor: Actor,
): TokenRow & { readonly tenant: TenantId } {
  const row = loadToken(db, id);
  const isTheirs = row?.kind === 'push' && (actor.kind !== 'builder' || actor.tenant === row.tenant);
  if (isTheirs && row.tenant !== null) return { ...row, tenant: row.tenant };
  throw new PlatformError('not_found', 'There is no such push token.', { reason: 'unknown_token' });
}

/** The actor behind a secret's hash with the rights it has at this moment, or null. */
export function findTokenActor(
  db: SqlDatabase,
  { hash, nowMs }: { readonly hash: string; readonly nowMs: number },
): { readonly actor: Actor; readonly lastUsedAtMs: number | null } | null {
  const row = loadTokenByHash(db, hash);
  if (!row || row.revokedAtMs !== null || row.expiresAtMs <= nowMs) return null;
  const { id, name, lastUsedAtMs } = row;
  // A token never exceeds its owner's present rights: those of somebody who left the staff are none.
  if (row.tenant === null) {
    const rights = rightsOf(row);
    return rights && { actor: { kind: 'service', id, name, ...rights }, lastUsedAtMs };
  }
  // Neither has a suspended tenant any.
  if (loadTenant(db, row.tenant)?.status !== 'active') return null;
  return { actor: { kind: 'builder', id, name, tenant: row.tenant }, lastUsedAtMs };
}
