/** The operations of service tokens. The operator's own wiring makes the first one: `service-tokens.ts`. */
import {
  ID_PREFIXES,
  idSchema,
  lineOfText,
  PlatformError,
  pageOf,
  pageQuery,
  type TokenId,
} from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import { z } from 'zod';
import type { Actor } from '../access/actors.ts';
import { memberBehind } from '../access/admission.ts';
import { requireMatch } from '../changes/conditions.ts';
import { adminOperation } from '../declarations/admin-operation.ts';
import { STAFF_PREFIX } from '../declarations/staff.ts';
import {
  PUSH_TOKEN_DAYS_DEFAULT,
  rotation,
  serviceTokenRecord,
  TOKEN_DAYS_MAX,
} from '../declarations/tokens.ts';
import { change, read } from '../lib/handlers.ts';
import { auditFields, mintToken, revokeToken, rotateToken, type TokenOwner, targetOf } from './minting.ts';
import { listServiceTokens, loadToken, serviceTokenOfRow, type TokenRow } from './store.ts';

const tag = 'Service tokens';

const params = z.strictObject({ token: idSchema<TokenId>(ID_PREFIXES.token) });

const newServiceToken = z
  .object({ token: serviceTokenRecord, secret: z.string().describe('Send it as a bearer token') })
  .meta({ id: 'NewServiceToken' });

export const serviceTokensList = adminOperation({
  name: 'service-tokens.list',
  summary: 'List the service tokens',
  description:
    'Suspended, expired and revoked ones stay listed. A secret is never shown again. With an owner, the list shows the tokens that stop working when that member is removed from the staff.',
  tag,
  method: 'GET',
  path: '/service-tokens',
  input: {
    query: z.strictObject({
      owner: idSchema(STAFF_PREFIX).optional().describe('Only tokens of this member of the staff'),
      ...pageQuery,
    }),
  },
  output: pageOf(serviceTokenRecord),
  success: 200,
  builder: 'none',
  audit: 'none',
});

export const readServiceTokens = /* @__PURE__ */ read(serviceTokensList, ({ db, now }, { query }) => ({
  value: listServiceTokens(db, query, now()),
}));

export const serviceTokensCreate = adminOperation({
  name: 'service-tokens.create',
  summary: 'Create a service token',
  description:
    "It belongs to the member of the staff who makes it, or to the owner of the service token that makes it. It may do what its owner may at that moment, for every tenant, and nothing once the owner left the staff. A token that the operator's own token makes has no owner and may do everything. The secret is shown in this answer and never again: a replay with the same idempotency key is a conflict (reason secret_shown_once) that names the token, so that it can be revoked.",
  tag,
  method: 'POST',
  path: '/service-tokens',
  input: {
    body: z.strictObject({
      name: lineOfText(100),
      expiresInDays: z.int().min(1).max(TOKEN_DAYS_MAX).default(PUSH_TOKEN_DAYS_DEFAULT),
    }),
  },
  output: newServiceToken,
  success: 201,
  builder: 'none',
  staff: 'administer',
  audit: 'audit',
  problems: ['conflict'],
});

export const createServiceToken = /* @__PURE__ */ change(serviceTokensCreate, (context, { body, actor }) => {
  const { row, secret } = mintToken(context, {
    kind: 'service',
    name: body.name,
    tenant: null,
    days: body.expiresInDays,
    createdBy: actor.id,
    owner: ownerOfMade(actor),
    revision: context.revision,
  });
  return {
    status: 201,
    value: { token: serviceTokenOfRow(row, context.now()), secret },
    audit: { target: targetOf(row), before: null, after: auditFields(row) },
    shownOnce: `This token was made by an earlier call with this key, and its secret was shown then. Revoke ${row.id} and make another with a new key.`,
  };
});

export const serviceTokensRotate = adminOperation({
  name: 'service-tokens.rotate',
  summary: 'Replace a service token, with an overlap',
  description:
    'Makes a token of the same name, which belongs to the caller: so an admin takes over the token of another member, also a suspended one. The replaced token goes on working for the overlap, so that its users can be changed over meanwhile.',
  tag,
  method: 'POST',
  path: '/service-tokens/:token/rotate',
  input: { params, body: rotation },
  output: newServiceToken.extend({ replaced: serviceTokenRecord }).meta({ id: 'RotatedServiceToken' }),
  success: 201,
  builder: 'none',
  staff: 'administer',
  audit: 'audit',
  destructive: true,
  etag: true,
  problems: ['not_found', 'conflict', 'precondition_failed'],
});

export const rotateServiceToken = /* @__PURE__ */ change(
  serviceTokensRotate,
  (context, { params, body, actor, ifMatch }) =>
    rotateToken(
      context,
      {
        before: requireServiceToken(context.db, params.token),
        ...body,
        createdBy: actor.id,
        // The caller takes the token over, also from a member who left.
        owner: ownerOfMade(actor),
        ifMatch,
        isBounded: false,
      },
      (row) => serviceTokenOfRow(row, context.now()),
    ),
);

export const serviceTokensRevoke = adminOperation({
  name: 'service-tokens.revoke',
  summary: 'Revoke a service token',
  description:
    'It stops working at once, also when it is the token of this call. The tokens that it made end with it, service tokens too, and those that came of them; one that a member of the staff put in its place does not. Previews that these made end. Revoking it again ends what is left of these; then it changes nothing.',
  tag,
  method: 'DELETE',
  path: '/service-tokens/:token',
  input: { params },
  output: z.null(),
  success: 204,
  builder: 'none',
  staff: 'administer',
  audit: 'audit',
  destructive: true,
  etag: true,
  problems: ['not_found', 'conflict', 'precondition_failed'],
});

export const dropServiceToken = /* @__PURE__ */ change(
  serviceTokensRevoke,
  (context, { params, ifMatch }) => {
    const before = requireServiceToken(context.db, params.token);
    requireMatch(ifMatch, String(before.revision));
    return { status: 204, value: null, ...revokeToken(context, before, context.revision) };
  },
);

function requireServiceToken(db: SqlDatabase, id: string): TokenRow {
  const row = loadToken(db, id);
  if (row?.kind === 'service') return row;
  throw new PlatformError('not_found', 'There is no such service token.', { reason: 'unknown_token' });
}

/**
 * The owner of a service token that this actor makes: the member of the roster, or the owner of the token that makes it. So
 * a member who left, or has another role, cannot go on through a token that they made. Null for the operator's own tokens
 * and for staff of the wiring's own roster.
 * @throws PlatformError `forbidden` for an actor without a role of the staff: a token without an owner may do everything.
 */
export function ownerOfMade(actor: Actor): TokenOwner | null {
  if (actor.kind === 'builder' || actor.kind === 'vertical')
    throw new PlatformError('forbidden', 'Only staff of this platform have service tokens.', {
      reason: 'staff_only',
    });
  const id = memberBehind(actor);
  if (id === null || !('role' in actor) || actor.role === undefined) return null;
  return { id, role: actor.role };
}
