/** The directory's records on the wire. Data only, so that a client can import it. */
import { permissionKey, roleKey, scopeId, slug, tenantId, timestamp } from '@freehold/contracts';
import { z } from 'zod';
import { hostnameStatus, hostnameVerification } from './hostnames.ts';
import { pushTokenKind } from './tokens.ts';

const name = z.string().min(1).max(200);

/** Equals the `ETag` of the record, without quotes: the sequence of the admin-log row that last changed it. */
const etag = z.string().describe('The version of this record; send it back in If-Match');

export const tenantStatus = z.enum(['active', 'suspended', 'deleting', 'reaped']);

export const tenantRecord = z
  .object({
    id: tenantId,
    slug,
    name,
    status: tenantStatus,
    createdAt: timestamp,
    updatedAt: timestamp,
    etag,
  })
  .meta({ id: 'Tenant' });
export type TenantRecord = z.infer<typeof tenantRecord>;

/** `provisioning` until the vertical has answered; a repeated call resumes it. */
export const scopeStatus = z.enum(['provisioning', 'active', 'suspended', 'archived', 'reaped']);

export const scopeKind = z
  .enum(['live', 'test'])
  .describe('What the scope is for; a test scope is never billed');

export const scopeRecord = z
  .object({
    id: scopeId,
    tenant: tenantId,
    slug,
    name,
    vertical: slug,
    kind: scopeKind,
    status: scopeStatus,
    version: z
      .string()
      .nullable()
      .describe('The version that it runs; null where the registry knows of none for its vertical'),
    bound: z.boolean().describe('Whether the version is its own; otherwise it is that on prod'),
    createdAt: timestamp,
    updatedAt: timestamp,
    etag,
  })
  .meta({ id: 'Scope' });
export type ScopeRecord = z.infer<typeof scopeRecord>;

export { hostnameStatus } from './hostnames.ts';

/** The surface of a scope that a host name shows: `app`, or one that the vertical names. */
export const surface = z.string().regex(/^[a-z][a-z0-9-]{0,31}$/, 'must be a lower-case word');

export const hostnameRecord = z
  .object({
    hostname: z.string().max(253),
    tenant: tenantId,
    scope: scopeId,
    surface,
    status: hostnameStatus,
    verification: hostnameVerification,
    createdAt: timestamp,
    updatedAt: timestamp,
    etag,
  })
  .meta({ id: 'Hostname' });
export type HostnameRecord = z.infer<typeof hostnameRecord>;

export const roleRecord = z
  .object({
    key: roleKey,
    name: z.string().min(1).max(100),
    permissions: z.array(permissionKey),
    createdAt: timestamp,
    updatedAt: timestamp,
    etag,
  })
  .meta({ id: 'Role' });
export type RoleRecord = z.infer<typeof roleRecord>;

export const pushTokenRecord = z
  .object({
    id: z.string(),
    name: z.string(),
    tenant: tenantId,
    prefix: z.string().describe('The beginning of the secret'),
    last4: z.string().describe('How the secret ends'),
    createdAt: timestamp,
    createdBy: z.string(),
    kind: pushTokenKind,
    verticals: z.array(z.string()).nullable().describe('The only verticals that it reaches; null: all'),
    scopes: z.array(z.string()).nullable().describe('The only scopes that it reaches; null: all'),
    replaces: z
      .string()
      .nullable()
      .describe('The token whose successor this is; revoking that one revokes this one'),
    expiresAt: timestamp,
    lastUsedAt: timestamp.nullable().describe('Accurate to a minute'),
    revokedAt: timestamp.nullable(),
    etag,
  })
  .meta({ id: 'PushToken' });
export type PushTokenRecord = z.infer<typeof pushTokenRecord>;

/** `system` is the platform itself, such as its operator's wiring before the first sign-in. */
export const loggedActor = z.object({
  kind: z.enum(['staff', 'service', 'builder', 'vertical', 'system']),
  id: z.string(),
  name: z.string(),
});
export type LoggedActor = z.infer<typeof loggedActor>;

/** The target of a logged call. `other` names a further thing: a host name, a role, a token, an event. */
export const logTarget = z.object({
  tenant: z.string().nullable(),
  scope: z.string().nullable(),
  vertical: z.string().nullable(),
  other: z.string().nullable(),
});
export type LogTarget = z.infer<typeof logTarget>;

/** Fields that each feature chooses one by one; never a credential or a setting's value. */
const loggedFields = z.record(z.string(), z.unknown()).nullable();

export const adminLogEntry = z
  .object({
    sequence: z.int().min(1).describe('Without gaps'),
    at: timestamp,
    actor: loggedActor,
    token: z.string().nullable().describe('The token that the caller showed'),
    requestId: z.string(),
    action: z.string().describe('The name of the operation'),
    target: logTarget,
    before: loggedFields,
    after: loggedFields,
    outcome: z
      .enum(['done', 'intent', 'failed', 'superseded'])
      .describe(
        'An effect outside the directory is an intent, then done, or failed when it is known not to have happened. An intent of unknown outcome is superseded when a later call has made it immaterial.',
      ),
    intent: z.int().nullable().describe('The sequence of the intent that this row settles'),
    code: z.string().nullable().describe('The code of a failure'),
    previousHash: z.string(),
    hash: z
      .string()
      .describe('SHA-256 of "freehold.admin-log.v1", a line feed, and this row without its hash (RFC 8785)'),
  })
  .meta({ id: 'AdminLogEntry' });
export type AdminLogEntry = z.infer<typeof adminLogEntry>;

const logHead = z.object({ sequence: z.int(), hash: z.string() });
/** The newest row of the admin log: evidence of everything before it. */
export type LogHead = z.infer<typeof logHead>;

export const adminLogVerification = z
  .object({
    status: z
      .enum(['ok', 'unanchored', 'broken'])
      .describe(
        'unanchored: the chain holds, but nothing outside could show that its end was cut off; a witness beside the data does not count in production',
      ),
    rows: z.int().describe('How many rows were found good'),
    epochs: z.int().describe('How often the directory was restored: the log goes through all of them'),
    unsettled: z.int().min(0).describe('Intents of unknown outcome that no process works on any more'),
    head: logHead.nullable(),
    anchor: logHead.nullable().describe('The newest head that is kept outside'),
    firstBad: z
      .object({
        sequence: z.int(),
        reason: z.enum([
          'missing',
          'duplicated',
          'unreadable',
          'hash_mismatch',
          'previous_hash_mismatch',
          'anchor_mismatch',
          'epoch_mismatch',
          'tail_missing',
        ]),
      })
      .nullable(),
  })
  .meta({ id: 'AdminLogVerification' });
export type AdminLogVerification = z.infer<typeof adminLogVerification>;
export type BadRow = NonNullable<AdminLogVerification['firstBad']>;

export const accessLogEntry = z
  .object({
    id: z.string(),
    at: timestamp,
    actor: loggedActor,
    token: z.string().nullable(),
    requestId: z.string(),
    operation: z.string(),
    target: logTarget,
    items: z.int().describe('How many items were shown'),
  })
  .meta({ id: 'AccessLogEntry' });
export type AccessLogEntry = z.infer<typeof accessLogEntry>;
