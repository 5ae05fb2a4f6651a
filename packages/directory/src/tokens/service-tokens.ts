/**
 * Service tokens of the operator's own wiring: software of the platform's operator. The first is made before any member of
 * the staff can sign in, so that the log names the platform itself as the actor.
 */
import { PlatformError } from '@freehold/contracts';
import type { UnitContext, UnitStub } from '@freehold/store';
import { type AuditedCall, appendAdminLog, logHead } from '../audit/admin-log.ts';
import type { LogHead } from '../declarations/records.ts';
import { TOKEN_DAYS_MAX } from '../declarations/tokens.ts';
import { auditFields, mintToken, revokeToken, targetOf } from './minting.ts';
import { loadToken, loadWorkingServiceToken } from './store.ts';

/** A service token that the wiring asks for. */
export interface ServiceTokenRequest {
  readonly name: string;
  /** Default and most: 365. */
  readonly expiresInDays?: number;
}

export interface ServiceToken {
  readonly id: string;
  readonly expiresAtMs: number;
  /** The secret, shown once; null for a token of this name that worked before. */
  readonly secret: string | null;
  /** The head of the admin log, when a token was made. */
  readonly head: LogHead | null;
}

export interface ServiceTokens {
  /** Makes a service token. An older one of the same name goes on working: a rotation with an overlap. */
  mintServiceToken(request: ServiceTokenRequest): Promise<ServiceToken & { readonly secret: string }>;
  /** Makes a service token unless one of this name works. */
  ensureServiceToken(request: ServiceTokenRequest): Promise<ServiceToken>;
  /** The number of push tokens from before kinds that work now: the start warns about them. */
  legacyPushTokens(): Promise<number>;
  /** Revokes a service token. It stops working at once, with the tokens that it made and those that came of them. */
  revokeServiceToken(id: string): Promise<void>;
}

export interface ServiceTokenOrder {
  readonly name: string;
  readonly days: number;
  readonly requestId: string;
  /** True makes a token also when one of this name works. */
  readonly another: boolean;
}

/** The methods of the unit. */
export const serviceTokenMethods = (context: UnitContext) => ({
  orderServiceToken: (order: ServiceTokenOrder): ServiceToken => {
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
  },

  /** @throws PlatformError `not_found`. Revoking twice changes nothing and answers a null head. */
  revokeServiceToken: ({
    id,
    requestId,
  }: {
    readonly id: string;
    readonly requestId: string;
  }): { readonly head: LogHead | null } => {
    const before = loadToken(context.db, id);
    if (before?.kind !== 'service')
      throw new PlatformError('not_found', 'There is no such service token.', { reason: 'unknown_token' });
    const { audit } = revokeToken(context, before, nextSequence(context));
    if (!audit) return { head: null };
    const call = byOperator('service-tokens.revoke', requestId);
    return { head: appendAdminLog(context, call, { ...audit, outcome: 'done' }) };
  },
});

export interface ServiceTokensDeps {
  readonly directory: UnitStub<ReturnType<typeof serviceTokenMethods> & { legacyPushTokens(): number }>;
  readonly newRequestId: () => string;
  /** Offers a head to the anchor. It does not reject. */
  readonly publish: (head: LogHead) => Promise<void>;
}

export function makeServiceTokens({ directory, newRequestId, publish }: ServiceTokensDeps): ServiceTokens {
  const order = async (
    { name, expiresInDays = TOKEN_DAYS_MAX }: ServiceTokenRequest,
    another: boolean,
  ): Promise<ServiceToken> => {
    if (!Number.isInteger(expiresInDays) || expiresInDays < 1 || expiresInDays > TOKEN_DAYS_MAX)
      throw new RangeError(`a service token works for 1 to ${TOKEN_DAYS_MAX} days`);
    const requestId = newRequestId();
    const token = await directory.orderServiceToken({ name, days: expiresInDays, requestId, another });
    if (token.head) await publish(token.head);
    return token;
  };

  return {
    mintServiceToken: async (request) => {
      const token = await order(request, true);
      if (token.secret === null) throw new TypeError('a new service token came without its secret');
      return { ...token, secret: token.secret };
    },

    legacyPushTokens: () => directory.legacyPushTokens(),

    ensureServiceToken: (request) => order(request, false),

    revokeServiceToken: async (id) => {
      const { head } = await directory.revokeServiceToken({ id, requestId: newRequestId() });
      if (head) await publish(head);
    },
  };
}

const OPERATOR = { kind: 'system', id: 'operator', name: "The operator's own wiring" } as const;

function byOperator(action: string, requestId: string): AuditedCall {
  return { actor: OPERATOR, token: null, requestId, action };
}

function nextSequence({ db }: UnitContext): number {
  return (logHead(db)?.sequence ?? 0) + 1;
}
