/**
 * Service tokens: software of the platform's operator. No route makes one; the operator's own wiring does, and the
 * log names the platform itself as the actor, because nobody has signed in yet when the first one is made.
 */
import { PlatformError } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { type AuditedCall, appendAdminLog, logHead } from '../audit/admin-log.ts';
import type { LogHead } from '../declarations/records.ts';
import { auditFields, mintToken, revokeToken, targetOf } from './minting.ts';
import { loadToken, loadWorkingServiceToken } from './store.ts';

export interface ServiceTokenOrder {
  /** What the token is for, for people: `cli`, `ci`. */
  readonly name: string;
  readonly days: number;
  readonly requestId: string;
  /** True makes one also when a working one of this name exists: for a rotation with an overlap. */
  readonly another: boolean;
}

export interface ServiceToken {
  readonly id: string;
  readonly expiresAtMs: number;
  /** The secret, shown once; null when a working token of this name was there already. */
  readonly secret: string | null;
  /** The head of the admin log, when a token was made. */
  readonly head: LogHead | null;
}

export function orderServiceToken(context: UnitContext, order: ServiceTokenOrder): ServiceToken {
  const { db } = context;
  const working = order.another ? undefined : loadWorkingServiceToken(db, order.name, context.now());
  if (working) return { id: working.id, expiresAtMs: working.expiresAtMs, secret: null, head: null };
  const { row, secret } = mintToken(context, {
    kind: 'service',
    name: order.name,
    tenant: null,
    days: order.days,
    createdBy: OPERATOR.id,
    revision: nextSequence(context),
  });
  const head = appendAdminLog(context, byOperator('service-tokens.create', order.requestId), {
    target: targetOf(row),
    before: null,
    after: auditFields(row),
    outcome: 'done',
  });
  return { id: row.id, expiresAtMs: row.expiresAtMs, secret, head };
}

/** @throws PlatformError `not_found`. Revoking twice changes nothing and answers a null head. */
export function revokeServiceToken(
  context: UnitContext,
  { id, requestId }: { readonly id: string; readonly requestId: string },
): { readonly head: LogHead | null } {
  const before = loadToken(context.db, id);
  if (before?.kind !== 'service')
    throw new PlatformError('not_found', 'There is no such service token.', { reason: 'unknown_token' });
  const audit = revokeToken(context, before, nextSequence(context));
  if (!audit) return { head: null };
  const call = byOperator('service-tokens.revoke', requestId);
  return { head: appendAdminLog(context, call, { ...audit, outcome: 'done' }) };
}

const OPERATOR = { kind: 'system', id: 'operator', name: "The operator's own wiring" } as const;

function byOperator(action: string, requestId: string): AuditedCall {
  return { actor: OPERATOR, token: null, requestId, action };
}

function nextSequence({ db }: UnitContext): number {
  return (logHead(db)?.sequence ?? 0) + 1;
}
