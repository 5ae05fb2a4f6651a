/** Service tokens: software of the platform's operator, which may do what its owner may (design: control-plane, "Actors"). */
import { ID_PREFIXES, idSchema, pageOf, pageQuery, type TokenId, timestamp } from '@freehold/contracts';
import { z } from 'zod';
import { adminOperation } from './admin-operation.ts';
import { STAFF_PREFIX, staffRole } from './staff.ts';
import { PUSH_TOKEN_DAYS_DEFAULT, TOKEN_DAYS_MAX } from './token-days.ts';
import { rotation } from './token-rotation.ts';

const tag = 'Service tokens';
const params = z.strictObject({ token: idSchema<TokenId>(ID_PREFIXES.token) });

export const serviceTokenRecord = z
  .object({
    id: z.string(),
    name: z.string(),
    prefix: z.string().describe('How the secret begins'),
    last4: z.string().describe('How the secret ends'),
    createdAt: timestamp,
    createdBy: z.string(),
    owner: z
      .string()
      .nullable()
      .describe(
        "The member of the staff whose rights it has; null for the platform operator's own, which may do everything",
      ),
    role: staffRole
      .nullable()
      .describe('The role that its owner has at this moment; null without an owner, and when the owner left'),
    status: z
      .enum(['active', 'suspended', 'expired', 'revoked'])
      .describe('Only an active one works. suspended: its owner is not on the roster any more'),
    expiresAt: timestamp,
    lastUsedAt: timestamp.nullable().describe('Accurate to a minute'),
    revokedAt: timestamp.nullable(),
    etag: z.string().describe('The version of this record; send it back in If-Match'),
  })
  .meta({ id: 'ServiceToken' });
export type ServiceTokenRecord = z.infer<typeof serviceTokenRecord>;

const newServiceToken = z
  .object({ token: serviceTokenRecord, secret: z.string().describe('Send it as a bearer token') })
  .meta({ id: 'NewServiceToken' });

export const serviceTokensList = adminOperation({
  name: 'service-tokens.list',
  summary: 'List the service tokens',
  description:
    'Suspended, expired and revoked ones stay listed. A secret is never shown again. Asked with an owner, it shows what stops working when that member is removed from the staff.',
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

export const serviceTokensCreate = adminOperation({
  name: 'service-tokens.create',
  summary: 'Create a service token',
  description:
    "It belongs to the member of the staff who makes it, or to the owner of the service token that makes it. Whoever has it may do what its owner may at that moment, about every tenant, and nothing once the owner left the staff. One that the operator's own token makes has no owner and may do everything. The secret is shown in this answer and never again: a replay with the same idempotency key is a conflict (reason secret_shown_once) that names the token, so that it can be revoked.",
  tag,
  method: 'POST',
  path: '/service-tokens',
  input: {
    body: z.strictObject({
      name: z.string().min(1).max(100),
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

export const serviceTokensRotate = adminOperation({
  name: 'service-tokens.rotate',
  summary: 'Replace a service token, with an overlap',
  description:
    'Makes a token of the same name, which belongs to whoever asks: so an admin takes over the token of somebody else, also a suspended one. The one that it replaces goes on working for the overlap, so that what uses it can be changed meanwhile.',
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

export const serviceTokensRevoke = adminOperation({
  name: 'service-tokens.revoke',
  summary: 'Revoke a service token',
  description:
    'It stops working at once, also when it is the one that asks. Revoking it again changes nothing.',
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
