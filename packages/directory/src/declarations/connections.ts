/** Connections: a tenant's accounts with other systems (spec 4.3.14; design: control-plane-routes, "Connections"). */
import {
  connectionId,
  connectorGrantResponse,
  entityRef,
  permissionKey,
  scopeId,
  slug,
  tenantId,
  timestamp,
} from '@freehold/contracts';
import { providerKey, subjectRef } from '@freehold/contracts/http';
import { z } from 'zod';

export const tag = 'Connections';

export const ofConnection = z.strictObject({ tenant: tenantId, connection: connectionId });

/** `broken`: the provider no longer takes the credential. `disconnected` is the end; the record stays. */
export const connectionState = z.enum(['active', 'broken', 'disconnected']);

/** The reason why a connection is not active. The last three give the fate of the credential at the provider. */
export const connectionReason = z.enum([
  'credential_refused',
  'account_changed',
  'refresh_refused',
  'token_expired',
  'revoked',
  'revocation_failed',
  'revocation_unsupported',
]);
export type ConnectionReason = z.infer<typeof connectionReason>;

/** The kind of a credential: a key that a member copied from the provider, or tokens of a consent round. */
export const credentialKind = z.enum(['api-key', 'oauth2']);

export const connectionRecord = z
  .object({
    id: connectionId,
    tenant: tenantId,
    scope: scopeId.describe('Where it was connected'),
    vertical: slug.describe('By the directory’s record of the scope'),
    provider: providerKey,
    account: z.string().nullable().describe('Whose account, as the provider tells it'),
    accountName: z.string().nullable(),
    subjectRef,
    createdBy: z.string().describe('Who connected the credential that is loaded now'),
    scopes: z.array(z.string()).describe('What the provider granted'),
    state: connectionState,
    reason: connectionReason.nullable(),
    verifiedAt: timestamp.describe('When the provider last took the credential'),
    createdAt: timestamp,
    updatedAt: timestamp,
    etag: z.string().describe('The version of this record; send it back in If-Match'),
  })
  .meta({ id: 'Connection' });
export type ConnectionRecord = z.infer<typeof connectionRecord>;

export const connectionCredentialRecord = z
  .object({
    connection: connectionId,
    kind: credentialKind,
    fingerprint: z
      .string()
      .describe(
        'The first 12 hexadecimal digits of the SHA-256 of the connection’s id, a colon, and the key or refresh token',
      ),
    sealKey: z.string().describe('Which of the platform’s sealing keys it is sealed under'),
    scopes: z.array(z.string()),
    loadedAt: timestamp,
    expiresAt: timestamp
      .nullable()
      .describe('When the access token does; null when the provider does not say'),
    refreshable: z.boolean(),
  })
  .meta({ id: 'ConnectionCredential' });
export type ConnectionCredentialRecord = z.infer<typeof connectionCredentialRecord>;

export const connectionActivityKind = z.enum([
  'connected',
  'reconnected',
  'rotated',
  'verified',
  'refreshed',
  'broken',
  'granted',
  'shut_out',
  'disconnected',
]);

export const connectionActivityEntry = z
  .object({
    at: timestamp,
    kind: connectionActivityKind,
    reason: connectionReason.nullable(),
    by: z.string().describe('An actor, a principal, or the platform itself'),
  })
  .meta({ id: 'ConnectionActivity' });
export type ConnectionActivityEntry = z.infer<typeof connectionActivityEntry>;

export const connectionGrantRecord = z
  .object({
    id: z.string(),
    connection: connectionId,
    scope: scopeId,
    subject: connectorGrantResponse.shape.subject,
    permission: permissionKey,
    entity: entityRef.nullable(),
    grantedBy: z.string(),
    grantedAt: timestamp,
  })
  .meta({ id: 'ConnectionGrant' });
export type ConnectionGrantRecord = z.infer<typeof connectionGrantRecord>;

/** The problems of a change that asks a provider or a vertical first. */
export const outsideProblems = [
  'not_found',
  'conflict',
  'invalid_transition',
  'precondition_failed',
  'unsupported',
  'runtime_fault',
  'unavailable',
] as const;
