/** Push tokens: what a tenant's builder works with (spec 4.3 and 5.5; design: control-plane, "Actors"). */
import { ID_PREFIXES, idSchema, pageOf, pageQuery, type TokenId, tenantId } from '@freehold/contracts';
import { z } from 'zod';
import { adminOperation } from './admin-operation.ts';
import { pushTokenRecord } from './records.ts';
import { PUSH_TOKEN_DAYS_DEFAULT, TOKEN_DAYS_MAX } from './token-days.ts';
import { rotation } from './token-rotation.ts';

const tag = 'Push tokens';

export { PUSH_TOKEN_DAYS_DEFAULT, TOKEN_DAYS_MAX };

export const pushTokensList = adminOperation({
  name: 'push-tokens.list',
  summary: 'List the push tokens',
  description: 'Revoked and expired ones stay listed. A secret is never shown again.',
  tag,
  method: 'GET',
  path: '/push-tokens',
  input: {
    query: z.strictObject({
      tenant: tenantId.optional().describe('Only tokens of this tenant'),
      ...pageQuery,
    }),
  },
  output: pageOf(pushTokenRecord),
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
});

export const pushTokensCreate = adminOperation({
  name: 'push-tokens.create',
  summary: 'Create a push token for a tenant',
  description:
    'The secret is shown in this answer and never again: a replay with the same idempotency key is a conflict (reason secret_shown_once) that names the token, so that it can be revoked.',
  tag,
  method: 'POST',
  path: '/push-tokens',
  input: {
    body: z.strictObject({
      name: z.string().min(1).max(100),
      tenant: tenantId,
      expiresInDays: z.int().min(1).max(TOKEN_DAYS_MAX).default(PUSH_TOKEN_DAYS_DEFAULT),
    }),
  },
  output: z
    .object({ token: pushTokenRecord, secret: z.string().describe('Send it as a bearer token') })
    .meta({ id: 'NewPushToken' }),
  success: 201,
  builder: 'none',
  audit: 'audit',
  problems: ['not_found', 'conflict', 'invalid_transition'],
});

export const pushTokensRotate = adminOperation({
  name: 'push-tokens.rotate',
  summary: 'Replace a push token, with an overlap',
  description:
    'Makes a token of the same name for the same tenant. The one that it replaces goes on working for the overlap. Where a builder does it, the new token works for no longer than the old one did.',
  tag,
  method: 'POST',
  path: '/push-tokens/:token/rotate',
  input: { params: z.strictObject({ token: idSchema<TokenId>(ID_PREFIXES.token) }), body: rotation },
  output: z
    .object({
      token: pushTokenRecord,
      secret: z.string().describe('Send it as a bearer token'),
      replaced: pushTokenRecord,
    })
    .meta({ id: 'RotatedPushToken' }),
  success: 201,
  builder: 'own-tenant',
  audit: 'audit',
  destructive: true,
  etag: true,
  problems: ['not_found', 'conflict', 'invalid_transition', 'precondition_failed'],
});

export const pushTokensRevoke = adminOperation({
  name: 'push-tokens.revoke',
  summary: 'Revoke a push token',
  description: 'It stops working at once. Revoking it again changes nothing.',
  tag,
  method: 'DELETE',
  path: '/push-tokens/:token',
  input: { params: z.strictObject({ token: idSchema<TokenId>(ID_PREFIXES.token) }) },
  output: z.null(),
  success: 204,
  builder: 'own-tenant',
  audit: 'audit',
  destructive: true,
  etag: true,
  problems: ['not_found', 'conflict', 'precondition_failed'],
});
